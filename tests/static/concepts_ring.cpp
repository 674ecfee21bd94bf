// SPDX-License-Identifier: Apache-2.0
// What the concepts of the ring folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/ring/concepts.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <span>
#include <string>

namespace {

struct word_record {
  std::uint64_t word[8];
};
struct too_big {
  std::uint64_t word[9];
};
struct odd_size {
  std::uint32_t word[3];
};
struct alignas(16) too_strict {
  std::uint64_t word[2];
};
struct owner {
  std::string text;
};

static_assert(fabscope::slot_record<word_record>);
static_assert(fabscope::slot_record<std::uint64_t>);
static_assert(!fabscope::slot_record<too_big>);
static_assert(!fabscope::slot_record<odd_size>);
static_assert(!fabscope::slot_record<too_strict>);
static_assert(!fabscope::slot_record<owner>);

// The least that a ring must offer.
struct archetype {
  using value_type = int;
  bool try_push(const int&) noexcept;
  std::size_t pop_batch(std::span<int>) noexcept;
  [[nodiscard]] std::uint64_t dropped_total() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
};
struct throwing_push : archetype {
  bool try_push(const int&);
};
struct silent_drop : archetype {
  void dropped_total() const noexcept;
};
struct owning_records : archetype {
  using value_type = std::string;
  bool try_push(const std::string&) noexcept;
  std::size_t pop_batch(std::span<std::string>) noexcept;
};
struct uncertain_push : archetype {
  void try_push(const int&) noexcept;
};

static_assert(fabscope::event_ring<archetype>);
static_assert(fabscope::event_ring<fabscope::spsc_ring<int>>);
static_assert(fabscope::event_ring<fabscope::spsc_ring<word_record>>);
static_assert(!fabscope::event_ring<throwing_push>);
static_assert(!fabscope::event_ring<silent_drop>);
static_assert(!fabscope::event_ring<owning_records>);
static_assert(!fabscope::event_ring<uncertain_push>);
static_assert(!fabscope::event_ring<fabscope::overwrite_writer>);
static_assert(!fabscope::event_ring<int>);

struct may_throw {
  void push(const word_record&);
};
static_assert(fabscope::flight_recorder<fabscope::overwrite_writer, word_record>);
static_assert(!fabscope::flight_recorder<fabscope::overwrite_writer, too_big>);
static_assert(!fabscope::flight_recorder<may_throw, word_record>);
static_assert(!fabscope::flight_recorder<fabscope::spsc_ring<int>, std::uint64_t>);

// Slots are whole cache lines, and a ring is moved, not copied.
static_assert(sizeof(fabscope::slot_line) == 64 && alignof(fabscope::slot_line) == 64);
static_assert(!std::is_copy_constructible_v<fabscope::spsc_ring<int>>);
static_assert(std::is_nothrow_move_constructible_v<fabscope::spsc_ring<int>>);
static_assert(std::is_trivially_copyable_v<fabscope::ring_cursor>);

}  // namespace
