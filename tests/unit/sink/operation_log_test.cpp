// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <fabscope/sink/operation_log.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/timer_csv.hpp>
#include <random>
#include <vector>

#include "sink_fixture.hpp"

namespace {

namespace fs = fabscope;
using fs::operation;
using fs::operation_record;
using sink_test::answers;
using sink_test::memory_file;

operation_record made(operation op, std::uint64_t begin, std::uint64_t bytes) {
  operation_record out;
  out.header = {3, sizeof out, 2, begin};
  out.end = begin + 1500;
  out.bytes = bytes;
  out.local = 3;
  out.remote = 4;
  out.nic = 5;
  out.op = static_cast<std::uint8_t>(op);
  out.level = 2;
  return out;
}

bool same(const operation_record& a, const operation_record& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Operations as a program has them: a window of sends in turn to some peers, of few sizes.
std::vector<operation_record> traffic(std::size_t count, std::uint32_t peers) {
  std::mt19937_64 random(7);
  std::vector<operation_record> out;
  std::uint64_t now = 1000000000;
  for (std::size_t i = 0; i < count; ++i) {
    now += 300 + random() % 3000;
    operation_record one = made(i % 3 == 0 ? operation::trecv : operation::tsend, now, 0);
    one.end = now + 5000 + random() % 400000;
    one.bytes = std::uint64_t{64} << (random() % 4) * 4;
    one.remote = 10 + static_cast<std::uint32_t>(random() % peers);
    one.parent = std::uint64_t{1} << 56 | i / 50;
    out.push_back(one);
  }
  return out;
}

TEST_CASE("sink.operation_spool: gives back what was put, in order and to the bit") {
  std::mt19937_64 random(1);
  const auto any = [&] { return random() >> random() % 64; };
  fs::detail::operation_spool spool(1 << 20);
  std::vector<operation_record> all;
  std::size_t taken = 0;
  for (int i = 0; i < 200000; ++i) {
    operation_record one;
    one.header = {static_cast<std::uint16_t>(any()), static_cast<std::uint16_t>(any()),
                  static_cast<std::uint32_t>(any()), any()};
    one.end = any();
    one.bytes = any();
    one.parent = any();
    one.local = static_cast<std::uint32_t>(random() % 3);
    one.remote = static_cast<std::uint32_t>(any());
    one.nic = static_cast<std::uint32_t>(random() % 2);
    one.error = static_cast<std::int32_t>(any());
    one.op = static_cast<std::uint8_t>(random() % 30);
    one.level = static_cast<std::uint8_t>(random() % 6);
    one.flags = static_cast<std::uint16_t>(any());
    one.retries = static_cast<std::uint32_t>(any());
    all.push_back(one);
    while (!spool.put(one)) {
      REQUIRE(!spool.empty());
      for (std::uint64_t n = random() % 5000; n != 0 && !spool.empty(); --n) {
        REQUIRE(same(spool.take(), all[taken]));
        ++taken;
      }
    }
  }
  CHECK(taken > 0);  // it was full
  CHECK(spool.most_held() <= 1 << 20);
  CHECK(spool.size() == all.size() - taken);
  while (!spool.empty()) REQUIRE(same(spool.take(), all[taken++]));
  CHECK(taken == all.size());
  CHECK(spool.bytes() == 0);
}

TEST_CASE("sink.operation_spool: at most 16 bytes per operation") {
  for (const std::uint32_t peers : {1U, 64U, 4096U}) {
    fs::detail::operation_spool spool(64 << 20);
    for (const operation_record& one : traffic(100000, peers)) REQUIRE(spool.put(one));
    const double each = static_cast<double>(spool.bytes()) / static_cast<double>(spool.size());
    MESSAGE(peers << " peers: " << each << " bytes per operation");
    CHECK(each <= 16);
    CHECK(spool.most_held() < spool.bytes() + 2 * fs::detail::operation_spool::chunk_bytes);
  }
}

TEST_CASE(
    "sink.operation_log: rows are the same as without it, and written in work or at the end") {
  answers known;
  const fs::sink_context about = known.context();
  std::vector<operation_record> all = traffic(1000, 1);
  for (operation_record& one : all) one.remote = 4;
  memory_file direct;
  memory_file logged;
  fs::operations_csv_sink plain(direct.options());
  plain.consume(all, about);
  plain.finish(about);
  fs::operation_log<fs::operations_csv_sink> log({}, 1 << 20, logged.options());
  log.consume(all, about);
  CHECK(logged.opened == 0);
  CHECK(log.waiting().size() == 1000);
  CHECK(log.work(about));
  CHECK(log.rows().rows_written() + log.waiting().size() < 1001);
  log.flush(about);  // little waits
  CHECK(log.waiting().empty());
  log.finish(about);
  CHECK(logged.text() == direct.text());
  CHECK(log.rows().rows_written() == 1000);
}

TEST_CASE("sink.operation_log: more than its memory holds is written, not lost") {
  answers known;
  const fs::sink_context about = known.context();
  memory_file file;
  fs::operation_log<fs::operations_csv_sink> log({}, 1, file.options());
  const std::vector<operation_record> all = traffic(100000, 1);
  log.consume(all, about);
  CHECK(log.waiting().most_held() <= fs::detail::operation_spool::chunk_bytes);
  log.finish(about);
  CHECK(log.rows().rows_written() == all.size());
  CHECK(log.lost_total() == 0);
}

TEST_CASE("sink.operation_selection: remote name of sends, own name of receives; size; failures") {
  answers known;
  known.labels = {"", "ep://mine", "ep://theirs", "fi_addr_cxi://0x01ad0407"};
  const fs::sink_context about = known.context();
  using answer = fs::operation_selection::answer;
  operation_record send = made(operation::tsend, 1, 100);
  operation_record receive = made(operation::trecv, 1, 100);
  send.local = receive.local = 1;
  send.remote = receive.remote = 2;

  fs::operation_selection to_peer("theirs", {}, 0);
  CHECK(to_peer.ask(send, about) == answer::wanted);
  CHECK(to_peer.ask(receive, about) == answer::other_nic);
  fs::operation_selection own("mine", {}, 0);
  CHECK(own.ask(send, about) == answer::other_nic);
  CHECK(own.ask(receive, about) == answer::wanted);
  CHECK(own.ask(made(operation::write, 1, 1), about) == answer::other_nic);

  fs::operation_selection large("", {}, 101);
  CHECK(large.ask(send, about) == answer::too_small);
  send.error = 5;
  CHECK(large.ask(send, about) == answer::wanted);
  send.error = 0;
  send.flags = operation_record::abandoned;
  CHECK(large.ask(send, about) == answer::wanted);
  send.bytes = 101;
  send.flags = 0;
  CHECK(large.ask(send, about) == answer::wanted);

  send.flags = operation_record::untimed;
  CHECK(large.ask(send, about) == answer::wanted);
  CHECK(fs::operation_selection("", {}, 0, true).ask(send, about) == answer::untimed);
  send.flags = 0;

  send.remote = 3;  // 0x01ad0407 is process 7 of node 0xd682
  fs::operation_selection by_node("0xd682", 0xd682, 0);
  CHECK(by_node.ask(send, about) == answer::wanted);
  fs::operation_selection by_prefix("0x01ad04", 0x01ad04, 0);
  CHECK(by_prefix.ask(send, about) == answer::wanted);
  fs::operation_selection by_other("0xd683", 0xd683, 0);
  CHECK(by_other.ask(send, about) == answer::other_nic);
  send.remote = 0;  // nobody knows
  CHECK(by_node.ask(send, about) == answer::other_nic);
}

TEST_CASE("sink.operation_selection: a node id is what a Slingshot address says") {
  CHECK(fs::cxi_nid("fi_addr_cxi://0x01ad0407") == 0xd682);
  CHECK(fs::cxi_nid("fi_addr_cxi://0xffffffff") == 0xfffff);  // three bits are padding
  CHECK(!fs::cxi_nid("fi_addr_cxi://0x01ad040"));
  CHECK(!fs::cxi_nid("fi_addr_cxi://0x01ad040g"));
  CHECK(!fs::cxi_nid("192.0.2.1:5"));
}

TEST_CASE("sink.timer_csv: the columns of the replaced tool and nothing else") {
  answers known;
  const fs::sink_context about = known.context();
  memory_file file;
  fs::timer_csv_sink sink(file.options());
  operation_record send = made(operation::tsend, 5000, std::uint64_t{1} << 33);
  operation_record failed = made(operation::write, 6000, 12);
  failed.error = 265;
  operation_record closed = made(operation::recv, 7000, 13);
  closed.flags = operation_record::abandoned;
  closed.remote = 0;
  operation_record untimed = made(operation::send, 8000, 14);
  untimed.flags = operation_record::untimed;
  const operation_record all[] = {send, failed, closed, untimed};
  sink.consume(all, about);
  sink.finish(about);
  const std::vector<std::string> lines = file.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].rfind("# anchor_mono_ns=5000 anchor_wall_ns=70000  (", 0) == 0);
  CHECK(lines[1] == "start_ns,end_ns,dur_ns,op,bytes,local_nic,remote_nic,error");
  CHECK(lines[2] == "1000,2500,1500,fi_tsend,8589934592,fi_addr://a,fi_addr://b,0");
  CHECK(lines[3] == "2000,3500,1500,fi_write,12,fi_addr://a,fi_addr://b,1");
  CHECK(lines[4] == "3000,4500,1500,fi_recv,13,fi_addr://a,?,1");
  CHECK(sink.filtered_total() == 1);
  CHECK(sink.rows_written() == 3);
}

}  // namespace
