#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the synthetic host with a profiler and compares the files with the host's own totals.

Usage: play.py FOLDER HOST_PROGRAM HOST_LIBRARY PLUGIN CASE...   where a case is name:argument=value,...
"""
import json
import os
import shutil
import subprocess
import sys

FOLDER, PROGRAM, LIBRARY, PLUGIN = sys.argv[1:5]
COLL = ["coll", "coll_algo", "coll_proto", "coll_sn", "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source",
        "coll_algobw_gbs", "coll_busbw_gbs"]
P2P = ["p2p", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes", "p2p_exec_time_us", "p2p_timing_source", "p2p_algobw_gbs",
       "p2p_busbw_gbs"]
HEADER = ["id", "comm_name", "rank", "n_ranks", "nnodes"]
METADATA = ["inspector_output_format_version", "git_rev", "rec_mechanism", "dump_timestamp_us", "hostname", "pid"]
BUS = {"AllReduce": 2 * 7 / 8, "AllGather": 7 / 8, "ReduceScatter": 7 / 8}
PARTS = {"AllGather": 8, "ReduceScatter": 8}


def strict(pairs):
    keys = [k for k, _ in pairs]
    assert len(set(keys)) == len(keys), f"a key twice: {keys}"
    return dict(pairs)


def run(name, settings):
    """Output of the host, the lines of coll.jsonl, the report."""
    where = os.path.join(FOLDER, name)
    shutil.rmtree(where, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FABSCOPE", "NCCL"))}
    env.update(FABSCOPE_DIR=where, FABSCOPE="record")
    command = [PROGRAM, "--host", LIBRARY, "--plugin", PLUGIN]
    for key, value in settings.items():
        if key.isupper():
            env[key] = value
        else:
            command += ["--" + key, value]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stderr}"
    files = sorted(os.listdir(where)) if os.path.isdir(where) else []
    text = {f.split(".", 4)[-1]: open(os.path.join(where, f), encoding="utf-8").read() for f in files}
    lines = text.get("coll.jsonl", "").splitlines()
    return json.loads(done.stdout), [json.loads(x, object_pairs_hook=strict) for x in lines], text.get("report.txt", "")


def section(report, title):
    if f"\n== {title} ==\n" not in report:
        return []
    body = report.split(f"\n== {title} ==\n")[1].split("\n== ")[0]
    return [x for x in body.splitlines() if x and not x.startswith("#")]


def ignored(report):
    out = {}
    for line in section(report, "collective events not used")[1:]:
        reason = json.JSONDecoder().raw_decode(line)[0] if line[0] == '"' else line.split()[0]
        out[reason] = out.get(reason, 0) + int(line.split()[-1])
    return out


def check_records(name, host, lines, settings):
    assert list(lines[0]) == ["metadata", "fabscope"], f"{name}: first line {lines[0]}"
    assert list(lines[-1])[-1] == "dump_stats", f"{name}: last line {lines[-1]}"
    channels = int(settings.get("channels", 4))
    kernels = host["version"] >= 3 and host["mask"] & 0x40
    gpu = kernels and host["version"] >= 4 and settings.get("timing", "gpu") == "gpu"
    source = "kernel_gpu" if gpu else "kernel_cpu" if kernels else "collective_cpu"
    sums = {}
    numbers = {}
    for line in lines[1:-1]:
        assert list(line)[:2] == ["header", "metadata"] and list(line["header"]) == HEADER, f"{name}: {line}"
        assert list(line["metadata"]) == METADATA, f"{name}: {line}"
        kind = "coll_perf" if "coll_perf" in line else "p2p_perf"
        perf = line[kind]
        assert list(perf)[:len(COLL if kind[0] == "c" else P2P)] == (COLL if kind[0] == "c" else P2P), f"{name}: {perf}"
        key = kind.split("_")[0]
        what = perf[key]
        sum_ = sums.setdefault(line["header"]["id"], {}).setdefault(what, [0, 0])
        sum_[0] += 1
        sum_[1] += perf[key + "_msg_size_bytes"]
        place = (line["header"]["id"], perf[key + "_comm_generation"], what if kind[0] == "c" else "p2p")
        numbers.setdefault(place, []).append(perf[key + "_sn"])
        assert perf[key + "_timing_source"] == source, f"{name}: {perf}"
        if host["version"] >= 4:
            rank = int(line["header"]["id"], 16) & 0xffff
            assert line["header"]["comm_name"] == f'group {rank} "x"\n' and line["header"]["rank"] == rank, f"{name}: {line}"
        if kernels:
            assert perf[key + "_channels"] == min(channels, 255), f"{name}: {perf}"
        if gpu:
            longest = 5000 + 10 * (channels - 1)
            span = 5000 + 110 * (channels - 1)
            assert perf[key + "_longest_channel_ns"] == longest and perf[key + "_span_ns"] == span, f"{name}: {perf}"
            assert perf[key + "_exec_time_us"] == longest // 1000, f"{name}: {perf}"
            algorithm = perf[key + "_msg_size_bytes"] * PARTS.get(what, 1) / longest
            bus = algorithm * BUS.get(what, 1)
            for value, expected in ((perf[key + "_algobw_gbs"], algorithm), (perf[key + "_busbw_gbs"], bus)):
                assert abs(value - expected) <= 1e-9 * expected, f"{name}: {perf}"
        if not kernels:
            assert perf[key + "_busbw_gbs"] is None, f"{name}: {perf}"
    assert sums == host["collectives"], f"{name}: records {sums}\nhost {host['collectives']}"
    for place, seen in numbers.items():
        assert len(set(seen)) == len(seen), f"{name}: a sequence number twice in {place}"
    stats = lines[-1]["dump_stats"]
    assert stats["coll_records"] + stats["p2p_records"] == len(lines) - 2 and stats["lost"] == 0, f"{name}: {stats}"


def check_report(name, host, report, settings):
    counts = {}
    for line in section(report, "collectives"):
        if not line.startswith("  ") or line.split()[0] == "function":
            continue
        cells = line.split()
        one = counts.setdefault(cells[0], [0, 0])
        one[0] += int(cells[2])
        one[1] += int(cells[3])
    wanted = {}
    for kinds in host["collectives"].values():
        for what, (count, size) in kinds.items():
            one = wanted.setdefault(what, [0, 0])
            one[0] += count
            one[1] += size
    # Rows are bounded: what found no place is summed without its function.
    other = counts.pop("unknown", [0, 0])
    missing = [sum(one[i] for one in wanted.values()) - sum(one[i] for one in counts.values()) for i in (0, 1)]
    assert missing == other, f"{name}: report {counts} {other}\nhost {wanted}\n{report}"
    assert other[0] != 0 or counts == wanted, f"{name}: report {counts}\nhost {wanted}\n{report}"
    assert all(counts[what][0] <= wanted[what][0] for what in counts), f"{name}: report {counts}\nhost {wanted}"
    seen = ignored(report)
    expected = dict(host["ignored"])
    # A second stop is one of both kinds, as the threads come.
    either = expected.pop("repeated or stale", 0)
    got = seen.pop("repeated", 0) + seen.pop("stale handle", 0)
    assert got == either + expected.pop("repeated", 0) + expected.pop("stale handle", 0), f"{name}: {seen} {host}"
    assert seen == expected, f"{name}: ignored {seen}, host {expected}\n{report}"


def main():
    for case in sys.argv[5:]:
        name, _, rest = case.partition(":")
        settings = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
        host, lines, report = run(name, settings)
        assert host["version"] == int(settings.get("version", 7)), f"{name}: table of version {host['version']}"
        if "control" in settings:
            assert host["skipped"] == int(settings["ops"]) // 3, f"{name}: {host['skipped']} operations while stopped"
        if settings.get("FABSCOPE") == "off":
            assert host["mask"] == 0 and not lines and not report, f"{name}: something was recorded"
        elif settings.get("FABSCOPE") == "count":
            assert host["mask"] == 0x6 and not lines, f"{name}: {host['mask']}"
            check_report(name, host, report, settings)
        elif settings.get("FABSCOPE_OUTPUTS") == "report":  # more than is worth writing: sums and losses
            check_report(name, host, report, settings)
            produced = sum(count for kinds in host["collectives"].values() for count, _ in kinds.values())
            wanted = f"records: produced {produced} == written 0 + dropped 0 + overwritten 0 + filtered {produced}"
            assert wanted in report, f"{name}: not '{wanted}'\n{report}"
        else:
            assert host["mask"] == int(settings.get("FABSCOPE_NCCL_EVENTS", "0x46"), 0) and host["logged"] == (1 if host["version"] >= 4 else 0), \
                f"{name}: {host}"
            check_records(name, host, lines, settings)
            check_report(name, host, report, settings)
        print(f"{name}: {max(len(lines) - 2, 0)} records")


main()
