# SPDX-License-Identifier: Apache-2.0
"""Runs fabscope-exchange and compares what fabscope says with the program's own counts.

compare.py PROGRAM DIRECTORY PROVIDER [--lossy] [options of fabscope-exchange]

The program's counts come from code that includes no fabscope header (--reference). For every endpoint, call and
peer, the report and ops.csv must have the same number of operations, the same bytes, the same errors and retries.
With --lossy the rings are so small that rows are lost: they must be counted, and the report be complete still.
"""

import collections
import os
import sys

from report import outputs, read_report
from support import Checks, Sum, environment, files, fresh, read_ops, read_reference, run, sums

program, directory, provider, *options = sys.argv[1:]
provider = provider.replace("+", ";")  # which CMake takes for the end of an argument
lossy = "--lossy" in options
if lossy:
    options.remove("--lossy")
CANCELED = 125  # FI_ECANCELED

fresh(directory)
out = os.path.join(directory, "out")
reference_path = os.path.join(directory, "reference.json")
done = run(
    [program, "--provider", provider, "--reference", reference_path, "--cancel", "7", "--close-outstanding", "6",
     "--timeout", "120", *options],
    # Room for every record of a thread: one row per operation, whenever the collector gets to run.
    environment(FABSCOPE_DIR=out, **({"FABSCOPE_RING_SLOTS": 64, "FABSCOPE_PERIOD_MS": 500} if lossy else
                                     {"FABSCOPE_RING_SLOTS": 65536})),
    timeout=400)
print(done.stdout, done.stderr, sep="")
if done.returncode != 0:
    print("fabscope-exchange ended with status", done.returncode)
    sys.exit(1)

checks = Checks()
reference = read_reference(reference_path)


def short(address):
    """An address as fabscope prints it: without the name of its format, where that is a socket address."""
    for prefix in ("fi_sockaddr_in://", "fi_sockaddr_in6://"):
        if address.startswith(prefix):
            return address[len(prefix):]
    return address


# --- what must be there: by (call, own address, peer's address) ---------------------------------------
expected = {}
errors = collections.Counter()  # by (call, own, peer, errno)
closed = collections.Counter()
again = collections.Counter()
for endpoint in reference["endpoints"]:
    own = short(endpoint["address"])
    for call in endpoint["calls"]:
        peer = short(call["peer"]) if call["peer"] else "unknown"
        # A receive knows its sender only where the provider is asked to take it from nobody else.
        if call["call"] in ("fi_recv", "fi_trecv") and not reference["directed"]:
            peer = "unknown"
        key = (call["call"], own, peer)
        if call["completed"]:
            before = expected.get(key, Sum(0, 0))
            expected[key] = Sum(before.count + call["completed"], before.bytes + call["bytes"])
        for number, count in call["errors"].items():
            errors[(*key, int(number))] += count
        if call["closed"]:
            # These ended with their endpoint, also where the provider still reports each as canceled.
            closed[key] += call["closed"]
            checks.that(call["late"] in (0, call["closed"]), f"{key}: {call}")
        checks.equal(call["open"], 0, f"{key}: still open at the end")
        if call["again"]:
            again[key] += call["again"]
checks.that(len(expected) > 0 and all(s.count > 0 for s in expected.values()), "the reference has no operations")
checks.that(sum(n for key, n in errors.items() if key[3] == CANCELED) >= 7 * (len(reference["endpoints"]) - 1),
            "the run has no cancels")
checks.equal(sum(closed.values()), 6, "receives outstanding on the closed endpoint")
print("times -FI_EAGAIN in the reference:", sum(again.values()))
checks.that(again or provider not in ("tcp;ofi_rxm", "shm"), "the run has no -FI_EAGAIN")

# --- ops.csv: one row per operation ----------------------------------------------------------------------
rows = []
for path in files(out, "ops.csv"):
    more, totals = read_ops(path, checks)
    checks.equal(totals.get("rows"), len(more), f"{path}: rows by its own count")
    checks.equal((totals.get("lost"), totals.get("filtered")), (0, 0), f"{path}: lost, filtered")
    rows += more
for row in rows:
    checks.that(0 <= row["start_ns"] <= row["end_ns"], f"start after end: {row}")
    checks.equal(row["dur_ns"], row["end_ns"] - row["start_ns"], f"dur_ns: {row}")
ends = lambda row: (row["op"], row["local_nic"], row["remote_nic"])
operations = sum(s.count for s in expected.values()) + sum(errors.values()) + sum(closed.values())
if lossy:
    checks.that(len(rows) < operations, "nothing was lost: the test tests nothing")
else:
    abandoned = [row for row in rows if "abandoned" in row["flags"]]
    failed = [row for row in rows if row["error"] != 0]
    good = [row for row in rows if row["error"] == 0 and "abandoned" not in row["flags"]]
    checks.equal(len(rows), operations, "ops.csv: one row per operation")
    checks.equal(len(good) + len(failed) + len(abandoned), operations, "ops.csv: each row is of one class")
    checks.equal(sums((ends(row), row["bytes"]) for row in good), expected, "ops.csv: operations and bytes")
    checks.equal(collections.Counter((*ends(row), row["error"]) for row in failed), errors, "ops.csv: errors")
    checks.equal(collections.Counter(ends(row) for row in abandoned), closed, "ops.csv: abandoned")
    # Retries are reported by the operation that was accepted in the end.
    retries = collections.Counter()
    for row in rows:
        retries[ends(row)] += int(row["retries"])
    checks.equal(+retries, again, "ops.csv: retries")

# --- the report ------------------------------------------------------------------------------------------
links, failed, report_errors, report_never, report_retries = {}, *(collections.Counter() for _ in range(4))
records = lost = scopes = 0
for path in files(out, "report.txt"):
    report = read_report(path, checks)
    for key, found in report.links.items():
        before = links.get(key, Sum(0, 0))
        links[key] = Sum(before.count + found.count, before.bytes + found.bytes)
    failed += report.failed
    report_errors += report.errors
    report_never += report.never
    report_retries += report.retries
    for name in ("dropped", "filtered", "unread"):
        checks.equal(report.losses.get(name), 0, f"{path}: {name}")
    lost += report.losses.get("overwritten", 0)
    records += report.losses.get("produced", 0)
    scopes += sum(int(row["written"]) for row in outputs(report) if row["output"] == "scopes.jsonl")
checks.equal(len(files(out, "report.txt")), len({e["pid"] for e in reference["endpoints"]}), "reports")
checks.equal(lost > 0, lossy, "records overwritten")
checks.equal(len(rows) + scopes + lost, records, "rows of both files and overwritten records")
checks.equal(links, expected, "report: operations and bytes")
checks.equal(report_errors, errors, "report: errors")
per_link = collections.Counter()
for key, count in errors.items():
    per_link[key[:3]] += count
checks.equal(failed, per_link, "report: failed rows of the links")
checks.equal(report_never, closed, "report: never completed")
checks.equal(report_retries, again, "report: retries")

checks.end()
