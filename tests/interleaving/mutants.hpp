// SPDX-License-Identifier: Apache-2.0
// Ways to touch shared memory that are wrong on purpose: with each of them the check must find
// something.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler.hpp"

namespace interleaving {

struct pending_store {
  std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
};

/// A store takes effect only after the next one of the same thread: the head is published before
/// the last word of the record.
struct late_store : stepping {
  static void release_store(std::uint64_t& word, std::uint64_t value) noexcept {
    const std::size_t me = scheduler::current();
    if (me == scheduler::max_threads) return stepping::release_store(word, value);
    pending_store& mine = held[me];
    if (mine.word == nullptr) {
      mine = {&word, value};
      return;
    }
    stepping::release_store(word, value);
    stepping::release_store(*mine.word, mine.value);
    mine = {};
  }
  static inline pending_store held[scheduler::max_threads];
};

/// Thread number Who copies records only after its next releasing store: a producer publishes first
/// and then writes, a consumer frees the slot first and then reads it.
template <std::size_t Who>
struct late_copy : stepping {
  template <class Record>
  static void copy(Record& to, const Record& from) noexcept {
    if (scheduler::current() != Who) return stepping::copy(to, from);
    for (std::size_t at = 0; at < sizeof(Record); at += 8) {
      held.push_back(
          {reinterpret_cast<char*>(&to) + at, reinterpret_cast<const char*>(&from) + at});
    }
  }
  static void release_store(std::uint64_t& word, std::uint64_t value) noexcept {
    stepping::release_store(word, value);
    if (scheduler::current() != Who) return;
    for (const pending& each : held) {
      scheduler::step();
      std::memcpy(each.to, each.from, 8);
    }
    held.clear();
  }
  struct pending {
    char* to;
    const char* from;
  };
  static inline std::vector<pending> held;
};

/// Compares, and stores in another step.
struct torn_exchange : stepping {
  template <class Word>
  static bool exchange_relaxed(Word& word, Word& expected,
                               std::type_identity_t<Word> wanted) noexcept {
    const Word seen = stepping::relaxed_load(word);
    if (seen != expected) {
      expected = seen;
      return false;
    }
    stepping::relaxed_store(word, wanted);
    return true;
  }
  template <class Word>
  static bool exchange_acquire(Word& word, Word& expected,
                               std::type_identity_t<Word> wanted) noexcept {
    return exchange_relaxed(word, expected, wanted);
  }
  template <class Word>
  static bool exchange_release(Word& word, Word& expected,
                               std::type_identity_t<Word> wanted) noexcept {
    return exchange_relaxed(word, expected, wanted);
  }
};

/// Compares only the lower half: without the count of changes in the upper half, a list that was
/// changed and changed back looks untouched.
struct untagged : stepping {
  static bool exchange_acquire(std::uint64_t& word, std::uint64_t& expected,
                               std::uint64_t wanted) noexcept {
    scheduler::step();
    if (static_cast<std::uint32_t>(word) == static_cast<std::uint32_t>(expected)) {
      word = wanted;
      return true;
    }
    expected = word;
    return false;
  }
};

/// Counters of many writers that are loaded and stored.
struct torn_add : stepping {
  static void fetch_add(std::uint64_t& word, std::uint64_t amount) noexcept {
    stepping::relaxed_add(word, amount);
  }
};

}  // namespace interleaving
