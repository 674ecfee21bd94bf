# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of fabscope run unchanged under its preload library, or its hook provider,
and give a report.

preload.py TEST LIBRARY DIRECTORY runtime=SANITIZER_RUNTIME [more]
  sh
  pingpong PROVIDER
  hook PROVIDER
  mpi PROGRAM PROVIDER
"""

import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import time

from report import read_report
from support import Checks, environment, files, fresh, read_ops, run, skip

test, library, directory, runtime, *more = sys.argv[1:]
runtime = runtime.removeprefix("runtime=")  # CMake drops an argument that is empty
fresh(directory)
checks = Checks()
out = os.path.join(directory, "out")
preload = f"{runtime}:{library}" if runtime else library
# A host that is not sanitized may leak as it likes.
quiet = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"} if runtime else {}


def test_sh():
    """A process that opens no fabric creates nothing and prints nothing."""
    node, work = fresh(os.path.join(directory, "node")), fresh(os.path.join(directory, "work"))
    fresh(out)
    env = environment(LD_PRELOAD=preload, FABSCOPE_DIR=out, FABSCOPE_NODE_DIR=node, FABSCOPE="record", **quiet)
    for command in (["sh", "-c", "true"], ["sh", "-c", "true; (true); ls >/dev/null; exit 3"]):
        done = run(command, env, cwd=work)
        checks.equal(done.returncode, 3 if "exit 3" in command[2] else 0, f"{command}: status")
        checks.equal((done.stdout, done.stderr), ("", ""), f"{command}: output")
    for place in (out, node, work):
        checks.equal(os.listdir(place), [], f"files in {place}")
    # The library is really in such a process.
    maps = run(["sh", "-c", "cat /proc/self/maps"], env, cwd=work)
    checks.that(os.path.basename(library) in maps.stdout, "the library is not loaded")
    checks.that("libfabric" not in maps.stdout, "the library brings libfabric into every process")
    checks.that(not re.search(r"fabscope\.\S*\.seg", maps.stdout), "a segment is mapped")


def test_pingpong(provider):
    pingpong(provider, {"LD_PRELOAD": preload}, "all")


def test_hook(provider):
    """libfabric loads the library: by its name, from a folder that FI_PROVIDER_PATH names."""
    hook = {"FI_PROVIDER_PATH": os.path.dirname(library), "FI_HOOK": "fabscope"}
    pingpong(provider, hook | ({"LD_PRELOAD": runtime} if runtime else {}), "4096")
    # Without FI_HOOK it is there and does nothing.
    work = fresh(os.path.join(directory, "work"))
    fresh(out)
    idle = {"FI_PROVIDER_PATH": os.path.dirname(library)} | ({"LD_PRELOAD": runtime} if runtime else {})
    done = run([shutil.which("fi_info"), "-p", provider.replace("+", ";")],
               environment(**idle, FABSCOPE_DIR=out, FABSCOPE="record", **quiet), cwd=work)
    checks.equal(done.returncode, 0, "fi_info: status")
    checks.equal(os.listdir(out) + os.listdir(work), [], "files of a program without FI_HOOK")


def pingpong(provider, way, sizes):
    provider = provider.replace("+", ";")
    program = shutil.which("fi_pingpong") or skip("fi_pingpong is not installed (Debian: libfabric-bin)")
    command = [program, "-p", provider, "-e", "rdm", "-I", "20", "-S", sizes]

    def pair(env):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        with subprocess.Popen([*command, "-B", port], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as server:
            time.sleep(1)
            client = run([*command, "-P", port, "127.0.0.1"], env)
            text, err = server.communicate(timeout=120)
        return [(server.returncode, shape(text), err), (client.returncode, shape(client.stdout), client.stderr)]

    def shape(text):
        """The output without what was measured."""
        return [line.split()[:4] for line in text.splitlines()]

    bare = pair(environment())
    seen = pair(environment(**way, FABSCOPE_DIR=out, FABSCOPE="record", **quiet))
    for who, was, now in zip(("server", "client"), bare, seen):
        checks.equal(was[0], 0, f"{who}: status without the preload")
        checks.equal(now[0], was[0], f"{who}: status")
        checks.equal(now[1], was[1], f"{who}: output")
        others = [line for line in now[2].splitlines() if not line.startswith("fabscope: ")]
        checks.equal(others, was[2].splitlines(), f"{who}: stderr")
    reports(2)


def test_mpi(program, provider):
    provider = provider.replace("+", ";")
    mpirun = shutil.which("mpirun.openmpi") or skip("Open MPI is not installed (Debian: openmpi-bin)")
    if not os.path.exists(program):
        skip("the MPI program was not built (Debian: libopenmpi-dev)")
    command = [mpirun, "--oversubscribe", "-np", "2", "--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca",
               "mtl_ofi_provider_include", provider, "--mca", "opal_common_ofi_provider_include", provider]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    bare = run([*command, program], environment(**root))
    exports = [word for name, value in {"LD_PRELOAD": preload, **quiet}.items() for word in ("-x", f"{name}={value}")]
    seen = run([*command, *exports, program], environment(FABSCOPE_DIR=out, FABSCOPE="record", **root))
    checks.equal(bare.returncode, 0, f"status without the preload ({bare.stderr!r})")
    checks.equal(seen.returncode, bare.returncode, "status")
    checks.equal(seen.stdout, bare.stdout, "output")
    others = [line for line in seen.stderr.splitlines() if line and not line.startswith("fabscope: ")]
    checks.equal(others, [line for line in bare.stderr.splitlines() if line], "stderr")
    reports(2)
    names = sorted(re.search(r"\.r(\w+)\.p", path)[1] for path in files(out, "report.txt"))
    checks.equal(names, ["0", "1"], "ranks in the names of the reports")


def reports(count):
    """Every process left a report with operations in it, and a row for each."""
    paths = files(out, "report.txt")
    checks.equal(len(paths), count, f"reports in {glob.glob(out + '/*')}")
    for path in paths:
        report = read_report(path, checks)
        operations = sum(link.count for link in report.links.values())
        checks.that(operations > 0, f"{path}: no operations")
    for path in files(out, "ops.csv"):
        rows, _ = read_ops(path, checks)
        checks.that(len(rows) > 0, f"{path}: no rows")


{"sh": test_sh, "pingpong": test_pingpong, "hook": test_hook, "mpi": test_mpi}[test](*more)
checks.end()
