#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C++ in the documents compiles. Usage: code_blocks.py ROOT COMPILER [-I|-idirafter DIRECTORY]...

Looks at every ```cpp block of README.md and docs/*.md. A comment in the line in front of the fence says what
it is:

    <!-- part of examples/03_own_sink.cpp -->   a verbatim part of that file, but for the indentation
    <!-- body -->                               statements: compiled inside a function
    <!-- continues -->                          declarations that see those of the block before
    <!-- body, continues -->                    statements that see the declarations of the blocks before
    (none)                                      declarations, or with `int main(` a whole program

The #include lines of a block are moved to the front; fabscope/session.hpp and the literals are there already,
but not for a whole program, which is compiled as it stands. A block whose third-party header is missing here
is left out, with one line. Prints one line per finding, with the line of the document.
"""
import os
import re
import subprocess
import sys
import textwrap

flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-fdiagnostics-color=never"]
prelude = ["#include <fabscope/session.hpp>"]


class block:
    def __init__(self, page, line, text, mark):
        self.page, self.line, self.text, self.mark = page, line, text, mark
        self.part_of = mark[len("part of "):] if mark.startswith("part of ") else ""
        self.words = set() if self.part_of else set(re.split(r",\s*", mark)) - {""}
        self.program = re.search(r"^int main\(", text, re.M) is not None
        self.includes = re.findall(r"^#include .*$", text, re.M)

    def where(self):
        return f"{self.page}:{self.line}"


def blocks_of(page, text):
    """Every block of C++ with the line of its first line of code."""
    out = []
    pattern = r"(?:^<!-- *(part of [\w./]+|body|continues|body, continues) *-->\n)?^```cpp\n(.*?)^```$"
    for match in re.finditer(pattern, text, re.M | re.S):
        line = text.count("\n", 0, match.start(2)) + 1
        out.append(block(page, line, match.group(2), match.group(1) or ""))
    return out


def stray(page, text):
    """Fences that no check would see: indented ones, other names of the language, unknown comments."""
    bad = [f"{page}: a fence '{m.strip()}': write ```cpp at the beginning of the line"
           for m in re.findall(r"^(?:[ \t]+```cpp|[ \t]*```(?:c\+\+|cxx|C\+\+|CPP))\s*$", text, re.M)]
    for mark in re.findall(r"^<!--(.*?)-->\n```cpp$", text, re.M):
        if not re.fullmatch(r" *(part of [\w./]+|body|continues|body, continues) *", mark):
            bad.append(f"{page}: a block's comment '{mark.strip()}' is none that tests/hygiene/code_blocks.py knows")
    return bad


