# SPDX-License-Identifier: Apache-2.0
"""fabscope-nic over trees of files: the list, exact values, a wrap, a device that goes and returns.

python3 fake_tree.py list|values|wrap|unplug|arguments FABSCOPE_NIC DIRECTORY
"""
import shutil
import subprocess
import sys

from support import (Run, check, cxi, equal, fresh, infiniband, rewrite, roots, telemetry, total_of,
                     wait_for, write)


def listed(program, root):
    """What --list says: devices and counters, each a dict."""
    done = subprocess.run([program, "--list", *roots(root)], text=True, capture_output=True)
    equal((done.returncode, done.stderr), (0, ""), "status and stderr of --list")
    tables = []
    for part in done.stdout.strip().split("\n\n"):
        titles, *rows = [line.split("\t") for line in part.splitlines()]
        tables.append([dict(zip(titles, row)) for row in rows])
    return tables


def case_list(program, root):
    cxi(root, {"hni_sts_tx_ok_octets": 1, "pct_spt_timeouts": 0, "pct_prf_sct_status_sct_in_use": 3,
               "pct_prf_sct_status_max_sct_in_use": 9})
    write(f"{root}/run/cxi/cxi0/nacks", "-5\n")
    write(f"{root}/sys/class/cxi/cxi0/device/telemetry/ALL-in-binary", "\0\1\2")
    infiniband(root, "rocep65s0", "mlx5_core", {"port_xmit_data": "7\n", "symbol_error": "0\n",
                                                "port_rcv_data": "N/A (no PMA)\n"},
               {"out_of_buffer": "3\r\n", "np_cnp_sent": "4\n", "lifespan": "25\n"})
    infiniband(root, "hfi1_0", "hfi1", {"port_xmit_data": "1\n"}, {"SwLinkUp,32": "1\n"},
               "0000:42:00.0")
    devices, counters = listed(program, root)
    equal([(d["device"], d["class"], d["driver"], d["pci"], d["numa"], d["speed_mbps"])
           for d in devices],
          [("cxi0", "cxi", "cxi_ss1", "0000:21:00.0", "2", "200000"),
           ("hfi1_0", "infiniband", "hfi1", "0000:42:00.0", "1", "400000"),
           ("rocep65s0", "infiniband", "mlx5_core", "0000:41:00.0", "1", "400000")], "devices")
    found = {(c["device"], c["counter"]): (c["kind"], c["bits"], c["end"], c["unit"], c["scale"],
                                           c["refresh_ms"]) for c in counters}
    expected = {
        ("cxi0", "hni_sts_tx_ok_octets"): ("counter", "56", "wraps", "B", "1"),
        ("cxi0", "pct_spt_timeouts"): ("counter", "56", "wraps", "events", "1"),
        ("cxi0", "pct_prf_sct_status_sct_in_use"): ("gauge", "56", "-", "-", "1"),
        ("cxi0", "pct_prf_sct_status_max_sct_in_use"): ("watermark", "56", "-", "-", "1"),
        ("cxi0", "rh:nacks"): ("counter", "32", "wraps", "packets", "1"),
        ("rocep65s0", "port_xmit_data"): ("counter", "64", "wraps", "B", "4"),
        ("rocep65s0", "symbol_error"): ("counter", "16", "saturates", "events", "1"),
        ("rocep65s0", "out_of_buffer"): ("counter", "32", "wraps", "packets", "1"),
        ("rocep65s0", "np_cnp_sent"): ("counter", "64", "wraps", "packets", "1"),
        ("hfi1_0", "port_xmit_data"): ("counter", "64", "wraps", "B", "8"),
        ("hfi1_0", "SwLinkUp,32"): ("counter", "32", "wraps", "events", "1"),
    }
    equal({key: value[:5] for key, value in found.items()}, expected, "counters")
    equal(found["rocep65s0", "out_of_buffer"][5], "25", "refresh period from lifespan")
    by_name = {(c["device"], c["counter"]): c for c in counters}
    equal(by_name["cxi0", "rh:nacks"]["remarks"], "should_be_zero,twin", "remarks on rh:nacks")
    equal(by_name["cxi0", "rh:nacks"]["source"], f"{root}/run/cxi/cxi0/nacks", "source of rh:nacks")


