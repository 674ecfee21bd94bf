// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fabscope/ring/overwrite_ring.hpp>
#include <span>
#include <utility>
#include <vector>

namespace fs = fabscope;

namespace {

struct full_record {
  std::uint64_t word[8];
};
struct short_record {
  std::uint32_t a, b;
  std::uint64_t c;
};

full_record numbered(std::uint64_t n) {
  full_record r{};
  for (std::uint64_t i = 0; i < 8; ++i) r.word[i] = n * 8 + i;
  return r;
}

bool intact(const fs::slot_line& line, std::uint64_t n) {
  for (std::uint64_t i = 0; i < 8; ++i) {
    if (line.word[i] != n * 8 + i) return false;
  }
  return true;
}

template <std::size_t Capacity>
struct ring_memory {
  std::uint64_t head = 0;
  std::array<fs::slot_line, Capacity> slots{};
  fs::overwrite_writer writer{&head, slots.data(), Capacity - 1};
  fs::overwrite_reader reader{&head, slots.data(), Capacity - 1};
};

}  // namespace

TEST_CASE("ring.overwrite_ring: records come out in order while the reader keeps up") {
  ring_memory<8> m;
  fs::ring_cursor cursor;
  std::array<fs::slot_line, 4> out;
  CHECK(m.reader.poll(cursor, out).empty());
  std::uint64_t expected = 0;
  for (std::uint64_t n = 0; n < 100; n += 3) {
    for (std::uint64_t i = 0; i < 3; ++i) m.writer.push(numbered(n + i));
    const auto batch = m.reader.poll(cursor, out);
    REQUIRE(batch.size() == 3);
    for (const auto& line : batch) CHECK(intact(line, expected++));
  }
  CHECK(cursor.read == expected);
  CHECK(cursor.overwritten == 0);
  CHECK(m.writer.written_total() == expected);
}

TEST_CASE("ring.overwrite_ring: the newest capacity - 1 survive, the rest is counted") {
  ring_memory<8> m;
  for (std::uint64_t n = 0; n < 21; ++n) m.writer.push(numbered(n));
  fs::ring_cursor cursor;
  std::array<fs::slot_line, 16> out;
  const auto batch = m.reader.poll(cursor, out);
  REQUIRE(batch.size() == 7);
  for (std::uint64_t i = 0; i < 7; ++i) CHECK(intact(batch[i], 14 + i));
  CHECK(cursor.overwritten == 14);
  CHECK(cursor.read + cursor.overwritten == cursor.next);
  CHECK(cursor.next == 21);
}

TEST_CASE("ring.overwrite_ring: a torn slot of a stopped writer is outside what is read") {
  ring_memory<8> m;
  for (std::uint64_t n = 0; n < 21; ++n) m.writer.push(numbered(n));
  m.slots[21 & 7].word[3] = 0xdead;  // record 21 was begun and never published
  std::array<fs::slot_line, 16> out;
  std::uint64_t first = 0;
  const auto batch = m.reader.snapshot(out, &first);
  REQUIRE(batch.size() == 7);
  CHECK(first == 14);
  for (std::uint64_t i = 0; i < 7; ++i) CHECK(intact(batch[i], 14 + i));
}

TEST_CASE("ring.overwrite_ring: a snapshot into little space gives the newest") {
  ring_memory<16> m;
  std::array<fs::slot_line, 4> out;
  CHECK(m.reader.snapshot(out).empty());
  for (std::uint64_t n = 0; n < 10; ++n) m.writer.push(numbered(n));
  std::uint64_t first = 0;
  const auto batch = m.reader.snapshot(out, &first);
  REQUIRE(batch.size() == 4);
  CHECK(first == 6);
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(intact(batch[i], 6 + i));
}

TEST_CASE("ring.overwrite_ring: short records and words leave the other words alone") {
  ring_memory<2> m;
  m.writer.push(numbered(5));
  m.writer.push(numbered(6));
  m.writer.push(short_record{1, 2, 3});
  CHECK(m.slots[0].word[0] == (std::uint64_t{2} << 32 | 1));
  CHECK(m.slots[0].word[1] == 3);
  CHECK(m.slots[0].word[2] == 5 * 8 + 2);
  m.writer.push_words(std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{11});
  CHECK(m.slots[1].word[2] == 11);
  CHECK(m.slots[1].word[3] == 6 * 8 + 3);
  CHECK(m.head == 4);
}

