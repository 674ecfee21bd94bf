#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents agree with the tree. Usage: readme.py ROOT

The README's program is examples/01_scope.cpp; the variables that docs/outputs.md explains are those that
options.hpp reads; links lead to files and headings that exist; lines are at most 110 wide. Prints one line
per finding. Every check is first tried on a text with a planted mistake.
"""
import os
import re
import sys

root = sys.argv[1]


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def program(readme, example):
    """The first C++ block of the README is the example without its licence line."""
    blocks = re.findall(r"^```cpp\n(.*?)^```$", readme, re.M | re.S)
    body = re.sub(r"\A// SPDX[^\n]*\n", "", example)
    if not blocks or blocks[0].strip() != body.strip():
        return ["README.md: its first C++ block is not examples/01_scope.cpp"]
    return []


def variables(outputs, options):
    """The table has a row for each variable that is read; the others are listed as reserved."""
    table = re.search(r"option_variables\[\] = \{\n(.*?)\n\};", options, re.S)
    entries = re.findall(r'\{"(FABSCOPE\w*)"(,|\})', table.group(1)) if table else []
    read_ones = {name for name, end in entries if end == ","}
    reserved = {name for name, end in entries if end == "}"}
    rows = set(re.findall(r"^\| `(FABSCOPE\w*)` \|", outputs, re.M))
    bad = [f"docs/outputs.md: no row for {name}" for name in sorted(read_ones - rows)]
    bad += [f"docs/outputs.md: {name} is not read" for name in sorted(rows - read_ones - reserved)]  # an adapter's
    named = {"FABSCOPE" + name if name[0] == "_" else name
             for name in re.findall(r"`((?:FABSCOPE)?_[A-Z_]+|FABSCOPE)`", outputs)}
    bad += [f"docs/outputs.md: {name} is not mentioned" for name in sorted(reserved - named)]
    bad += [f"docs/outputs.md: there is no {name}" for name in sorted(named - reserved - read_ones)]
    return bad if entries else ["options.hpp: no table of variables found"]


def heading_anchor(text):
    text = re.sub(r"[`*]", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def links(path, text, exists, read_other):
    """Relative links lead somewhere."""
    bad = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not exists(to):
            bad.append(f"{path}: link to {target}: no such file")
        elif anchor:
            other = read_other(to) if file else text
            if anchor not in {heading_anchor(h) for h in re.findall(r"^#+ (.*)$", other, re.M)}:
                bad.append(f"{path}: link to {target}: no such heading")
    return bad


def widths(path, text):
    if path == "docs/claims.md":  # rows with names of tests
        text = re.sub(r"^\|.*\|$", "", text, flags=re.M)
    return [f"{path}:{n}: {len(line)} columns" for n, line in enumerate(text.split("\n"), 1) if len(line) > 110]


def sources(path, text, exists):
    """Headers, programs and folders that a document names in `...` exist."""
    folders = "core|clock|event|ring|pool|stats|sink|scope|session|fabric"
    bad = []
    for name in set(re.findall(rf"`((?:{folders})/[\w/]+\.hpp)`", text)):
        if not exists("include/fabscope/" + name):
            bad.append(f"{path}: there is no {name}")
    for name in set(re.findall(r"`((?:tests|examples|benchmarks|cmake|include|docs)/[\w/.\-]*)`", text)):
        if not exists(name.rstrip("/")):
            bad.append(f"{path}: there is no {name}")
    return bad


def planted():
    """Names of the checks that overlook a mistake."""
    table = 'option_variables[] = {\n    {"FABSCOPE_A", "x", f},\n    {"FABSCOPE_B"},\n};'
    good = "| `FABSCOPE_A` | x |\n`_B`"
    none = lambda _: False
    tries = {
        "program": program("```cpp\nint a;\n```\n", "// SPDX x\nint b;\n"),
        "variables without a row": variables("`_B`", table),
        "variables not reserved": variables("| `FABSCOPE_A` | x |", table),
        "variables too many": variables(good + "\n| `FABSCOPE_C` |", table),
        "links": links("a.md", "[x](b.md)", none, None),
        "links to headings": links("a.md", "# One\n[x](#two)", lambda _: True, None),
        "widths": widths("a.md", "x" * 111),
        "sources": sources("a.md", "`core/none.hpp`", none) and sources("a.md", "`tests/none`", none),
    }
    missed = [name for name, found in tries.items() if not found]
    if (variables(good, table) or program("```cpp\nint a;\n```\n", "// SPDX x\nint a;\n")
            or links("a.md", "# One two\n[x](#one-two)", lambda _: True, None)):
        missed.append("a text without a mistake")
    return [f"readme.py: its check '{name}' does not work" for name in missed]


bad = planted()
documents = ["README.md"] + sorted("docs/" + n for n in os.listdir(os.path.join(root, "docs")) if n.endswith(".md"))
here = lambda path: os.path.exists(os.path.join(root, path))
for document in documents:
    text = read(document)
    bad += links(document, text, here, read) + widths(document, text) + sources(document, text, here)
bad += program(read("README.md"), read("examples/01_scope.cpp"))
bad += variables(read("docs/outputs.md"), read("include/fabscope/session/options.hpp"))
print("\n".join(bad + [f"{len(documents)} documents, {len(bad)} findings"]))
sys.exit(1 if bad else 0)
