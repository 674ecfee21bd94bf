# SPDX-License-Identifier: Apache-2.0
"""Runs fabscope-nic beside a test: trees like the kernel's, and rows of the file as they come."""
import atexit
import csv
import os
import shutil
import signal
import subprocess
import sys
import time

PATIENCE = 30  # seconds; a test that waits longer has failed


def fail(text):
    print("FAILED: " + text)
    sys.exit(1)


def check(what, text):
    if not what:
        fail(text)


def equal(found, expected, what):
    check(found == expected, f"{what}: found {found!r}, expected {expected!r}")


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(77)


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        check(time.monotonic() < until, f"{what} did not come within {PATIENCE} s")
        time.sleep(0.002)
    return found


def fresh(directory):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    return directory


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as file:
        file.write(text)


def rewrite(path, text):
    """In place, in one write of the same width, as a reader of the kernel's files sees it."""
    fd = os.open(path, os.O_WRONLY)
    check(os.fstat(fd).st_size == len(text), f"{path} would change its width")
    os.pwrite(fd, text.encode(), 0)
    os.close(fd)


def telemetry(value):
    return f"{value:020d}@1700000000.123456789\n"


def cxi(root, counters, name="cxi0", pci="0000:21:00.0", speed=200000):
    """A Cassini under root/sys; returns the directory of its counters."""
    place = f"{root}/sys/devices/pci0000:20/{pci}"
    write(f"{place}/uevent", f"DRIVER=cxi_ss1\nPCI_SLOT_NAME={pci}\n")
    write(f"{place}/numa_node", "2\n")
    write(f"{place}/vendor", "0x17db\n")
    write(f"{place}/properties/speed", f"{speed}\n")
    write(f"{place}/properties/nid", "0x1a2b\n")
    for counter, value in counters.items():
        write(f"{place}/telemetry/{counter}", telemetry(value))
    os.makedirs(f"{root}/sys/class/cxi/{name}", exist_ok=True)
    os.makedirs(f"{root}/run", exist_ok=True)
    if not os.path.lexists(f"{root}/sys/class/cxi/{name}/device"):
        os.symlink(f"../../../devices/pci0000:20/{pci}", f"{root}/sys/class/cxi/{name}/device")
    return f"{place}/telemetry"


def infiniband(root, name, driver, counters, hardware, pci="0000:41:00.0"):
    """One port of a device; returns the directory of the port."""
    place = f"{root}/sys/devices/pci0000:40/{pci}"
    write(f"{place}/uevent", f"DRIVER={driver}\nPCI_SLOT_NAME={pci}\n")
    write(f"{place}/numa_node", "1\n")
    device = f"{root}/sys/class/infiniband/{name}"
    port = f"{device}/ports/1"
    write(f"{port}/rate", "400 Gb/sec (4X NDR)\n")
    os.makedirs(f"{root}/run", exist_ok=True)
    os.symlink(f"../../../devices/pci0000:40/{pci}", f"{device}/device")
    for folder, values in (("counters", counters), ("hw_counters", hardware)):
        for counter, text in values.items():
            write(f"{port}/{folder}/{counter}", text)
    return port


def roots(root):
    return ["--sys-root", f"{root}/sys", "--run-root", f"{root}/run"]


class Run:
    """fabscope-nic with --csv, and what it has written so far."""

    def __init__(self, program, arguments, file, prefix=()):
        if os.path.exists(file):
            os.remove(file)
        self.file = file
        self.process = subprocess.Popen([*prefix, program, *arguments, "--csv", file], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        atexit.register(self.process.kill)  # a test that fails leaves nothing that runs

    def lines(self):
        try:
            with open(self.file, newline="") as file:
                text = file.read()
        except FileNotFoundError:
            return []
        if self.process.poll() not in (None, 0):
            fail("fabscope-nic ended: " + "".join(self.process.communicate(timeout=PATIENCE)))
        return [line for line in text[:text.rfind("\n") + 1].splitlines()]

    def rows(self):
        """Whole rows, each a dict by the titles."""
        return list(csv.DictReader(line for line in self.lines() if not line.startswith("#")))

    def wait(self, column, value, what):
        """Until the newest row has this value there; returns all rows."""
        def look():
            rows = self.rows()
            return rows if rows and rows[-1][column] == str(value) else None
        return wait_for(look, what)

    def interrupt(self, expected=""):
        """SIGINT; the file must be whole. Returns all rows and what was printed."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE)
        equal((self.process.returncode, err), (0, expected), "status and stderr after SIGINT")
        with open(self.file, newline="") as file:
            text = file.read()
        last = text.splitlines()[-1]
        check(text.endswith("\n") and last.startswith("# end "), "the file's last line is missing")
        rows = self.rows()
        counts = dict(word.split("=") for word in last.split()[2:])
        equal(int(counts["samples"]), len(rows), "samples and rows")
        equal(int(counts["missed"]), sum(int(row["missed"]) for row in rows), "missed ticks")
        times = [int(row["t_ns"]) for row in rows]
        check(all(a < b for a, b in zip(times, times[1:])), "times go back")
        return rows, out


def total_of(printed, device, counter):
    """The line of a counter in the totals at the end: total, unit, last, doubts."""
    for line in printed[printed.index("\n\ndevice") if "\n\ndevice" in printed else 0:].splitlines():
        words = line.split()
        if words[:2] == [device, counter]:
            return words[2:]
    return None
