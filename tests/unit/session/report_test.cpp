// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <fabscope/session/report.hpp>
#include <string>
#include <vector>

#include "segment_fixture.hpp"

namespace fs = fabscope;
using namespace segment_test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return out;
}

/// The lines of a section; empty if it is not there.
std::vector<std::string> section_of(const std::string& text, const std::string& title) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (line.rfind("== ", 0) == 0)
      inside = line == "== " + title + " ==";
    else if (inside && !line.empty())
      out.push_back(line);
  }
  return out;
}

/// Words of a line, as a program that reads the report would split it.
std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
    const std::size_t end = line.find(' ', at);
    out.push_back(line.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end;
  }
  return out;
}

void fill_link(fs::link_row& row, std::uint32_t nic, std::uint32_t local, std::uint32_t remote,
               fs::operation op, std::uint64_t bytes, std::uint64_t span, int count) {
  row.used = fs::row_in_use;
  row.nic = nic;
  row.local = local;
  row.remote = remote;
  row.op = static_cast<std::uint8_t>(op);
  row.size = fs::size_class(bytes);
  for (int i = 0; i < count; ++i) row.add(span, bytes);
}

using row = std::vector<std::string>;

}  // namespace

TEST_CASE("session.report: an empty segment says who it was and that nothing stands out") {
  made_segment made;
  const auto view = made.view();
  const std::string text = fs::render_report(view);
  CHECK(lines_of(text)[0] == "fabscope 0.1.0 report");
  const std::vector<std::string> expected{"host      node7",
                                          "rank      3",
                                          "local     1",
                                          "ranks     8",
                                          "pid       4242",
                                          "command   \"./app --size 5\"",
                                          "launcher  slurm",
                                          "job       unknown",
                                          "level     record",
                                          "clock     monotonic",
                                          "begin     2027-01-15T08:00:00.123456Z",
                                          "duration  2.000 s",
                                          "end       finished"};
  CHECK(section_of(text, "process") == expected);
  CHECK(section_of(text, "what to look at") == std::vector<std::string>{"nothing stands out"});
  CHECK(section_of(text, "losses")[0] ==
        "records: produced 0 == read 0 + overwritten 0 + unread 0");
  CHECK(section_of(text, "own cost")[0] ==
        "collector  4.000 ms CPU, 0.200 % of a core, 200 rounds");
  for (const char* title : {"nics", "links", "operations", "completion queues", "scopes", "steps",
                            "errors", "retries", "never completed", "not timed"}) {
    CHECK(text.find("== " + std::string(title) + " ==") == std::string::npos);
  }
}

TEST_CASE("session.report: what is not known is called unknown") {
  made_segment made;
  auto& head = made.base().head;
  head.rank = head.local_rank = head.size = -1;
  head.begin.realtime_ns = 0;
  head.latest = head.begin;
  head.state = static_cast<std::uint32_t>(fs::segment_format::state::live);
  auto* nic = made.rows<fs::nic_row>(0, 1);
  nic->used = fs::row_in_use;
  nic->nic = made.label("tcp#1");
  nic->out_ops = 5;
  nic->out_bytes = 500;
  const auto view = made.view();
  const std::string text = fs::render_report(view);
  const auto process = section_of(text, "process");
  CHECK(process[1] == "rank      unknown");
  CHECK(process[10] == "begin     unknown");
  CHECK(process[11] == "duration  unknown");
  CHECK(process[12] == "end       not finished: the process runs or was killed");
  CHECK(words(section_of(text, "nics")[1]) ==
        row{"tcp#1", "unknown", "5", "500", "unknown", "unknown", "unknown", "0", "0"});
}

