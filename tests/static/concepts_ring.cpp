// SPDX-License-Identifier: Apache-2.0
// What the concepts of the ring folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/ring/concepts.hpp>
#include <fabscope/ring/mpsc_ring.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <span>
#include <string>
#include <support/archetypes/core.hpp>
#include <support/archetypes/ring.hpp>
#include <type_traits>

namespace fs = fabscope;

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

static_assert(fs::slot_record<archetypes::slot_record>);
static_assert(fs::slot_record<word_record>);
static_assert(fs::slot_record<std::uint64_t>);
static_assert(!fs::slot_record<too_big>);
static_assert(!fs::slot_record<odd_size>);
static_assert(!fs::slot_record<too_strict>);
static_assert(!fs::slot_record<owner>);

struct throwing_push : archetypes::ring {
  bool try_push(const int&);
};
struct uncertain_push : archetypes::ring {
  void try_push(const int&) noexcept;
};
struct throwing_pop : archetypes::ring {
  std::size_t pop_batch(std::span<int>);
};
struct silent_pop : archetypes::ring {
  void pop_batch(std::span<int>) noexcept;
};
struct silent_drop : archetypes::ring {
  void dropped_total() const noexcept;
};
struct drop_for_writers_only : archetypes::ring {
  std::uint64_t dropped_total() noexcept;
};
struct unbounded : archetypes::ring {
  void capacity() const noexcept;
};
struct owning_records : archetypes::ring {
  using value_type = std::string;
  bool try_push(const std::string&) noexcept;
  std::size_t pop_batch(std::span<std::string>) noexcept;
};

static_assert(fs::event_ring<archetypes::ring>);
static_assert(fs::event_ring<fs::spsc_ring<int>>);
static_assert(fs::event_ring<fs::spsc_ring<word_record>>);
static_assert(fs::event_ring<fs::mpsc_ring<int>>);
static_assert(fs::event_ring<fs::mpsc_ring<too_big>>, "only flight recorders have slots");
static_assert(!fs::event_ring<throwing_push>);
static_assert(!fs::event_ring<uncertain_push>);
static_assert(!fs::event_ring<throwing_pop>);
static_assert(!fs::event_ring<silent_pop>);
static_assert(!fs::event_ring<silent_drop>);
static_assert(!fs::event_ring<drop_for_writers_only>);
static_assert(!fs::event_ring<unbounded>);
static_assert(!fs::event_ring<owning_records>);
static_assert(!fs::event_ring<fs::overwrite_writer>);
static_assert(!fs::event_ring<int>);

struct may_throw {
  void push(const word_record&);
};
static_assert(fs::flight_recorder<archetypes::flight_recorder, archetypes::slot_record>);
static_assert(fs::flight_recorder<fs::overwrite_writer, word_record>);
static_assert(fs::flight_recorder<fs::overwrite_ring<word_record>, word_record>);
static_assert(!fs::event_ring<fs::overwrite_ring<word_record>>, "it never refuses");
static_assert(!fs::flight_recorder<fs::overwrite_writer, too_big>);
static_assert(!fs::flight_recorder<may_throw, word_record>);
static_assert(!fs::flight_recorder<fs::spsc_ring<int>, std::uint64_t>);
static_assert(!fs::flight_recorder<int, std::uint64_t>);

// Slots are whole cache lines, and a ring is moved, not copied.
static_assert(sizeof(fs::slot_line) == 64 && alignof(fs::slot_line) == 64);
static_assert(!std::is_copy_constructible_v<fs::spsc_ring<int>>);
static_assert(std::is_nothrow_move_constructible_v<fs::spsc_ring<int>>);
static_assert(!std::is_copy_constructible_v<fs::mpsc_ring<int>>);
static_assert(std::is_nothrow_move_constructible_v<fs::mpsc_ring<int>>);
static_assert(!std::is_copy_constructible_v<fs::overwrite_ring<word_record>>);
static_assert(std::is_nothrow_move_constructible_v<fs::overwrite_ring<word_record>>);
static_assert(std::is_trivially_copyable_v<fs::ring_cursor>);

}  // namespace

template class fs::spsc_ring<archetypes::slot_record>;
template class fs::mpsc_ring<archetypes::slot_record>;
template class fs::overwrite_ring<archetypes::slot_record>;
template class fs::spsc_ring<archetypes::slot_record, archetypes::accessor>;
template class fs::mpsc_ring<archetypes::slot_record, archetypes::accessor>;
template class fs::basic_overwrite_reader<archetypes::accessor>;
