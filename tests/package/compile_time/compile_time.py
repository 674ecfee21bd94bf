#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a program of eleven files with fabscope (scopes in ten, the session in one) and with <chrono> and
<atomic> instead, in turn, and compares the processor time. The median of the rounds may be at most BUDGET times
with the session library that a package installs (FABSCOPE_PREBUILT_SESSION). The headers alone are printed too.
By hand means: count, sum and maximum by name in atomics, printed at the end. That is less than fabscope does: no
records, no quantiles, no files. Both programs are linked and run.

Usage: compile_time.py --compiler CXX --include DIR --session LIBRARY [--budget 1.5] [--rounds 3] [--flags "-O2"]
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def build(args, folder, *defines):
    """Seconds for the ten files and for the one."""
    base = [args.compiler, "-std=c++20", *args.flags.split(), "-I" + args.include, *defines]
    parts = sum(
        seconds([*base, f"-DPART=part{n}", "-c", os.path.join(HERE, "part.cpp"), "-o", os.path.join(folder, f"{n}.o")])
        for n in range(10))
    main = seconds([*base, "-c", os.path.join(HERE, "main.cpp"), "-o", os.path.join(folder, "main.o")])
    return parts, main


def run(args, folder, *libraries):
    """The objects are a program that works."""
    objects = [os.path.join(folder, f"{n}.o") for n in (*range(10), "main")]
    program = os.path.join(folder, "program")
    subprocess.run([args.compiler, *objects, *libraries, "-o", program, "-pthread", "-ldl"], check=True)
    env = dict(os.environ, FABSCOPE_DIR=os.path.join(folder, "out"))
    subprocess.run([program], check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--session", required=True)
    parser.add_argument("--budget", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flags", default="-O2")
    args = parser.parse_args()
    ways = {
        "chrono and atomic": (("-DFABSCOPE=0",), ()),
        "fabscope::session": (("-DFABSCOPE=1", "-DFABSCOPE_SEPARATE_SESSION"), (args.session,)),
        "headers alone": (("-DFABSCOPE=1",), ()),
    }
    times = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            for name, (defines, libraries) in ways.items():
                times[name].append(build(args, folder, *defines))
                run(args, folder, *libraries)
    ratios = {}
    for name, rounds in times.items():
        parts, one = (statistics.median(t[i] for t in rounds) for i in (0, 1))
        ratios[name] = statistics.median(
            sum(ours) / sum(theirs) for ours, theirs in zip(rounds, times["chrono and atomic"]))
        print(f"{name:18s} ten files {parts:6.2f} s, the other {one:5.2f} s, {ratios[name]:5.2f} times")
    print(f"{os.path.basename(args.compiler)} {args.flags}: budget {args.budget} for fabscope::session")
    return 0 if ratios["fabscope::session"] <= args.budget else 1


if __name__ == "__main__":
    sys.exit(main())