TEST_CASE("session.report: links of several threads are merged and stand in order") {
  made_segment made;
  const auto nic = made.label("tcp");
  const auto b = made.label("fi_addr://b");
  const auto a = made.label("fi_addr://a");
  auto* one = made.rows<fs::link_row>(0, 4);
  auto* two = made.rows<fs::link_row>(1, 4);
  fill_link(one[0], nic, b, a, fs::operation::write, 1000, 500, 10);
  fill_link(one[1], nic, a, b, fs::operation::send, 65536, 4000, 3);
  fill_link(two[0], nic, a, b, fs::operation::send, 65536, 2000, 1);
  fill_link(two[1], nic, a, b, fs::operation::recv, 100, 9000, 2);
  fill_link(two[2], nic, a, 0, fs::operation::inject, 8, 50, 2);
  two[3].used = fs::row_is_other;
  two[3].add(100, 7);
  auto* failed = made.rows<fs::link_error_row>(1, 2);
  for (int i = 0; i < 2; ++i) {
    failed[i].used = fs::row_in_use;
    failed[i].nic = nic;
    failed[i].local = a;
    failed[i].remote = b;
    failed[i].op = static_cast<std::uint8_t>(fs::operation::send);
    failed[i].stage = static_cast<std::uint8_t>(fs::failure_stage::completion);
    failed[i].count = 2;
  }
  failed[0].error = 125;
  failed[1].error = 265;

  const auto view = made.view();
  const std::string text = fs::render_report(view);
  const auto links = section_of(text, "links");
  REQUIRE(links.size() == 14);
  CHECK(words(links[0]) == row{"kind", "size", "count", "bytes", "errors", "min_us", "p50_us",
                               "p99_us", "avg_us", "max_us", "GB/s", "level"});
  CHECK(links[1] == "(other) -> (other)  nic (other)");
  CHECK(words(links[2])[0] == "(other)");
  CHECK(links[3] == "fi_addr://a -> fi_addr://b  nic tcp");
  CHECK(words(links[4]) == row{"fi_recv", "100", "2", "200", "0", "9.000", "<=9.000", "<=9.000",
                               "9.000", "9.000", "-", "default"});
  CHECK(words(links[5]) == row{"fi_send", "65536", "4", "262144", "0", "2.000", "<=4.000",
                               "<=4.000", "3.500", "4.000", "18.725", "default"});
  CHECK(words(links[6]) ==
        row{"fi_send", "failed", "0", "0", "4", "-", "-", "-", "-", "-", "-", "-"});
  CHECK(links[7] == "fi_addr://a -> unknown  nic tcp");
  CHECK(words(links[8])[10] == "-");
  CHECK(links[9] == "fi_addr://b -> fi_addr://a  nic tcp");
  CHECK(words(links[10])[10] == "2.000");
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 110);

  CHECK(words(section_of(text, "errors")[1]) ==
        row{"fi_send", "FI_ECANCELED(125)", "completion", "2", "0", "fi_addr://a", "fi_addr://b"});
  CHECK(section_of(text, "what to look at")[0] ==
        "- 4 operations failed; most often FI_ECANCELED(125) (2): fi_send fi_addr://a -> "
        "fi_addr://b");
}

TEST_CASE("session.report: the fine quantiles of a link that is alone on its NIC") {
  made_segment made;
  auto* link = made.rows<fs::link_row>(0, 1);
  auto* fine = made.rows<fs::nic_histogram_row>(0, 1);
  const auto nic = made.label("tcp");
  fill_link(link[0], nic, made.label("a"), made.label("b"), fs::operation::write, 64, 1000, 99);
  link[0].add(50000, 65);
  fine[0].used = fs::row_in_use;
  fine[0].nic = nic;
  fine[0].op = link[0].op;
  fine[0].size = link[0].size;
  using scale = fs::nic_histogram_row::scale;
  fine[0].histogram[scale::bucket_of(1000)] = 99;
  fine[0].histogram[scale::bucket_of(50000)] = 1;
  const auto view = made.view();
  const std::string text = fs::render_report(view);
  const auto cells = words(section_of(text, "links")[2]);
  CHECK(cells[1] == "~64");
  CHECK(cells[6].rfind("1.0", 0) == 0);
  CHECK(cells[7].rfind("1.0", 0) == 0);
  const auto kinds = words(section_of(text, "operations")[1]);
  CHECK(kinds[2] == "64+");
  CHECK(kinds[4] == "100");
  CHECK(std::stod(kinds[8]) == doctest::Approx(50.0).epsilon(0.008));
}

TEST_CASE("session.report: busy time, achieved bandwidth and the share of the line rate") {
  made_segment made;
  auto* one = made.rows<fs::nic_row>(0, 1);
  auto* two = made.rows<fs::nic_row>(1, 2);
  one->used = two->used = fs::row_in_use;
  one->nic = two->nic = made.label("cxi0");
  one->out_ops = 10;
  one->out_bytes = 4000000;
  two->in_ops = 5;
  two->in_bytes = 1000000;
  two->received_ops = 7;
  two->received_bytes = 70;
  one->busy = 1000000;
  one->busy_uncertain = 500000;
  one->line_rate = 200000000000;
  one->device = made.label("hsn0");
  two[1].used = fs::row_in_use;
  two[1].nic = made.label("cxi1");
  two[1].received_ops = 1;
  const auto view = made.view();
  const auto nics = section_of(fs::render_report(view), "nics");
  REQUIRE(nics.size() == 4);
  CHECK(words(nics[1]) ==
        row{"cxi0", "hsn0", "15", "5000000", "1.000", "5.000", "20.0", "7", "70"});
  CHECK(words(nics[2]) == row{"cxi1", "unknown", "0", "0", "-", "-", "-", "1", "0"});
  CHECK(nics[3] == "# cxi0: busy from 1.000 to 1.500 ms");
}

