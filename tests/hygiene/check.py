#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the tree that no compiler makes. Usage: check.py CHECK --root DIR [--compiler CXX] [...]

Every check prints one line per finding, as "file: what", and exits 1 when there is one.
"""
import argparse
import concurrent.futures
import os
import re
import statistics
import subprocess
import sys

ADAPTERS = {"fabric", "nccl", "nic", "hip", "mpi", "boost"}
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "include", "examples", "tests",
             "benchmarks", "cmake", "docs"}
STRICT = ["-std=c++20", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
          "-Wconversion", "-Wsign-conversion", "-Wold-style-cast", "-Wundef", "-Werror"]


def headers(root):
    """Every header below include/, as it is written in an #include."""
    found = []
    base = os.path.join(root, "include")
    for folder, _, names in os.walk(os.path.join(base, "fabscope")):
        found += [os.path.relpath(os.path.join(folder, n), base) for n in names if n.endswith(".hpp")]
    return sorted(found)


def folder_of(header):
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else ""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def tracked(root):
    """Files under version control; without git (an unpacked archive), every file outside build/."""
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"], capture_output=True)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.decode().split("\0")
        return sorted(n for n in names if n and os.path.exists(os.path.join(root, n)))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(found)


def compiler(args, source, *flags):
    command = [args.compiler, *flags, "-x", "c++", "-I" + os.path.join(args.root, "include")]
    command += ["-isystem" + d for d in args.system_include if d not in ("/usr/include", "")] + ["-"]
    return subprocess.run(command, input=source, capture_output=True, text=True)


def check_selfcontained(args):
    """Each header compiles alone and twice, with strict warnings, without exceptions and RTTI."""
    names = [h for h in headers(args.root) if folder_of(h) not in ADAPTERS - args.adapters]

    def one(name):
        line = f"#include <{name}>\n"
        done = compiler(args, line + line + "int main() {}\n", "-fsyntax-only", *STRICT)
        return None if done.returncode == 0 else f"{name}: does not compile alone\n{done.stderr[:3000]}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [r for r in pool.map(one, names) if r], f"{len(names)} headers"


def check_lines(args):
    """The umbrella's preprocessed size and what it must not reach."""
    source = f"#include <{args.header}>\n"
    done = compiler(args, source, "-E", "-std=c++20")
    if done.returncode != 0:
        return [f"{args.header}: does not preprocess\n{done.stderr[:2000]}"], ""
    count = done.stdout.count("\n")
    bad = []
    if count > args.budget:
        bad.append(f"{args.header}: {count} preprocessed lines, budget {args.budget}")
    reached = set(re.findall(r'^# \d+ "([^"]+)"', done.stdout, re.M))
    for word in filter(None, args.forbid.split(",")):
        bad += [f"{args.header}: reaches {path}" for path in sorted(reached) if path.endswith("/" + word)
                or ("/" + word + "/") in path]
    return bad, f"{args.header}: {count} preprocessed lines, budget {args.budget}"


def check_macros(args):
    """Macros that headers define begin with FABSCOPE_. No condition asks for anything but the compiler's own
    macros, or in an adapter those of its third party: definitions of the user change neither code nor layout.
    FABSCOPE_SEPARATE_SESSION says only in which file the session's code is compiled."""
    bad = []
    for name in headers(args.root):
        text = read(args.root, "include/" + name).replace("\\\n", " ")
        bad += [f"{name}: defines {m}" for m in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M)
                if not m.startswith("FABSCOPE_")]
        third_party = r"|(?:FI|MPI|BOOST|OMPI|MPICH|NCCL)_\w+" if folder_of(name) in ADAPTERS else ""
        if name in ("fabscope/session/session.hpp", "fabscope/session/report.hpp", "fabscope/session/separate.hpp"):
            third_party = "|FABSCOPE_SEPARATE_SESSION"
        for condition in re.findall(r"^[ \t]*#[ \t]*(?:if|elif|ifdef|ifndef)\b(.*)$", text, re.M):
            condition = re.sub(r"//.*|<[^>]*>", "", condition)
            bad += [f"{name}: a condition asks for {word}" for word in re.findall(r"\b[A-Za-z_]\w*", condition)
                    if not re.fullmatch(r"defined|__\w+" + third_party, word)]
    return bad, ""


