#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program that records through the C functions, and checks what it left behind.

Usage: check.py DIRECTORY COMMAND...
"""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def run(directory, command, **variables):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    env = {k: v for k, v in os.environ.items() if not k.startswith("FABSCOPE")}
    env.update(FABSCOPE_DIR=directory, **variables)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    print(done.stdout + done.stderr, end="")
    if done.returncode != 0:
        fail(f"{command} ended with {done.returncode}")
    return sorted(glob.glob(os.path.join(directory, "*")))


def main():
    directory, command = sys.argv[1], sys.argv[2:]
    files = run(directory, command)
    lines = [json.loads(line) for f in files if f.endswith(".scopes.jsonl") for line in open(f, encoding="utf-8")]
    scopes = [line for line in lines if line["type"] == "scope"]
    steps = [line["number"] for line in lines if line["type"] == "step"]
    counts = collections.Counter(s["name"] for s in scopes)
    if counts != {"outer": 10, "inner": 10, "thread": 1, "deep": 64}:
        fail(f"scopes: {counts}")
    if steps != list(range(9)):
        fail(f"steps: {steps}")
    inner = [s for s in scopes if s["name"] == "inner"]
    if [s["value"] for s in inner] != list(range(10)) or {s["bytes"] for s in inner} != {100}:
        fail(f"inner: {inner}")
    if {(s["depth"], s["parent"]["name"]) for s in inner} != {(1, "outer")}:
        fail("inner scopes lie in outer ones")
    thread = next(s for s in scopes if s["name"] == "thread")
    if thread["tid"] == inner[0]["tid"]:
        fail("the thread has a number of its own")
    if not any(f.endswith(".report.txt") for f in files):
        fail(f"no report in {files}")
    if run(directory, command, FABSCOPE="off"):
        fail("files although FABSCOPE=off")
    print(f"{len(scopes)} scopes, {len(steps)} steps")


if __name__ == "__main__":
    main()
