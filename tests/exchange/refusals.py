# SPDX-License-Identifier: Apache-2.0
"""What fabscope-exchange says and returns when it cannot do what it is asked to.

refusals.py PROGRAM DIRECTORY
"""

import os
import re
import signal
import subprocess
import sys
import time

from support import Checks, environment, fresh, run

program, directory = sys.argv[1:]
fresh(directory)
# A process that is killed leaves its segment: here, and not in /dev/shm.
env = environment(FABSCOPE_DIR=os.path.join(directory, "out"), FABSCOPE_NODE_DIR=fresh(os.path.join(directory, "node")))
checks = Checks()

# A bad option: one line that names it, what was found and what is allowed; status 2, nothing written.
for option, found, allowed in [
    (["--rounds", "x"], "x", "1 to 1000000"),
    (["--rounds", "0"], "0", "1 to 1000000"),
    (["--rounds"], "", "a value"),
    (["--endpoints=1"], "1", "2 to 64"),
    (["--endpoints", "65"], "65", "2 to 64"),
    (["--sizes", "64,,8"], "", "sizes in bytes"),
    (["--sizes", "4"], "4", "sizes in bytes"),
    (["--kinds", "send,recv"], "recv", "send, tagged, write, read"),
    (["--depth", "-1"], "-1", "1 to 4096"),
    (["--seconds", "nan"], "nan", "0.1 to 86400"),
    (["--timeout", "1h"], "1h", "1 to 86400"),
    (["--provider", ""], "", "not empty"),
    (["--bogus"], "--bogus", "--help"),
]:
    done = run([program, *option], env)
    text = " ".join(option)
    name = "option" if option == ["--bogus"] else option[0].split("=")[0]
    checks.equal(done.returncode, 2, f"{text}: status")
    checks.equal(done.stdout, "", f"{text}: stdout")
    checks.equal(len(done.stderr.splitlines()), 1, f"{text}: lines in {done.stderr!r}")
    for part in (f"fabscope-exchange: {name}: ", f"found '{found}'", "allowed: ", allowed):
        checks.that(part in done.stderr, f"{text}: no {part!r} in {done.stderr!r}")

# A provider that is not there: one sentence with those that are; status 1.
for more in ([], ["--processes"]):
    done = run([program, "--provider", "carrier-pigeon", *more], env)
    checks.equal(done.returncode, 1, "missing provider: status")
    checks.equal(done.stdout, "", "missing provider: stdout")
    checks.that(
        re.fullmatch(
            r"fabscope-exchange: provider 'carrier-pigeon' is not available here; available: .*\bshm\b.*\n",
            done.stderr), f"missing provider: {done.stderr!r}")

# So far nothing ran, so nothing was written.
checks.that(not os.path.exists(os.path.join(directory, "out")), "files were written by a run that did not start")

# Wrong payload is found whichever way it came, and only where it is looked for.
quick = [program, "--rounds", "1", "--sizes", "64,70001"]
for number, kind in enumerate(["send", "tagged", "write", "read"]):
    done = run([*quick, "--kinds", kind, "--corrupt", "3"], env)
    checks.equal(done.returncode, 1, f"corrupt {kind}: status")
    checks.that(f"payload wrong: {kind} of 64 bytes, number 2 of round 0 from endpoint 0" in done.stderr,
                f"corrupt {kind}: {done.stderr!r}")
    checks.that("differs at byte 32\n" in done.stderr, f"corrupt {kind}: {done.stderr!r}")
    checks.that(", 1 wrong" in done.stdout, f"corrupt {kind}: {done.stdout!r}")
done = run([*quick, "--corrupt", "3", "--no-check"], env)
checks.equal(done.returncode, 0, "corrupt, not checked: status")
done = run(quick, env)
checks.equal(done.returncode, 0, f"nothing corrupt: status ({done.stderr!r})")
checks.that(", 0 wrong" in done.stdout, f"nothing corrupt: {done.stdout!r}")

# A peer that stops answering: what is outstanding, status 3.
with subprocess.Popen([program, "--processes", "--seconds", "60", "--timeout", "3"], env=env,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as exchange:
    children = []
    until = time.monotonic() + 60
    while not children and time.monotonic() < until:
        with open(f"/proc/{exchange.pid}/task/{exchange.pid}/children") as text:
            children = text.read().split()[3:]
        time.sleep(0.05)
    time.sleep(1)
    os.kill(int(children[0]), signal.SIGSTOP)
    out, err = exchange.communicate(timeout=120)
    checks.equal(exchange.returncode, 3, "stopped peer: status")
    checks.equal(err.count("nothing completed for 3 s; outstanding:"), 1, f"stopped peer: {err!r}")
    checks.that("endpoint 3" in err, f"stopped peer: {err!r}")

checks.end()
