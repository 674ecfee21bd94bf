# SPDX-License-Identifier: Apache-2.0
"""The variables of the replaced intercept_timer give its files, under its names and in its lines.

timer.py LIBRARY DIRECTORY runtime=SANITIZER_RUNTIME
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

from support import OLD_COLUMNS, Checks, environment, fresh, run, skip

library, directory, runtime = sys.argv[1:]
runtime = runtime.removeprefix("runtime=")
fresh(directory)
checks = Checks()
preload = f"{runtime}:{library}" if runtime else library
quiet = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"} if runtime else {}
program = shutil.which("fi_pingpong") or skip("fi_pingpong is not installed (Debian: libfabric-bin)")
command = [program, "-p", "tcp;ofi_rxm", "-e", "rdm", "-I", "20", "-S", "65536"]


def pair(where, **variables):
    """Ranks 3 and 4 of 8 play; gives what they wrote to stderr."""
    fresh(where)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = dict(LD_PRELOAD=preload, WORLD_SIZE=8, **quiet, **variables)
    with subprocess.Popen([*command, "-B", port], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment(RANK=3, LOCAL_RANK=0, **common)) as server:
        time.sleep(1)
        client = run([*command, "-P", port, "127.0.0.1"], environment(RANK=4, LOCAL_RANK=1, **common), cwd=where)
        _, err = server.communicate(timeout=120)
    checks.equal((server.returncode, client.returncode), (0, 0), "status")
    return err, client.stderr


def listing(where):
    """Names with the pid and the host left out."""
    return sorted(re.sub(r"\.p\d+\.", ".pN.", name.replace(socket.gethostname(), "HOST")) for name in os.listdir(where))


# What intercept_timer printed, as patterns: one per kind of line.
NUMBER = r"\d+\.\d{3}"
LINES = [
    r"\[intercept_timer\] host=\S+ rank=(\d+|NA) pid=\d+",
    rf"\[intercept_timer\] NIC .{{26,}} +\d+ ops +\d+ bytes  busy +{NUMBER} ms  achieved +{NUMBER} GB/s",
    r"\[intercept_timer\] CQ#\d+ polls \d+  gaps: <10us \d+  <100us \d+  <1ms \d+  <10ms \d+  <100ms \d+  >=100ms \d+"
    rf"  max {NUMBER} ms at t\+{NUMBER} s",
    r"\[intercept_timer\] === \S+ -> \S+ ===",
    rf"\[intercept_timer\]   fi_\w+ +\d+ B +\d+ ops  avg +{NUMBER} us  min +{NUMBER}  max +{NUMBER} us  ~ *{NUMBER} GB/s"
    r"(  \[\d+ err\])?",
]
KINDS = ["fi_send", "fi_sendmsg", "fi_recv"]  # in the order in which the kinds are numbered


def check_report(text, what):
    kinds = set()
    links, rows = [], []
    for line in text.splitlines():
        match = [i for i, pattern in enumerate(LINES) if re.fullmatch(pattern, line)]
        checks.equal(len(match), 1, f"{what}: {line!r}")
        kinds.update(match)
        if match == [3]:
            links.append(tuple(line.split()[2:5:2]))
        if match == [4]:
            word = line.split()
            rows.append((*links[-1], KINDS.index(word[1]), int(word[2])))
    checks.equal(kinds, set(range(len(LINES))), f"{what}: kinds of lines")
    checks.equal(rows, sorted(rows), f"{what}: rows by local, remote, kind, size")
    checks.that(any(row[2:] == (0, 65536) for row in rows), f"{what}: rows {rows}")


# The report alone.
work = os.path.join(directory, "report")
lines = pair(work, INTERCEPT_TIMER_DIR="old/deep")
old = os.path.join(work, "old/deep")
checks.equal(listing(old), ["intercept_timer.HOST.r3.pN.txt", "intercept_timer.HOST.r4.pN.txt"], "files")
for name in os.listdir(old):
    with open(os.path.join(old, name)) as text:
        check_report(text.read(), name)
    checks.that(any(name in err for err in lines), f"{name} is not named on stderr")

# And every operation of rank 3: in one file, of at least 64 KiB, in the old columns.
work = os.path.join(directory, "ranks")
pair(work, INTERCEPT_TIMER_DIR="old", INTERCEPT_TIMER_OPS_RANKS="0, 3,7-9")
old = os.path.join(work, "old")
expected = ["intercept_timer.HOST.r3.pN.txt", "intercept_timer.HOST.r4.pN.txt", "intercept_timer_ops.HOST.r3.pN.csv"]
checks.equal(listing(old), expected, "files with a list of ranks")
checks.that("ops.csv" not in " ".join(listing(os.path.join(work, "fabscope.out"))), "operations in two files")
for name in os.listdir(old):
    if not name.endswith(".csv"):
        continue
    with open(os.path.join(old, name)) as text:
        rows = text.read().split("\n")
    checks.that(re.match(r"# anchor_mono_ns=\d+ anchor_wall_ns=\d+  \(", rows[0]), f"first line {rows[0]!r}")
    checks.equal(rows[1].split(","), OLD_COLUMNS, "columns")
    checks.equal(rows[-1], "", "last line")
    sends = 0
    for row in rows[2:-1]:
        begin, end, length, op, size, local, _, error = row.split(",")
        checks.equal(int(end) - int(begin), int(length), "end less begin")
        checks.that(int(size) >= 65536 and error == "0" and ":" in local, f"row {row}")
        sends += op == "fi_send"
    checks.equal(sends, 20, "sends of 64 KiB")

# To stderr, and a name that fits nothing.
work = os.path.join(directory, "stderr")
for err in pair(work, INTERCEPT_TIMER_DIR="stderr", INTERCEPT_TIMER_OPS_NIC="nobody"):
    check_report("".join(line + "\n" for line in err.splitlines() if line.startswith("[intercept")), "stderr")
    checks.that("INTERCEPT_TIMER_OPS_NIC='nobody' matched none of" in err, f"no word about the name: {err!r}")
checks.equal([name for name in os.listdir(work) if name.startswith("intercept")], [], "files beside stderr")

# A FABSCOPE_ name beats the old one.
work = os.path.join(directory, "both")
pair(work, INTERCEPT_TIMER_DIR="old", FABSCOPE_DIR="new")
checks.equal(listing(work), ["new"], "directories")
checks.end()
