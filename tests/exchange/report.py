# SPDX-License-Identifier: Apache-2.0
"""Reads the text report back."""

import collections
import json
import re

from support import Sum


def words(line):
    """The cells of a line: separated by blanks; a name with a blank in it is a JSON string."""
    cells, at = [], 0
    while True:
        while at < len(line) and line[at] == " ":
            at += 1
        if at == len(line):
            return cells
        if line[at] == '"':
            cell, length = json.JSONDecoder().raw_decode(line[at:])
            at += length
        else:
            cell = line[at:].split(" ", 1)[0]
            at += len(cell)
        cells.append(cell)


class Report:
    """links, errors, never, retries by (call, own address, peer's address); losses by their names."""

    def __init__(self, text):
        self.sections = {}
        title = "title"
        for line in text.splitlines():
            head = re.fullmatch(r"== (.*) ==", line)
            if head:
                title = head[1]
            if line and not head and not line.startswith("#"):
                self.sections.setdefault(title, []).append(line)

        self.links = {}
        self.failed = collections.Counter()
        ends, columns = None, None
        for line in self.sections.get("links", []):
            if not line.startswith(" "):
                own, arrow, peer, *_ = words(line)
                if arrow != "->":
                    raise ValueError(f"not a link: {line!r}")
                ends = own, peer
                continue
            cells = words(line)
            if columns is None:
                columns = cells
                continue
            row = dict(zip(columns, cells))
            key = row["kind"], *ends
            if row["size"] == "failed":
                self.failed[key] += int(row["errors"])
                continue
            before = self.links.get(key, Sum(0, 0))
            came = 0 if row["bytes"] == "unknown" else int(row["bytes"])  # receives of level posted
            self.links[key] = Sum(before.count + int(row["count"]), before.bytes + came)

        self.errors = collections.Counter()
        for row in self.rows("errors"):
            number = int(re.search(r"\((\d+)\)", row["error"])[1])
            self.errors[row["kind"], row["local"], row["remote"], number] += int(row["count"])
        self.never = collections.Counter()
        for row in self.rows("never completed"):
            self.never[row["kind"], row["local"], row["remote"]] += int(row["count"])
        self.retries = collections.Counter()
        for row in self.rows("retries"):
            self.retries[row["kind"], row["local"], row["remote"]] += int(row["retries"])

        self.losses = {}
        for line in self.sections.get("losses", []):
            if line.startswith("records: "):
                self.losses = {name: int(n) for name, n in re.findall(r"([a-z]+) (\d+)", line)}

    def rows(self, title):
        """The rows of a plain table."""
        columns, *lines = self.sections.get(title, [""])
        return [dict(zip(words(columns), words(line))) for line in lines]


def read_report(path, checks):
    """A report, whose counts of records add up."""
    with open(path) as text:
        report = Report(text.read())
    checks.that(report.sections.get("title", [""])[0].startswith("fabscope "), f"{path}: its first line")
    n = report.losses
    checks.that(n.get("produced", 0) > 0, f"{path}: nothing produced: {n}")
    parts = ("written", "dropped", "overwritten", "filtered", "unread")
    checks.equal(sum(n.get(name, 0) for name in parts), n.get("produced"), f"{path}: {n}")
    for row in outputs(report):
        offered, written, lost, filtered = (int(row[c]) for c in ("offered", "written", "lost", "filtered"))
        checks.equal(written + lost + filtered, offered, f"{path}: output {row['output']}")
    return report


def outputs(report):
    """The table of files in section losses."""
    found = []
    columns = None
    for line in report.sections.get("losses", []):
        cells = words(line)
        if cells and cells[0] == "output":
            columns = cells
        elif columns is not None and len(cells) == len(columns):
            found.append(dict(zip(columns, cells)))
    return found
