#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of hot-path operations under callgrind and compares them with what is expected.

  gate.py PROGRAM KEY EXPECTED_FILE [--update | --planted]

KEY is the compiler with its major version, the architecture and the flags. EXPECTED_FILE is JSON: for each
key and operation, instructions per operation. A key that is not in it is skipped (exit status 77).
--update writes what was counted into the file. --planted runs the operations with one instruction more in each
and wants to see every single one of them refused.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# Callgrind counts exactly. What differs from run to run is the time of day: how often a shortest or longest
# duration is new, and how often two intervals touch, is a few operations in a thousand. An instruction that
# every fourth operation executes is seen.
TOLERANCE = 0.25


def counted(program, arguments):
    """{operation: instructions per operation}"""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        run = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=" + out,
                              program, *arguments], capture_output=True, text=True, timeout=300, check=False)
        if run.returncode != 0:
            sys.exit(f"{program} under callgrind ended with {run.returncode}:\n{run.stdout}{run.stderr}")
        seen = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            mark = re.search(r"^desc: Trigger: Client Request: (\S+) (\d+)$", text, re.M)
            total = re.search(r"^totals: (\d+)$", text, re.M)
            if mark and total:
                seen.setdefault(mark.group(1), {})[int(mark.group(2))] = int(total.group(1))
    return {name: round((counts[3000] - counts[1000]) / 2000, 2) for name, counts in seen.items()}


def compare(expected, found):
    """One line for each difference."""
    lines = []
    for name in sorted(set(expected) | set(found)):
        old, new = expected.get(name), found.get(name)
        if old is None:
            lines.append(f"{name}: {new:g} instructions, none expected: a new row?")
        elif new is None:
            lines.append(f"{name}: was not counted, {old:g} expected")
        elif new > old + TOLERANCE:
            lines.append(f"{name}: {new:g} instructions instead of {old:g}: {new - old:g} more")
        elif new < old - TOLERANCE:
            lines.append(f"{name}: {new:g} instructions instead of {old:g}: better, keep it")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("key")
    parser.add_argument("expected")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--planted", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.expected, encoding="utf-8") as file:
        everything = json.load(file)
    if arguments.update:
        everything[arguments.key] = dict(sorted(counted(arguments.program, []).items()))
        with open(arguments.expected, "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=2, sort_keys=True)
            file.write("\n")
        return 0
    expected = everything.get(arguments.key)
    if expected is None:
        print(f"no numbers for {arguments.key} in {os.path.basename(arguments.expected)}: skipped")
        return 77
    found = counted(arguments.program, ["planted"] if arguments.planted else [])
    lines = compare(expected, found)
    if arguments.planted:
        missed = [name for name in expected if not any(line.startswith(name + ": ") and line.endswith(" more")
                                                       for line in lines)]
        print("not noticed: " + ", ".join(missed) if missed else f"an instruction more was noticed in {len(expected)} rows")
        return 1 if missed or not expected else 0
    for name, count in sorted(found.items()):
        print(f"{name:32} {count:8g}")
    if lines:
        print(f"\n{arguments.key}:")
        print("\n".join(lines))
        print("If that is meant: python3 " + " ".join(f"'{each}'" for each in sys.argv) + " --update")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
