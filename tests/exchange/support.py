# SPDX-License-Identifier: Apache-2.0
"""What the exchange tests share: running programs in empty directories, reading what they leave."""

import collections
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys

SKIP = 77  # ctest's SKIP_RETURN_CODE


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


class Checks:
    """Collects what is wrong, so that one run shows all of it."""

    def __init__(self):
        self.made = 0
        self.wrong = []

    def that(self, good, text):
        self.made += 1
        if not good:
            self.wrong.append(text)

    def equal(self, found, expected, what):
        self.that(found == expected, f"{what}: found {found!r}, expected {expected!r}")

    def end(self):
        for text in self.wrong[:60]:
            print("wrong:", text)
        print(f"{self.made} checks, {len(self.wrong)} wrong")
        if self.made == 0:
            print("nothing was checked")
        sys.exit(1 if self.wrong or not self.made else 0)


def fresh(path):
    """An empty directory."""
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def environment(**more):
    """Ours without what would change the program's or the tool's behaviour."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FABSCOPE", "FI_", "OMPI_", "INTERCEPT_")) and name not in ("LD_PRELOAD", "RANK")
    }
    env.update({name: str(value) for name, value in more.items()})
    return env


def run(command, env, timeout=300, **more):
    """Runs a program; its output is printed if it does not end in time."""
    try:
        return subprocess.run(
            [str(word) for word in command], env=env, timeout=timeout, capture_output=True, text=True,
            errors="replace", **more)
    except subprocess.TimeoutExpired as late:
        print("no end after", timeout, "s:", " ".join(map(str, command)))
        for text in (late.stdout, late.stderr):
            print(text.decode(errors="replace") if isinstance(text, bytes) else text)
        sys.exit(1)


def files(directory, kind):
    """This run's files of one kind."""
    return sorted(glob.glob(os.path.join(directory, f"fabscope.*.{kind}")))


def read_reference(path):
    with open(path) as text:
        return json.load(text)


OLD_COLUMNS = ["start_ns", "end_ns", "dur_ns", "op", "bytes", "local_nic", "remote_nic", "error"]


def read_ops(path, checks):
    """The rows of an ops.csv, and the numbers of its last comment."""
    with open(path, newline="") as text:
        lines = text.read().split("\n")
    checks.that(re.match(r"# anchor_mono_ns=\d+ anchor_wall_ns=\d+ ", lines[0]), f"{path}: first line {lines[0]!r}")
    checks.equal(lines[1].split(",")[:8], OLD_COLUMNS, f"{path}: columns")
    end = [line for line in lines if line.startswith("# end ")]
    checks.equal(len(end), 1, f"{path}: closing comments")
    totals = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", end[0] if end else "")}
    rows = list(csv.DictReader(line for line in lines[1:] if line and not line.startswith("#")))
    for row in rows:
        for name in ("start_ns", "end_ns", "dur_ns", "bytes", "error"):
            row[name] = int(row[name])
    return rows, totals


Sum = collections.namedtuple("Sum", "count bytes")


def sums(pairs):
    """{key: Sum} of (key, bytes) pairs."""
    table = collections.defaultdict(lambda: [0, 0])
    for key, size in pairs:
        table[key][0] += 1
        table[key][1] += size
    return {key: Sum(*value) for key, value in table.items()}
