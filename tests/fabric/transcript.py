# SPDX-License-Identifier: Apache-2.0
"""A program's transcript with the preload library equals the one without, per provider and set-up.

transcript.py PROGRAM LIBRARY DIRECTORY PROVIDER runtime=SANITIZER_RUNTIME

A section in which the bare program does not agree with itself says nothing, and is listed. What the program
counted is compared with the report.
"""

import collections
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "exchange"))

from report import read_report
from support import Checks, environment, fresh, run

program, library, directory, provider, runtime = sys.argv[1:]
runtime = runtime.removeprefix("runtime=")
fresh(directory)
out = os.path.join(directory, "out")
checks = Checks()


def transcript(**more):
    """Sections by their titles."""
    done = run([program, provider], environment(**interfaces, **more))
    checks.equal(done.returncode, 0, f"status; {done.stderr[-500:]}")
    sections, title = collections.OrderedDict(), ""
    for line in done.stdout.splitlines():
        head = re.fullmatch(r"== (.*) ==", line)
        if head:
            title = head[1]
            sections[title] = []
        else:
            sections[title].append(line)
    return sections


interfaces = {f"FI_{name}_IFACE": "lo" for name in ("TCP", "UDP", "SOCKETS")}
bare = [transcript()]
quiet = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"} if runtime else {}
preload = f"{runtime}:{library}" if runtime else library
followed = transcript(LD_PRELOAD=preload, FABSCOPE_DIR=out, **quiet)
issued = followed.pop("issued")
bare[0].pop("issued")
different = [title for title in bare[0] if bare[0][title] != followed.get(title)]
if different:  # then the bare program has to show that it agrees with itself
    bare += [transcript(), transcript()]
    for title in different:
        versions = [one[title] for one in bare]
        if followed.get(title) in versions:
            continue
        if versions[0] != versions[1] or versions[0] != versions[2]:
            print(f"not compared, {title}: the bare program says something else each time")
            continue
        checks.equal(followed.get(title), versions[0], f"{provider}: {title}")
compared = [t for t, lines in followed.items() if not any(line.startswith("skip") for line in lines)]
checks.that(len(compared) >= 5, f"only {compared} could be compared")
skipped = collections.Counter(line for lines in followed.values() for line in lines if line.startswith("skip"))
print(f"{provider}: {len(compared)} set-ups compared, {sum(skipped.values())} skipped")
for reason, count in skipped.items():
    print(f"  {count} x {reason}")

# What was accepted is in the report, however it ended: links, errors, never completed. Receives that were
# not timed are in none of them, because what they brought is not known: those are in "not timed".
reports = glob.glob(os.path.join(out, "*.txt"))
checks.equal(len(reports), 1, f"reports: {reports}")
report = read_report(reports[0], checks)
seen = collections.Counter()
for (kind, *_), row in report.links.items():
    seen[kind] += row.count
for row in report.rows("errors"):
    if row["stage"] == "completion":
        seen[row["kind"]] += int(row["count"])
for (kind, *_), count in report.never.items():
    seen[kind] += count
for row in report.rows("not timed"):
    if "recv" in row["of"] or row["reason"] == "in flight at the end":
        seen[row["of"]] += int(row["count"])
for line in issued:
    kind, count, _ = line.split()
    checks.equal(seen[kind], int(count), f"{provider}: {kind} in the report")
checks.end()
