#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scope over null_recorder emits no instruction. Usage: null_scope.py COMPILER INCLUDE_DIR SOURCE"""
import os
import re
import subprocess
import sys
import tempfile

# Fill between functions, and a mark for indirect branches that does nothing.
NOT_COUNTED = re.compile(r"^(endbr64|bti|nop|nopw|nopl|xchg +%ax,%ax|data16|cs nopw|int3)\b")


def functions(listing):
    """{function: its instructions}, from objdump -d."""
    found = {}
    for line in listing.split("\n"):
        head = re.match(r"^[0-9a-f]+ <([^>]+)>:$", line)
        if head:
            code = found.setdefault(head.group(1), [])
            continue
        instruction = re.match(r"^ +[0-9a-f]+:\t(.*\S)", line)
        if instruction and not NOT_COUNTED.match(instruction.group(1)):
            code.append(instruction.group(1))
    return found


def main():
    compiler, include, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "null_scope.o")
        subprocess.run([compiler, "-std=c++20", "-O2", "-I" + include, "-c", source, "-o", name], check=True)
        listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", name], check=True, capture_output=True,
                                 text=True).stdout
    code = functions(listing)
    null = {name: lines for name, lines in code.items() if name.startswith("null_")}
    bad = [f"{name}: {len(lines)} instructions instead of a bare return: {lines[:8]}"
           for name, lines in null.items() if lines not in (["ret"], ["retq"])]
    if len(null) < 5:
        bad.append(f"only {len(null)} functions found")
    if len(code.get("live_scope", [])) < 10:
        bad.append("live_scope has too few instructions to be one: the listing was not read")
    print("\n".join(bad) if bad else f"{compiler}: {len(null)} functions are a bare return")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