TEST_CASE("ring.overwrite_ring: a live reader never sees a torn record and accounts for all") {
  static ring_memory<64> m;
  m.head = 0;
  static std::atomic<bool> done;
  done = false;
  constexpr std::uint64_t total = 200000;
  pthread_t writer;
  REQUIRE(pthread_create(
              &writer, nullptr,
              [](void*) -> void* {
                for (std::uint64_t n = 0; n < total; ++n) m.writer.push(numbered(n));
                done.store(true, std::memory_order_release);
                return nullptr;
              },
              nullptr) == 0);
  fs::ring_cursor cursor;
  std::vector<fs::slot_line> out(64);
  std::uint64_t torn = 0;
  std::uint64_t handed_out = 0;
  for (;;) {
    const bool last = done.load(std::memory_order_acquire);
    const auto batch = m.reader.poll(cursor, out);
    const std::uint64_t first = cursor.next - batch.size();
    for (std::size_t i = 0; i < batch.size(); ++i) torn += intact(batch[i], first + i) ? 0U : 1U;
    handed_out += batch.size();
    std::uint64_t number = 0;
    const auto shot = m.reader.snapshot(out, &number);
    for (const auto& line : shot) torn += intact(line, number++) ? 0U : 1U;
    if (last && cursor.next == m.reader.head()) break;
  }
  pthread_join(writer, nullptr);
  CHECK(torn == 0);
  CHECK(cursor.next == total);
  CHECK(cursor.read == handed_out);
  CHECK(cursor.read + cursor.overwritten == total);
  CHECK(cursor.read >= 63);
}

TEST_CASE("ring.overwrite_ring: owns its memory, keeps the newest and counts the rest") {
  using ring = fs::overwrite_ring<full_record>;
  CHECK(ring::create(0).error() == fs::errc::invalid_argument);
  CHECK(ring::create(1).error() == fs::errc::invalid_argument);
  CHECK(ring::create(~std::size_t{0}).error() == fs::errc::invalid_argument);
  ring none;
  CHECK(!none);
  auto made = ring::create(60);
  REQUIRE(made);
  none = std::move(made.value());
  ring& mine = none;
  CHECK(mine);
  CHECK(mine.capacity() == 64);
  std::vector<full_record> out(100);
  CHECK(mine.pop_batch(out) == 0);
  for (std::uint64_t n = 0; n < 40; ++n) mine.push(numbered(n));
  CHECK(mine.pop_batch(std::span(out).first(0)) == 0);
  CHECK(mine.pop_batch(std::span(out).first(17)) == 17);
  CHECK(out[16].word[7] == numbered(16).word[7]);
  for (std::uint64_t n = 40; n < 200; ++n) mine.push(numbered(n));
  REQUIRE(mine.pop_batch(out) == 63);
  for (std::uint64_t i = 0; i < 63; ++i) CHECK(out[i].word[3] == numbered(137 + i).word[3]);
  CHECK(mine.popped_total() == 80);
  CHECK(mine.overwritten_total() == 120);
  CHECK(mine.written_total() == 200);
}

TEST_CASE("ring.overwrite_ring: lives in given memory, and each view reads on its own") {
  using ring = fs::overwrite_ring<short_record>;
  struct alignas(ring::alignment) block {
    unsigned char byte[ring::bytes_needed(4)];
  };
  block memory;
  std::memset(&memory, 0xff, sizeof memory);
  ring writes = ring::place(&memory, 4);
  ring one = ring::attach(&memory, 4);
  ring other = ring::attach(&memory, 4);
  short_record out[8];
  writes.push({1, 2, 3});
  CHECK(one.pop_batch(out) == 1);
  CHECK(out[0].b == 2);
  for (std::uint32_t n = 0; n < 5; ++n) writes.push({n, n, n});
  CHECK(one.pop_batch(out) == 3);
  CHECK(out[2].c == 4);
  CHECK(one.overwritten_total() == 2);
  CHECK(other.pop_batch(out) == 3);
  CHECK(other.overwritten_total() == 3);
  CHECK(writes.popped_total() == 0);
}