def check_hostile(args):
    """Headers compile where somebody has defined min, max, ERROR, LOG, I, major, minor and check.

    Everything that is not ours is included before these definitions: the standard library does not
    survive them.
    """
    names = [h for h in headers(args.root) if folder_of(h) not in ADAPTERS - args.adapters]
    foreign = {}
    for name in names:
        for inc in re.findall(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", read(args.root, "include/" + name), re.M):
            if not inc.startswith("fabscope/"):
                foreign[inc] = None
    lines = [f"#if __has_include(<{i}>)\n#include <{i}>\n#endif" for i in sorted(foreign)]
    for macro in ("min(a, b)", "max(a, b)", "major(a)", "minor(a)", "check(a)", "LOG(a)", "ERROR", "I", "DOMAIN"):
        word = macro.split("(")[0]
        lines += [f"#undef {word}", f"#define {macro} a hostile macro"]
    lines += [f"#include <{n}>" for n in names]
    done = compiler(args, "\n".join(lines) + "\nint main() {}\n", "-fsyntax-only", "-std=c++20", "-w")
    return ([] if done.returncode == 0 else [done.stderr[:6000]]), f"{len(names)} headers"


def check_heads(args):
    """SPDX line in every source; a header names its layer, and it is the right one; the median is short."""
    bad = []
    for path in tracked(args.root):
        if path.endswith((".hpp", ".h", ".cpp", ".c", ".cmake", ".sh", ".py")) or path.endswith("/run") or (
                os.path.basename(path) == "CMakeLists.txt"):
            if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(read(args.root, path).split("\n")[:3]):
                bad.append(f"{path}: no SPDX line in its first three lines")
    sizes = []
    for name in headers(args.root):
        text = read(args.root, "include/" + name)
        sizes.append(text.count("\n"))
        head = " ".join(line.lstrip("/ ") for line in text.split("#pragma once")[0].split("\n"))
        folder = folder_of(name)
        if "#pragma once" not in text:
            bad.append(f"{name}: no #pragma once")
        elif folder and not re.search(rf"Layer: {folder}\.", head):
            bad.append(f"{name}: its first lines do not end with 'Layer: {folder}.'")
    if not sizes:
        return ["no header found"], ""
    if statistics.median(sizes) > 150:
        bad.append(f"include: median header has {statistics.median(sizes)} lines, at most 150")
    return bad, f"{len(sizes)} headers, median {statistics.median(sizes)} lines, longest {max(sizes)}"


def check_concepts(args):
    """Every concept has a type that tests/static accepts, one that it refuses, and a place in docs/concepts.md."""
    asserted = ""
    folder = os.path.join(args.root, "tests/static")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".cpp"):
            asserted += "".join(re.findall(r"static_assert\(.*?\);", read(args.root, "tests/static/" + name), re.S))
    page = read(args.root, "docs/concepts.md") if os.path.exists(os.path.join(args.root, "docs/concepts.md")) else ""
    bad = []
    count = 0
    for header in headers(args.root):
        for concept in re.findall(r"^[ \t]*concept (\w+)\s*=", read(args.root, "include/" + header), re.M):
            count += 1
            used = re.findall(rf"(!?)\s*(?:\w+::)*\b{concept}<", asserted)
            if "" not in used:
                bad.append(f"{header}: concept {concept}: no type in tests/static that it accepts")
            if "!" not in used:
                bad.append(f"{header}: concept {concept}: no type in tests/static that it refuses")
            if not re.search(rf"^\*\*`(?:\w+::)*{concept}`\*\*", page, re.M):
                bad.append(f"{header}: concept {concept}: not a paragraph of docs/concepts.md")
    return bad, f"{count} concepts"


def check_format(args):
    """clang-format leaves every C++ file as it is."""
    names = [p for p in tracked(args.root) if p.endswith((".hpp", ".cpp", ".h"))]
    bad = []
    for begin in range(0, len(names), 100):
        done = subprocess.run([args.clang_format, "--dry-run", "--style=file", *names[begin:begin + 100]],
                              cwd=args.root, capture_output=True, text=True)
        if done.returncode != 0:
            bad.append(done.stderr[:2000])
        bad += sorted({m + ": not as clang-format writes it"
                       for m in re.findall(r"^([^:\n]+):\d+:\d+: \w+: code should be clang-formatted", done.stderr, re.M)})
    return bad, f"{len(names)} files"


def check_toplevel(args):
    """The root holds exactly the agreed names, and dot files."""
    names = {p.split("/")[0] for p in tracked(args.root)}
    names = {n for n in names if not n.startswith(".")}
    return ([f"{n}: not one of the names of the top level" for n in sorted(names - TOP_LEVEL)] +
            [f"{n}: missing from the top level" for n in sorted(TOP_LEVEL - names)]), ""


def check_paths(args):
    """No tracked file names a place on somebody's machine."""
    # Written in two pieces so that this file does not find itself.
    pattern = re.compile(r"(?<![\w./$}])/(?:" + "wo" + "rk|ro" + "ot|ho" + "me|Us" + r"ers)/[\w.]+|/tm" + "p/fs/")
    bad = []
    for path in tracked(args.root):
        for number, line in enumerate(read(args.root, path).split("\n"), 1):
            hit = pattern.search(line)
            if hit:
                bad.append(f"{path}:{number}: {hit.group(0)}")
    return bad, ""


def main():
    checks = {n[6:]: f for n, f in globals().items() if n.startswith("check_")}
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=sorted(checks))
    parser.add_argument("--root", required=True)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--system-include", action="append", default=[])
    parser.add_argument("--clang-format", default="clang-format-14")
    parser.add_argument("--adapters", type=lambda text: set(text.split(",")), default=set(),
                        help="with the headers of these, which need a third party")
    parser.add_argument("--header")
    parser.add_argument("--budget", type=int)
    parser.add_argument("--forbid", default="")
    args = parser.parse_args()
    bad, note = checks[args.check](args)
    for line in bad:
        print(line)
    print(f"{args.check}: {len(bad)} findings{'; ' + note if note else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