TEST_CASE("session.report: poll gaps, retries, endings without completion, untimed operations") {
  made_segment made;
  const auto nic = made.label("tcp");
  made.thread(64, 901, "main");
  auto* queue = made.rows<fs::cq_row>(0, 1);
  queue->used = fs::row_in_use;
  queue->nic = nic;
  queue->cq = made.label("tcp cq 1");
  queue->polls = 100;
  queue->productive = 30;
  queue->entries = 40;
  queue->most = 3;
  queue->capacity = 64;
  queue->overruns = 1;
  queue->errors = 4;
  queue->blocking = 5;
  queue->blocked = 7000000;
  queue->gap[0] = 97;
  queue->gap[3] = 2;
  queue->longest = 5250000;
  queue->longest_end = 1500000000;
  auto* errors = made.rows<fs::link_error_row>(0, 2);
  errors[0].used = errors[1].used = fs::row_in_use;
  errors[0].error = EAGAIN;
  errors[0].count = 12;
  errors[0].stall = 3000000;
  errors[0].stall_max = 900000;
  errors[0].op = static_cast<std::uint8_t>(fs::operation::write);
  errors[1].stage = static_cast<std::uint8_t>(fs::failure_stage::closed);
  errors[1].count = 3;
  errors[1].bytes = 30;
  errors[1].op = static_cast<std::uint8_t>(fs::operation::recv);
  auto* tally = made.rows<fs::tally_row>(0, 1);
  tally->used = fs::row_in_use;
  tally->what = made.label("selective completion");
  tally->subject = made.label("fi_write");
  tally->count = 9;
  const auto view = made.view();
  const std::string text = fs::render_report(view);
  CHECK(section_of(text, "completion queues")[0].find("<10us") != std::string::npos);
  CHECK(section_of(text, "completion queues")[1].rfind("\"tcp cq 1\"  901", 0) == 0);
  const auto cells = words(section_of(text, "completion queues")[1]);
  CHECK(row(cells.begin() + 3, cells.end()) ==
        row{"901", "100", "40", "70", "97", "0", "0", "2", "0", "0", "5.250", "+0.500"});
  const auto reads = words(section_of(text, "reads of completion queues")[1]);
  CHECK(row(reads.begin() + 3, reads.end()) ==
        row{"901", "1.33", "3", "64", "1", "4", "5", "7.000", "<10us", "<10ms", "<10ms"});
  CHECK(words(section_of(text, "retries")[1]) ==
        row{"fi_write", "12", "3.000", "0.900", "unknown", "unknown"});
  CHECK(words(section_of(text, "never completed")[1]) ==
        row{"fi_recv", "3", "30", "unknown", "unknown"});
  CHECK(section_of(text, "not timed")[1] == "\"selective completion\"  fi_write      9");
  CHECK(section_of(text, "errors").empty());
  const auto found = section_of(text, "what to look at");
  REQUIRE(found.size() == 3);
  CHECK(found[0] ==
        "- 3 operations never completed: their endpoint was closed before; 3 of them fi_recv "
        "unknown -> unknown");
  CHECK(found[1].rfind("- 12 calls had to be repeated (FI_EAGAIN), which took 3.000 ms in all",
                       0) == 0);
  CHECK(found[2] ==
        "- the longest gap between two polls of \"tcp cq 1\" was 5.250 ms, by thread 901, until "
        "+0.500 s; 2 gaps were 1 ms or longer");
}

TEST_CASE("session.report: the slowest of several links is named, a pair of links is not") {
  for (const int links : {2, 5}) {
    CAPTURE(links);
    made_segment made;
    const auto nic = made.label("tcp");
    auto* rows = made.rows<fs::link_row>(0, 5);
    for (int i = 0; i < links; ++i) {
      fill_link(rows[i], nic, made.label("me"), made.label("peer" + std::to_string(i)),
                fs::operation::write, 4096, i == 1 ? 40000 : 10000, 25);
    }
    const auto view = made.view();
    const auto found = section_of(fs::render_report(view), "what to look at");
    REQUIRE(found.size() == 1);
    if (links == 2) CHECK(found[0] == "nothing stands out");
    if (links == 5) {
      CHECK(found[0] ==
            "- the slowest link is me -> peer1: fi_write of 4096 B takes 40.000 us on average, the "
            "median of the other 4 links is 10.000 us");
    }
  }
}

