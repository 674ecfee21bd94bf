#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outputs that cannot be written. Usage: failures.py CASE PROGRAM REPORT DIRECTORY

In every case: the program ends with its own status and its own output; each loss has one line on stderr that
names the file, the number and the remedy; other outputs are complete; and for the process and for every file,
what was produced is what was written, dropped, overwritten, filtered and unread.
"""
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

case, program, report, out = sys.argv[1:5]
skip = 77
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)
bad = []


def check(good, what):
    if not good:
        bad.append(what)


def run(records, env, before=None, limit=None, pause=None):
    """(stdout, stderr) of the program, which must end as it always does."""
    whole = {k: v for k, v in os.environ.items() if not k.startswith("FABSCOPE")}
    whole.update(FABSCOPE_OUTPUTS="report,jsonl,bin", FABSCOPE_DIR=os.path.join(out, "d"))
    whole.update(env)

    def prepare():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if before:
            before()

    words = [program, str(records)]
    if pause:
        words += [os.path.join(out, "ready"), os.path.join(out, "go")]
    child = subprocess.Popen(words, env=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=prepare)
    if pause:
        until = time.monotonic() + 60
        while not os.path.exists(words[2]) and child.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        pause()
        open(words[3], "w").close()
    said, complaints = child.communicate(timeout=120)
    check(child.returncode == 7, f"the program ended with {child.returncode} and not with its own 7")
    lines = said.split("\n")
    check(lines[0] == f"done: {records}", f"its output is {said!r}")
    match = re.fullmatch(r"totals: (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) sink: (\d+)", lines[1] if len(lines) > 1 else "")
    check(match is not None, f"no totals in {said!r}")
    numbers = [int(n) for n in match.groups()] if match else [0] * 7
    produced, written, dropped, overwritten, filtered, unread, sink = numbers
    check(produced == records, f"{produced} produced of {records}")
    check(produced == written + dropped + overwritten + filtered + unread, f"the sum does not come out: {numbers}")
    check(sink + overwritten == produced, f"another sink has {sink} of {produced}, {overwritten} overwritten")
    for line in complaints.strip().split("\n"):
        check(line == "" or line.startswith("fabscope: "), f"a line that is not ours: {line!r}")
    return numbers, [line for line in complaints.split("\n") if line]


def files(kind, folder="d"):
    return sorted(glob.glob(os.path.join(out, folder, f"fabscope.*.{kind}")))


def jsonl(path):
    """(rows, end) of a file of which every line is whole."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    check(text == "" or text.endswith("\n"), f"{path} does not end behind a row")
    objects = [json.loads(line) for line in text.split("\n") if line]
    end = objects.pop() if objects and objects[-1]["type"] == "end" else None
    return sum(o["type"] not in ("header", "end") for o in objects), end


def binary(path):
    """(rows, lost), lost None without an end; both from fabscope-report."""
    done = subprocess.run([report, path], capture_output=True, text=True)
    match = re.match(r"(\d+) records of .*?(?:; (\d+) lost, (\d+) filtered|; the file has no end.*)\n", done.stdout)
    check(match is not None, f"fabscope-report says {done.stdout!r} {done.stderr!r}")
    return (int(match.group(1)), None if match.group(2) is None else int(match.group(2))) if match else (0, 0)


def missing(lines, kind):
    """The number of rows that the line about this output says are missing, 0 if there is no line."""
    found = [m for line in lines for m in [re.search(rf"(\d+) of (\d+) rows are missing in (\S*{kind})(?::|$)", line)] if m]
    check(len(found) <= 1, f"more than one line about {kind}: {lines}")
    return int(found[0].group(1)) if found else 0


