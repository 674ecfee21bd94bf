#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of docs/claims.md holds. Usage: claims.py ROOT BUILD CTEST

A section names a page of the documents; a row has words that stand in that page, and what shows that they are
true: names of tests of ctest, of test cases, or of rows of the benchmarks. A name may end in `*`, or be the
part before the colon of test cases that belong together. Prints one line per finding. Every check is first
tried on a text with a planted mistake.
"""
import os
import re
import subprocess
import sys

root, build, ctest = sys.argv[1:4]


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def sources(folder):
    for base, _, names in os.walk(os.path.join(root, folder)):
        for name in names:
            if name.endswith(".cpp"):
                yield os.path.relpath(os.path.join(base, name), root)


def literal(text):
    """Neighbouring string literals as one text."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


def known_names():
    """(tests of ctest, test cases, rows of the benchmarks)"""
    done = subprocess.run([ctest, "--test-dir", build, "-N", "-C", "slow"], capture_output=True, text=True, check=True)
    tests = set(re.findall(r"^ *Test +#\d+: (\S+)", done.stdout, re.M))
    cases = set()
    for path in sources("tests"):
        strings = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
        cases |= {literal(m) for m in re.findall(r"TEST_CASE(?:_TEMPLATE)?\(\s*" + strings, read(path))}
    rows = set()
    for path in sources("benchmarks"):
        text = read(path)
        rows |= set(re.findall(r'"((?:two_threads/)?[a-z]+[a-z_0-9]*(?:/[a-z_0-9]+)?)"', text))
        rows |= {"two_threads/" + m for m in re.findall(r'add_with_threads\(\s*"([a-z_0-9/]+)"', text)}
    return tests, cases, rows


def is_known(name, names):
    tests, cases, rows = names
    if name.endswith("*"):
        return any(other.startswith(name[:-1]) for other in tests | cases)
    return name in tests or name in cases or name in rows or any(case.startswith(name + ":") for case in cases)


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r"^> ?", "", text, flags=re.M)).strip()


def check(text, page_of, names):
    """(findings, number of claims)"""
    bad, count, page, path = [], 0, "", ""
    for number, line in enumerate(text.split("\n"), 1):
        heading = re.match(r"## `([\w/.-]+)`", line)
        if heading:
            path = heading.group(1)
            page = plain(page_of(path))
        row = re.match(r"\| (.*) \| ([^|]*) \|$", line)
        if not row or not page or set(row.group(1)) <= set("- |") or row.group(1) == "words of the page":
            continue
        count += 1
        where = f"docs/claims.md:{number}"
        if plain(row.group(1)) not in page:
            bad.append(f"{where}: these words do not stand in {path}: {row.group(1)}")
        shown = re.findall(r"`([^`]+)`", row.group(2))
        if not shown:
            bad.append(f"{where}: nothing shows it")
        bad += [f"{where}: there is no test, test case or benchmark '{name}'" for name in shown
                if not is_known(name, names)]
    return bad, count


def selftest():
    names = ({"unit.ring"}, {"ring.x: holds"}, {"ring_drained"})
    good = "## `p.md`\n| words of the page | shown by |\n|---|---|\n| it holds two | `unit.ring`, `ring.x: holds` |\n"
    pages = {"p.md": "It is so that it\nholds two."}
    for text, finding in ((good, None), (good.replace("two", "three"), "do not stand"),
                          (good.replace("unit.ring", "unit.rings"), "no test, test case"),
                          (good.replace("x: holds", "x"), None), (good.replace("unit.ring`", "unit.*`"), None),
                          (good.replace("unit.ring", "ring_drained"), None),
                          (re.sub("`unit.*holds`", "nothing", good), "nothing shows")):
        bad, count = check(text, pages.get, names)
        assert count == 1 and bool(bad) == (finding is not None) and all(finding in b for b in bad), (text, bad)


selftest()
findings, claims = check(read("docs/claims.md"), read, known_names())
for finding in findings:
    print(finding)
print(f"{claims} claims, {len(findings)} findings")
sys.exit(1 if findings or claims == 0 else 0)