def case_values(program, root):
    names = ["hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets", "pct_spt_timeouts"]
    place = cxi(root, {name: 0 for name in names})
    hardware = infiniband(root, "mlx5_0", "mlx5_core", {}, {"out_of_buffer": f"{0:020d}\n",
                                                             "a,32": f"{0:020d}\n"})
    run = Run(program, ["--devices", "cxi0,mlx5_0", "--interval", "2", "--counters",
                        ",".join(names) + ',out_of_buffer,"a,32"', *roots(root)],
              f"{root}/values.csv")
    titles = [f"cxi0:{name}" for name in names] + ["mlx5_0:out_of_buffer", "mlx5_0:a,32"]
    expected = []
    for step in range(40):
        values = [step * 1000003, step * 17, step // 8, step * 5, step * step]
        for name, value in zip(names, values):
            rewrite(f"{place}/{name}", telemetry(value))
        rewrite(f"{hardware}/hw_counters/out_of_buffer", f"{values[3]:020d}\n")
        rewrite(f"{hardware}/hw_counters/a,32", f"{values[4]:020d}\n")
        expected.append([str(value) for value in values])
        run.wait(titles[4], values[4], f"step {step}")
        if step % 8 == 7:  # what is written last may have come first: one more sample has all
            count = len(run.rows())
            wait_for(lambda: len(run.rows()) > count, "one more row")
    rows, out = run.interrupt()
    equal(list(rows[0]), ["t_ns", "wall_ns", *titles, "sweep_ns", "missed"], "titles")
    for column, title in enumerate(titles):
        seen = []
        for row in rows:
            if not seen or seen[-1] != row[title]:
                seen.append(row[title])
        written = []
        for values in expected:
            if not written or written[-1] != values[column]:
                written.append(values[column])
        equal(seen, written, f"values of {title}, in their order")
    equal([rows[-1][title] for title in titles], expected[-1], "the last row")
    equal(total_of(out, "cxi0", names[0]), [str(39 * 1000003), "B", str(39 * 1000003), "-"],
          "total of " + names[0])
    for line in run.lines():
        if line.startswith("# anchor_mono_ns="):
            anchors = dict(word.split("=") for word in line.split()[1:3])
    shift = int(anchors["anchor_wall_ns"])
    check(all(int(row["wall_ns"]) - int(row["t_ns"]) == shift for row in rows), "wall_ns and t_ns")


def case_wrap(program, root):
    most = 2**56
    place = cxi(root, {"hni_sts_tx_ok_octets": most - 10, "pct_spt_timeouts": most - 1000})
    run = Run(program, ["--interval", "2", *roots(root)], f"{root}/wrap.csv")
    run.wait("cxi0:hni_sts_tx_ok_octets", most - 10, "the first value")
    run.wait("cxi0:pct_spt_timeouts", most - 1000, "the first value")
    rewrite(f"{place}/hni_sts_tx_ok_octets", telemetry(5))
    run.wait("cxi0:hni_sts_tx_ok_octets", 5, "the value behind the wrap")
    # All ones are what a dead device gives: no value, and no step to it or back.
    rewrite(f"{place}/pct_spt_timeouts", telemetry(most - 1))
    run.wait("cxi0:pct_spt_timeouts", "", "the empty field")
    rewrite(f"{place}/pct_spt_timeouts", telemetry(most - 998))
    run.wait("cxi0:pct_spt_timeouts", most - 998, "the value behind it")
    _, out = run.interrupt()
    equal(total_of(out, "cxi0", "hni_sts_tx_ok_octets"), ["15", "B", "5", "wraps=1"], "total")
    total, _, _, doubts = total_of(out, "cxi0", "pct_spt_timeouts")
    equal((total, doubts.split("=")[0]), ("2", "invalid"), "total and doubts of the other")
    check("-" not in out.replace("\t-", ""), "something is negative: " + out)


def case_unplug(program, root):
    names = {"hni_sts_tx_ok_octets": 100, "hni_pkts_sent_by_tc_0": 7}
    place = cxi(root, names)
    run = Run(program, ["--interval", "5", *roots(root)], f"{root}/unplug.csv")
    run.wait("cxi0:hni_sts_tx_ok_octets", 100, "the first value")
    shutil.rmtree(place)
    rows = run.wait("cxi0:hni_sts_tx_ok_octets", "", "the device that is gone")
    equal(rows[-1]["cxi0:hni_pkts_sent_by_tc_0"], "", "the other counter")
    for name in names:
        write(f"{place}/{name}", telemetry(40))
    run.wait("cxi0:hni_sts_tx_ok_octets", 40, "the device that is back")
    rewrite(f"{place}/hni_sts_tx_ok_octets", telemetry(45))
    run.wait("cxi0:hni_sts_tx_ok_octets", 45, "a value behind it")
    rows, out = run.interrupt()
    check("cxi0 was gone 1 times and returned 1 times\n" in out, "gone and returned: " + out)
    check("0" not in {row["cxi0:hni_sts_tx_ok_octets"] for row in rows}, "missing became 0")
    # 100 to 40 is a reset: nobody knows what was in between. 40 to 45 counts.
    total, unit, last, doubts = total_of(out, "cxi0", "hni_sts_tx_ok_octets")
    equal((total, unit, last), (">=5", "B", "45"), "total")
    check(doubts.startswith("missing=") and doubts.endswith(",resets=1"), "doubts: " + doubts)


def shown(text):
    return text if len(text) <= 64 else text[:64] + "..."


def case_arguments(program, root):
    cxi(root, {"hni_sts_tx_ok_octets": 1})
    write(f"{root}/there", "precious")
    for arguments, expected in (
            (["--interval", "0"], "--interval: found '0', allowed: 1 to 3600000 milliseconds"),
            (["--interval", "5x"], "--interval: found '5x', allowed: 1 to 3600000 milliseconds"),
            (["--duration", "-1"], "--duration: found '-1', allowed: 0.001 to 1000000000 seconds"),
            (["--duration", "nan"], "--duration: found 'nan', allowed: 0.001 to 1000000000 seconds"),
            (["--devices", "cxi7"], "--devices: found 'cxi7', allowed: all, cxi0"),
            (["--counters", "no_such"], "--counters: no NIC that is sampled has a counter 'no_such'"),
            (["--csv", f"{root}/there"], f"--csv: found '{shown(root + '/there')}', allowed: a file that is not "
                                         "there yet and can be written (File exists)"),
            (["--sys-root", f"{root}/no"], f"--sys-root: found '{shown(root + '/no')}', allowed: an existing "
                                           "directory"),
            (["--run-root", f"{root}/there"], f"--run-root: found '{shown(root + '/there')}', allowed: an "
                                              "existing directory"),
            (["--interval"], "--interval: found 'nothing', allowed: a value behind it; see "
                             "fabscope-nic --help"),
            (["--frob"], "argument: found '--frob', allowed: see fabscope-nic --help"),
            (["--list", "--csv", "x"], "--list: found '--csv or --duration beside it', allowed: "
                                       "--list samples nothing")):
        done = subprocess.run([program, *roots(root), *arguments], text=True, capture_output=True,
                              timeout=30)
        equal((done.returncode, done.stdout, done.stderr), (2, "", f"fabscope-nic: {expected}\n"),
              " ".join(arguments))
    with open(f"{root}/there") as file:
        equal(file.read(), "precious", "a file that was there")
    done = subprocess.run([program, "--sys-root", fresh(f"{root}/empty")], text=True,
                          capture_output=True, timeout=30)
    equal((done.returncode, done.stderr),
          (1, f"fabscope-nic: no NIC in {root}/empty/class/cxi, infiniband and net\n"), "no NIC")
    full = subprocess.run(f"'{program}' {' '.join(roots(root))} --interval 1 --duration 20 --csv - "
                          "> /dev/full", shell=True, text=True, capture_output=True, timeout=15)
    equal(full.returncode, 1, "status on a full disk")
    check("samples are missing in '-'" in full.stderr, "what is said of a full disk: " + full.stderr)


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]](sys.argv[2], fresh(sys.argv[3]))
