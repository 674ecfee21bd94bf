# SPDX-License-Identifier: Apache-2.0
"""fabscope-nic over interfaces that carry traffic: `lo`, and a veth pair between two network namespaces.

python3 interfaces.py lo|veth FABSCOPE_NIC DIRECTORY
"""
import atexit
import os
import shutil
import socket
import subprocess
import sys

from support import Run, check, equal, fresh, skip, total_of, wait_for

SENDER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])): s.sendto(bytes(1000), (sys.argv[1], 9))
"""


def statistic(name, counter, prefix=()):
    path = f"/sys/class/net/{name}/statistics/{counter}"
    return int(subprocess.run([*prefix, "cat", path], text=True, capture_output=True, check=True)
               .stdout)


def case_lo(program, root):
    if not os.path.exists("/sys/class/net/lo/statistics/tx_bytes"):
        skip("no /sys/class/net/lo/statistics here")
    before = statistic("lo", "tx_bytes")
    run = Run(program, ["--devices", "lo", "--interval", "1"], f"{root}/lo.csv")
    wait_for(run.rows, "the first row")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(1000):
        sender.sendto(bytes(1000), receiver.getsockname())
        receiver.recv(2000)
    after = statistic("lo", "tx_bytes")
    wait_for(lambda: int(run.rows()[-1]["lo:tx_bytes"]) >= after, "the last packet")
    rows, out = run.interrupt()
    end = statistic("lo", "tx_bytes")
    values = [int(row["lo:tx_bytes"]) for row in rows]
    check(all(a <= b for a, b in zip(values, values[1:])), "tx_bytes goes back")
    check(before <= values[0] and after <= values[-1] <= end, "tx_bytes is not the kernel's")
    check(values[-1] - values[0] >= 1000 * 1028, "the test's traffic is not in it")
    equal(total_of(out, "lo", "tx_bytes")[:3],
          [str(values[-1] - values[0]), "B", str(values[-1])], "total")
    packets = [int(row["lo:tx_packets"]) for row in rows]
    check(packets[-1] - packets[0] >= 1000, "packets")


def must(*words):
    done = subprocess.run(words, text=True, capture_output=True)
    check(done.returncode == 0, " ".join(words) + ": " + done.stderr)


def pair(near, far, count):
    """A link between both namespaces; what they would say by themselves is switched off."""
    must("ip", "-n", near, "link", "add", "fsa", "type", "veth", "peer", "name", "fsb", "netns", far)
    for name, space, address in (("fsa", near, "10.99.0.1"), ("fsb", far, "10.99.0.2")):
        must("ip", "netns", "exec", space, "sh", "-c",
             f"test ! -e /proc/sys/net/ipv6/conf/{name} || echo 1 > "
             f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
        must("ip", "-n", space, "address", "add", address + "/24", "dev", name)
        must("ip", "-n", space, "link", "set", name, "up")
    for _ in range(count):  # the first packet asks who has the address
        subprocess.run(["ip", "netns", "exec", near, sys.executable, "-c", SENDER, "10.99.0.2", "1"],
                       check=True)


def case_veth(program, root):
    if shutil.which("ip") is None:
        skip("no ip (Debian: iproute2)")
    near, far = f"fabscope-a{os.getpid()}", f"fabscope-b{os.getpid()}"
    for space in (near, far):
        done = subprocess.run(["ip", "netns", "add", space], text=True, capture_output=True)
        if done.returncode != 0:
            skip("no network namespace: " + done.stderr.strip())
        atexit.register(subprocess.run, ["ip", "netns", "delete", space])
    inside = ["ip", "netns", "exec", near]
    done = subprocess.run([*inside, "ls", "/sys/class/net"], text=True, capture_output=True)
    if "lo" not in done.stdout.split():
        skip("no /sys of a namespace here: " + done.stderr.strip())
    done = subprocess.run(["ip", "-n", near, "link", "add", "fsx", "type", "veth", "peer", "name",
                           "fsy"], text=True, capture_output=True)
    if done.returncode != 0:
        skip("no veth: " + done.stderr.strip())
    must("ip", "-n", near, "link", "delete", "fsx")

    pair(near, far, 1)
    first = statistic("fsa", "tx_packets", inside)
    run = Run(program, ["--devices", "fsa", "--interval", "2"], f"{root}/veth.csv", inside)
    wait_for(run.rows, "the first row")
    must(*inside, sys.executable, "-c", SENDER, "10.99.0.2", "2000")
    last = statistic("fsa", "tx_packets", inside)
    check(last >= first + 2000, "the namespace's own counter")
    run.wait("fsa:tx_packets", last, "the kernel's last value")
    size = statistic("fsa", "tx_bytes", inside)
    rows = run.wait("fsa:tx_bytes", size, "the kernel's last number of bytes")
    values = [int(row["fsa:tx_bytes"]) for row in rows]
    check(all(a <= b for a, b in zip(values, values[1:])), "tx_bytes goes back")
    check(len(set(values)) > 1, "tx_bytes does not move")

    must("ip", "-n", near, "link", "delete", "fsa")
    run.wait("fsa:tx_bytes", "", "the interface that is gone")
    pair(near, far, 3)
    size = statistic("fsa", "tx_bytes", inside)
    run.wait("fsa:tx_bytes", size, "the interface that is back")
    _, out = run.interrupt()
    check("fsa was gone 1 times and returned 1 times\n" in out, "gone and returned: " + out)
    total, unit, _, doubts = total_of(out, "fsa", "tx_bytes")
    check(int(total.lstrip(">=")) >= 2000 * 1042 and unit == "B" and "missing=" in doubts,
          f"total {total}, {doubts}")


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]](sys.argv[2], fresh(sys.argv[3]))
