#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation per check in a small tree and expects that it is reported. Usage:
selftest.py CHECK_PY LAYERS_CMAKE CMAKE COMPILER CLANG_FORMAT EMPTY_DIR"""
import os
import shutil
import subprocess
import sys

check_py, layers, cmake, cxx, clang_format, base = sys.argv[1:7]
failures = []
GOOD = "// SPDX-License-Identifier: Apache-2.0\n// Nothing. Layer: event.\n#pragma once\n"


def tree(files):
    shutil.rmtree(base, ignore_errors=True)
    for path, text in files.items():
        full = os.path.join(base, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    # A repository of its own, so that the checks do not look at the one around it.
    subprocess.run(["git", "init", "-q", base], check=True)
    subprocess.run(["git", "-C", base, "add", "-A"], check=True)


def expect(what, command, text):
    done = subprocess.run(command, capture_output=True, text=True)
    output = done.stdout + done.stderr
    if (text is None) != (done.returncode == 0) or (text and text not in output):
        failures.append(f"{what}: expected {text!r}, status {done.returncode}, output:\n{output}")


def python(check, *more):
    return [sys.executable, check_py, check, "--root", base, "--compiler", cxx, "--clang-format", clang_format, *more]


def arrows():
    return [cmake, f"-DINCLUDE_DIR={base}/include", "-P", layers]


header = "include/fabscope/event/x.hpp"
lines = ["lines", "--header", "fabscope/event/x.hpp", "--budget", "3000", "--forbid", "thread,rdma"]

tree({header: GOOD})
for name in ("selfcontained", "macros", "hostile", "heads", "paths"):
    expect(f"{name} accepts", python(name), None)
expect("layers accept", arrows(), None)
expect("lines accept", python(*lines), None)

for include, text in (("fabscope/hip/a.hpp", "event/x.hpp: event -> hip"),
                      ("fabscope/scope.hpp", "event/x.hpp: event -> scope"),
                      ("fabscope/ring/a.hpp", "event/x.hpp: event -> ring"),
                      ("rdma/fabric.h", "event/x.hpp: <rdma/fabric.h> belongs to an adapter"),
                      ("thread", "event/x.hpp: <thread> is kept out"),
                      ("vector", "event/x.hpp: <vector> is kept out of event")):
    tree({header: GOOD + f"#include <{include}>\n"})
    expect(f"layers <{include}>", arrows(), text)
tree({"include/fabscope/ring/x.hpp": GOOD + "#include <fabscope/pool/a.hpp>\n"})
expect("layers ring and pool", arrows(), "ring/x.hpp: ring -> pool")
tree({"include/fabscope/nic/x.hpp": GOOD + "#include <fabscope/fabric/a.hpp>\n"})
expect("layers two adapters", arrows(), "nic/x.hpp: nic -> fabric")

tree({header: GOOD + "inline std::size_t n = 0;\n"})
expect("selfcontained", python("selfcontained"), "x.hpp: does not compile alone")
tree({header: GOOD + "inline int f(long a) { return a; }\n"})
expect("selfcontained warns", python("selfcontained"), "x.hpp: does not compile alone")
tree({header: GOOD + "#include <thread>\n"})
expect("lines budget", python(*lines), "budget 3000")
expect("lines reach", python(*lines), "/thread")
tree({header: GOOD + "#define SHORT 1\n"})
expect("macros", python("macros"), "x.hpp: defines SHORT")
tree({header: GOOD + "#if defined(__x86_64__) && !defined(NDEBUG)\n#endif\n"})
expect("macros condition", python("macros"), "x.hpp: a condition asks for NDEBUG")
tree({header: GOOD + "#include <algorithm>\ninline int f(int a) { return std::min(a, 1); }\n"})
expect("hostile", python("hostile"), "hostile")
tree({header: "// Nothing. Layer: event.\n#pragma once\n"})
expect("heads SPDX", python("heads"), "no SPDX line")
tree({header: GOOD.replace("event", "ring")})
expect("heads layer", python("heads"), "'Layer: event.'")
tree({header: GOOD + "\n" * 200})
expect("heads median", python("heads"), "median")
tree({header: GOOD + "inline  int   f( );\n"})
expect("format", python("format"), "not as clang-format writes it")
tree({header: GOOD, "notes/x": ""})
expect("toplevel more", python("toplevel"), "notes: not one of the names")
expect("toplevel less", python("toplevel"), "README.md: missing")
tree({header: GOOD + "// see /ho" + "me/someone/x\n"})
expect("paths", python("paths"), "x.hpp:4")

concept = "template <class T>\nconcept small = sizeof(T) < 8;\n"
accepted, refused, named = "static_assert(small<int>);\n", "static_assert(!small<long>);\n", "**`small`** is\n"
for given, text in (((accepted, refused, named), None), (("", refused, named), "that it accepts"),
                    ((accepted, "", named), "that it refuses"), ((accepted, refused, ""), "not a paragraph")):
    tree({header: GOOD + concept, "tests/static/x.cpp": given[0] + given[1], "docs/concepts.md": given[2]})
    expect(f"concepts {text}", python("concepts"), text)

shutil.rmtree(base, ignore_errors=True)
print("\n".join(failures) or "every planted violation is reported")
sys.exit(1 if failures else 0)