TEST_CASE("session.report: scopes by total time; steps of the rings with the slow one named") {
  made_segment made;
  const auto app = made.label("app");
  const auto names = {made.label("small"), made.label("big one")};
  auto* rows = made.rows<fs::scope_row>(0, 2);
  int at = 0;
  for (const auto name : names) {
    rows[at].used = fs::row_in_use;
    rows[at].domain = app;
    rows[at].name = name;
    for (int i = 0; i < 10; ++i) rows[at].add(at == 0 ? 1000 : 100000, at == 0 ? 0 : 1000);
    ++at;
  }
  const auto thread = made.thread(64, 77, "worker");
  for (int i = 0; i < 100; ++i) {
    fs::step_record step;
    step.header.ticks = 1000000000 + static_cast<std::uint64_t>(i) * 10000000;
    step.end = step.header.ticks + (i == 90 ? 9000000 : 1000000);
    step.number = i;
    made.push(thread, step);
  }
  const auto view = made.view();
  const std::string text = fs::render_report(view);
  const auto scopes = section_of(text, "scopes");
  REQUIRE(scopes.size() == 3);
  CHECK(scopes[1].rfind("\"app/big one\"", 0) == 0);
  const auto cells = words(scopes[1]);
  CHECK(row(cells.begin() + 2, cells.end()) ==
        row{"10", "1.000", "100.000", "100.000", "100.000", "10000", "0.010"});
  CHECK(words(scopes[2]) == row{"app/small", "10", "0.010", "1.000", "1.000", "1.000", "0", "-"});
  const auto steps = section_of(text, "steps");
  CHECK(steps[0] == "of the last 63 kept: median 1.000 ms, longest 9.000 ms; the slowest:");
  CHECK(words(steps[2]) == row{"90", "9.000", "+0.900", "77"});
  CHECK(section_of(text, "what to look at")[0] ==
        "- step 90 took 9.000 ms, the median of the last 63 is 1.000 ms");
}

TEST_CASE("session.report: every term of the losses is printed, per ring and per output") {
  made_segment made;
  const auto thread = made.thread(64, 77, "worker");
  for (int i = 0; i < 100; ++i) made.push(thread, fs::step_record{});
  auto& entry = made.base().threads[thread];
  entry.next = 90;
  entry.read = 53;
  entry.overwritten = 37;
  const auto view = made.view();
  std::string text = fs::render_report(view);
  auto losses = section_of(text, "losses");
  CHECK(losses[0] == "records: produced 100 == read 53 + overwritten 37 + unread 10");
  CHECK(words(losses[2]) == row{"worker", "77", "100", "53", "37", "10", "64"});
  CHECK(section_of(text, "what to look at")[0].rfind("- 37 records were overwritten", 0) == 0);

  fs::report_extra extra;
  extra.has_totals = true;
  extra.totals.produced = 100;
  extra.totals.written = 40;
  extra.totals.dropped = 8;
  extra.totals.overwritten = 37;
  extra.totals.filtered = 5;
  extra.totals.unread = 10;
  extra.outputs.push_back({"ops.csv", "/some where/x.ops.csv", 53, 0, 40, 8, 5, "FABSCOPE_MAX_MB",
                           "set FABSCOPE_MAX_MB higher"});
  extra.notes.push_back("not kill-safe: /dev/shm has less than 16 times the segment free");
  text = fs::render_report(view, extra);
  losses = section_of(text, "losses");
  CHECK(losses[0] ==
        "records: produced 100 == written 40 + dropped 8 + overwritten 37 + filtered 5 + unread "
        "10");
  REQUIRE(losses.size() == 5);
  CHECK(losses[4] ==
        "ops.csv       53       40     8         5            0  FABSCOPE_MAX_MB  \"/some "
        "where/x.ops.csv\"");
  CHECK(section_of(text, "process").back() ==
        "note      not kill-safe: /dev/shm has less than 16 times the segment free");
  CHECK(section_of(text, "what to look at")[1] ==
        "- 8 rows are missing in ops.csv: set FABSCOPE_MAX_MB higher");
}

TEST_CASE(
    "session.report: the same segment gives the same text, however its labels were numbered") {
  std::string first;
  for (const bool reversed : {false, true}) {
    made_segment made;
    if (reversed) {
      for (const char* text : {"c", "b", "a", "tcp"}) made.label(text);
    }
    const auto nic = made.label("tcp");
    auto* rows = made.rows<fs::link_row>(0, 3);
    int at = 0;
    for (const char* peer : {"a", "b", "c"}) {
      fill_link(rows[reversed ? 2 - at : at], nic, made.label("b"), made.label(peer),
                fs::operation::write, 64, 1000, 5);
      ++at;
    }
    const auto view = made.view();
    const std::string text = fs::render_report(view);
    CHECK(fs::render_report(view) == text);
    if (first.empty()) first = text;
    CHECK(text == first);
  }
}