def lines_of(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").split("\n")]


def is_part(text, whole):
    """The lines stand together in the file, at any one indentation."""
    wanted = lines_of(text)
    have = whole.split("\n")
    for at in range(len(have) - len(wanted) + 1):
        if lines_of("\n".join(have[at:at + len(wanted)])) == wanted and have[at].strip():
            return True
    return False


def unit(blocks):
    """One source of many blocks, each in a namespace of its own."""
    out = prelude + [line for b in blocks for line in b.includes]
    out.append("using namespace fabscope::literals;")
    opened = False
    for number, b in enumerate(blocks):
        if "continues" not in b.words or not opened or b.page != blocks[number - 1].page:
            if opened:
                out.append("}")
            out.append(f"namespace block_{number} {{")
            opened = True
        if "body" in b.words:
            out.append(f"inline void body_{number}() {{")
        out.append(f'#line {b.line} "{b.page}"')
        out += ["" if line.startswith("#include ") else line for line in b.text.rstrip("\n").split("\n")]
        if "body" in b.words:
            out.append("}")
    return "\n".join(out + (["}"] if opened else [])) + "\n"


def compile_text(compiler, text):
    """Lines of errors, the compiler's own words."""
    done = subprocess.run(compiler + flags + ["-x", "c++", "-"], input=text, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    errors = [line for line in done.stderr.split("\n") if re.search(r"(error|fatal error):", line)]
    return errors or [done.stderr.strip() or "the compiler failed"]


def missing_header(compiler, b, known={}):
    """The first third-party header of the block that is not here."""
    for line in b.includes:
        name = re.match(r'#include [<"](.*)[>"]', line)
        if not name or re.match(r"fabscope/(?!fabric|mpi|boost|hip|nccl)|\w+$", name.group(1)):
            continue
        if name.group(1) not in known:
            known[name.group(1)] = not compile_text(compiler, line + "\n")
        if not known[name.group(1)]:
            return name.group(1)
    return ""


def check(pages, read, compiler):
    """(findings, number of blocks, lines about what was left out)"""
    bad, notes, units, count = [], [], [], 0
    for page in pages:
        text = read(page)
        bad += stray(page, text)
        for b in blocks_of(page, text):
            count += 1
            if b.part_of:
                try:
                    if not is_part(b.text, read(b.part_of)):
                        bad.append(f"{b.where()}: these lines are not a part of {b.part_of}")
                except OSError:
                    bad.append(f"{b.where()}: there is no {b.part_of}")
                continue
            lacking = missing_header(compiler, b)
            if lacking:
                notes.append(f"{b.where()}: left out, {lacking} was not found or does not compile here")
            elif b.program:
                bad += compile_text(compiler, f'#line {b.line} "{b.page}"\n{b.text}')
            else:
                units.append(b)
    if units:
        bad += compile_text(compiler, unit(units))
    return bad, count, notes


def planted(compiler):
    """Names of the mistakes that are overlooked."""
    wrong = {
        "declarations": "```cpp\nint a = fabscope::none;\n```\n",
        "statements": "<!-- body -->\n```cpp\nfabscope::session session(1, 2, 3);\n```\n",
        "a program": "```cpp\nint main() { return fabscope::none; }\n```\n",
        "a part": "<!-- part of x.cpp -->\n```cpp\nint b;\n```\n",
        "a part of no file": "<!-- part of y.cpp -->\n```cpp\nint a;\n```\n",
        "a block that does not continue": "```cpp\nint a;\n```\n```cpp\nint* b = &a;\n```\n",
        "a fence of another name": "```c++\nint a;\n```\n",
        "an unknown comment": "<!-- skip -->\n```cpp\nint a;\n```\n",
    }
    right = ("```cpp\nint a;\n```\n<!-- continues -->\n```cpp\nint* b = &a;\n```\n"
             "<!-- body, continues -->\n```cpp\n*b = 1;\n```\n<!-- part of x.cpp -->\n```cpp\nint a;\nint c;\n```\n")

    def reader(text):
        def read(path):
            if path == "x.cpp":
                return "struct x {\n  int a;\n  int c;\n};\n"
            if path != "page.md":
                raise OSError(path)
            return text
        return read

    global prelude
    kept, prelude = prelude, ["namespace fabscope::inline v { struct session {}; }",
                              "namespace fabscope::literals {}"]
    missed = [name for name, text in wrong.items() if not check(["page.md"], reader(text), compiler)[0]]
    if check(["page.md"], reader(right), compiler)[0]:
        missed.append("nothing: blocks without one")
    prelude = kept
    return [f"code_blocks.py: it overlooks a mistake in {name}" for name in missed]


def main():
    root, compiler = sys.argv[1], [sys.argv[2], "-I", os.path.join(sys.argv[1], "include")] + sys.argv[3:]

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()

    pages = ["README.md"] + sorted("docs/" + n for n in os.listdir(os.path.join(root, "docs")) if n.endswith(".md"))
    bad, count, notes = check(pages, read, compiler)
    bad += planted(compiler)
    print("\n".join(bad + notes + [f"{count} blocks in {len(pages)} documents, {len(bad)} findings"]))
    return 1 if bad or count == 0 else 0


sys.exit(main())