def in_report(kind):
    """The numbers of this output in the text report: offered, written, lost, filtered."""
    for path in files("report.txt"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if words and words[0] == kind:
                    return line.strip()
    return ""


def whole_output(kind, records, lines):
    check(missing(lines, kind) == 0, f"{kind} should be whole: {lines}")
    paths = files(kind)
    check(len(paths) == 1, f"files of {kind}: {paths}")
    if paths:
        rows, end = jsonl(paths[0]) if kind.endswith("jsonl") else binary(paths[0])
        check(rows == records, f"{kind} has {rows} rows of {records}")
        check(end is not None, f"{kind} has no end")


def cut_output(kind, records, lines, reason):
    """What is there is whole; the file, its last row where there is one, and stderr agree."""
    lost = missing(lines, kind)
    check(0 < lost <= records, f"no loss in {kind}: {lines}")
    check(any(kind in line and reason in line for line in lines), f"no line with '{reason}': {lines}")
    for path in files(kind):
        rows, end = jsonl(path) if kind.endswith("jsonl") else binary(path)
        check(rows + lost == records, f"{kind}: {rows} rows and {lost} lost are not {records}")
        if end is not None:
            told = end["lost"] if isinstance(end, dict) else end
            check(told == lost, f"{kind}: its end says {told} lost, stderr {lost}")


def full_disk():
    place = os.path.join(out, "d")
    os.makedirs(place)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True).returncode != 0:
        print("skipped: a tmpfs may not be mounted here")
        return skip
    try:
        numbers, lines = run(60000, {})
        cut_output("scopes.jsonl", 60000, lines, "No space left on device")
        cut_output("records.bin", 60000, lines, "No space left on device")
        check(numbers[2] > 0, "nothing was dropped")
        check(len(lines) <= 4, f"too many lines: {lines}")
    finally:
        subprocess.run(["umount", place], check=True)
    return 0


def file_size_limit():
    numbers, lines = run(100000, {}, limit=5 << 20)  # the segment has to fit too
    cut_output("scopes.jsonl", 100000, lines, "ulimit -f")
    cut_output("records.bin", 100000, lines, "ulimit -f")
    check(len(files("report.txt")) == 1, "there is no report")
    return 0


def no_room_for_a_segment():
    """A limit below the segment: nothing is recorded, and one line says so."""
    whole = {**os.environ, "FABSCOPE_DIR": os.path.join(out, "d")}
    done = subprocess.run([program, "2000"], env=whole, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
    check(done.returncode == 7, f"the program ended with {done.returncode} and not with its own 7")
    check(done.stdout == "done: 2000\ntotals: 0 0 0 0 0 0 sink: 0\n", f"its output is {done.stdout!r}")
    check(done.stderr.startswith("fabscope: no session: ") and done.stderr.count("\n") == 1, f"{done.stderr!r}")
    return 0


def fifo_for_a_directory():
    """Nobody reads it, and nobody waits for a reader."""
    os.mkfifo(os.path.join(out, "d"))
    numbers, lines = run(2000, {})
    check(sum("cannot write" in line and "Not a directory" in line for line in lines) == 1, f"{lines}")
    check(missing(lines, "scopes.jsonl") == 2000 and missing(lines, "records.bin") == 2000, f"{lines}")
    return 0


def unwritable_directory():
    os.makedirs(os.path.join(out, "locked"), mode=0o500)
    place = os.path.join(out, "locked", "d")
    if os.getuid() == 0:  # root may write everywhere, but not below a file
        place = os.path.join(out, "file", "d")
        open(os.path.join(out, "file"), "w").close()
    numbers, lines = run(2000, {"FABSCOPE_DIR": place})
    said = [line for line in lines if "cannot write" in line]
    check(len(said) == 1 and "set FABSCOPE_DIR" in said[0], f"one line that names the directory: {lines}")
    check(missing(lines, "scopes.jsonl") == 2000, f"{lines}")
    check(missing(lines, "records.bin") == 2000, f"{lines}")
    return 0


def removed_directory():
    numbers, lines = run(20000, {}, pause=lambda: shutil.rmtree(os.path.join(out, "d")))
    for kind in ("scopes.jsonl", "records.bin"):
        check(missing(lines, kind) == 20000, f"{kind} was removed: {lines}")
        check(any(kind in line and "removed" in line for line in lines), f"no reason: {lines}")
    check(len(files("report.txt")) == 1, "the report, opened at the end, is not there")
    return 0


def moved_directory():
    """Files that somebody moves stay whole where they are then."""
    numbers, lines = run(20000, {}, pause=lambda: os.rename(os.path.join(out, "d"), os.path.join(out, "e")))
    for path in files("scopes.jsonl", "e"):
        check(jsonl(path)[0] == 20000, f"{path} is not whole")
    for path in files("records.bin", "e"):
        check(binary(path)[0] == 20000, f"{path} is not whole")
    check(missing(lines, "scopes.jsonl") + missing(lines, "records.bin") == 0, f"{lines}")
    return 0


def closed_pipe():
    """The report into a pipe whose reader has gone: it goes to a file instead."""
    reader, writer = os.pipe()
    os.close(reader)
    whole = {**os.environ, "FABSCOPE_DIR": "stderr", "FABSCOPE_OUTPUTS": "report,jsonl"}
    done = subprocess.run([program, "2000"], env=whole, stdout=subprocess.PIPE, stderr=writer, text=True, cwd=out)
    os.close(writer)
    check(done.returncode == 7, f"the program ended with {done.returncode} and not with its own 7")
    check(done.stdout.startswith("done: 2000\n"), f"its output is {done.stdout!r}")
    check(len(glob.glob(os.path.join(out, "fabscope.*", "*.report.txt"))) == 1, "the report is nowhere")
    rows = glob.glob(os.path.join(out, "fabscope.*", "*.scopes.jsonl"))
    check(len(rows) == 1 and jsonl(rows[0])[0] == 2000, "scopes.jsonl is not whole")
    return 0


def full_stderr():
    """The report to /dev/full: it goes to a file instead."""
    with open("/dev/full", "w") as full:
        whole = {**os.environ, "FABSCOPE_DIR": "-", "FABSCOPE_OUTPUTS": "report,bin"}
        done = subprocess.run([program, "2000"], env=whole, stdout=subprocess.PIPE, stderr=full, text=True, cwd=out)
    check(done.returncode == 7 and done.stdout.startswith("done: 2000\n"), f"{done.returncode} {done.stdout!r}")
    check(len(glob.glob(os.path.join(out, "fabscope.*", "*.report.txt"))) == 1, "the report is nowhere")
    rows = glob.glob(os.path.join(out, "fabscope.*", "*.records.bin"))
    check(len(rows) == 1 and binary(rows[0]) == (2000, 0), "records.bin is not whole")
    return 0


def capped():
    """FABSCOPE_MAX_MB: one file after the other stops; the sums of each are exact."""
    numbers, lines = run(60000, {"FABSCOPE_MAX_MB": "1"})
    cut_output("scopes.jsonl", 60000, lines, "FABSCOPE_MAX_MB")
    cut_output("records.bin", 60000, lines, "FABSCOPE_MAX_MB")
    for kind in ("scopes.jsonl", "records.bin"):
        check(in_report(kind) != "", f"{kind} is not in the report")
    return 0


def none():
    numbers, lines = run(20000, {})
    whole_output("scopes.jsonl", 20000, lines)
    whole_output("records.bin", 20000, lines)
    check(numbers[:2] == [20000, 20000] and numbers[2:6] == [0] * 4, f"{numbers}")
    check(len(lines) == 1, f"{lines}")
    return 0


status = {"full_disk": full_disk, "file_size_limit": file_size_limit, "unwritable_directory": unwritable_directory,
          "removed_directory": removed_directory, "no_room_for_a_segment": no_room_for_a_segment,
          "fifo_for_a_directory": fifo_for_a_directory, "moved_directory": moved_directory, "closed_pipe": closed_pipe,
          "full_stderr": full_stderr, "capped": capped, "none": none}[case]()
print("\n".join(bad) if bad else ("skipped" if status else "as it must be"))
shutil.rmtree(out, ignore_errors=True)
sys.exit(1 if bad else status)
