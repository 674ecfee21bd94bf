// SPDX-License-Identifier: Apache-2.0
// How rings, pools and the registry of threads touch what threads share. Layer: core.
//
// They do so through a type, so that a test can give one of its own that lets another thread in
// between any two accesses (tests/interleaving). The usual one adds no instruction to what
// core/relaxed.hpp does.
#pragma once

#include <concepts>
#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The functions of core/relaxed.hpp, and what several writers of a word need beside them.
struct FABSCOPE_VISIBLE word_access {
  template <shared_word Word>
  [[nodiscard]] FABSCOPE_ALWAYS_INLINE static Word relaxed_load(const Word& word) noexcept {
    return fabscope::relaxed_load(word);
  }
  template <shared_word Word>
  [[nodiscard]] FABSCOPE_ALWAYS_INLINE static Word acquire_load(const Word& word) noexcept {
    return fabscope::acquire_load(word);
  }
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static void relaxed_store(Word& word,
                                                   std::type_identity_t<Word> value) noexcept {
    fabscope::relaxed_store(word, value);
  }
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static void release_store(Word& word,
                                                   std::type_identity_t<Word> value) noexcept {
    fabscope::release_store(word, value);
  }
  /// Of a word with one writer.
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static void relaxed_add(Word& word,
                                                 std::type_identity_t<Word> amount) noexcept {
    fabscope::relaxed_add(word, amount);
  }
  /// Of a word with many writers.
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static void fetch_add(Word& word,
                                               std::type_identity_t<Word> amount) noexcept {
    __atomic_fetch_add(&word, amount, __ATOMIC_RELAXED);
  }

  /// Stores `wanted` if the word is `expected`; else, or for no reason, puts the word in `expected`
  /// and returns false. The name says what a success orders; a failure of exchange_acquire acquires
  /// too.
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static bool exchange_relaxed(Word& word, Word& expected,
                                                      std::type_identity_t<Word> wanted) noexcept {
    return __atomic_compare_exchange_n(&word, &expected, wanted, true, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
  }
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static bool exchange_acquire(Word& word, Word& expected,
                                                      std::type_identity_t<Word> wanted) noexcept {
    return __atomic_compare_exchange_n(&word, &expected, wanted, true, __ATOMIC_ACQUIRE,
                                       __ATOMIC_ACQUIRE);
  }
  template <shared_word Word>
  FABSCOPE_ALWAYS_INLINE static bool exchange_release(Word& word, Word& expected,
                                                      std::type_identity_t<Word> wanted) noexcept {
    return __atomic_compare_exchange_n(&word, &expected, wanted, true, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
  }

  /// A record that only one thread may touch at this moment.
  template <class Record>
  FABSCOPE_ALWAYS_INLINE static void copy(Record& to, const Record& from) noexcept {
    to = from;
  }
};

/// Touches words and records in the place of word_access.
/// semantics: each function has the effect and at least the order of the one it replaces.
template <class Access>
concept word_accessor = requires(std::uint32_t& half, std::uint32_t& expected_half,
                                 std::uint64_t& word, std::uint64_t& expected,
                                 const std::uint64_t& seen, const std::uint32_t& seen_half) {
  { Access::relaxed_load(seen) }
  noexcept->std::same_as<std::uint64_t>;
  { Access::relaxed_load(seen_half) }
  noexcept->std::same_as<std::uint32_t>;
  { Access::acquire_load(seen) }
  noexcept->std::same_as<std::uint64_t>;
  { Access::relaxed_store(half, 1U) }
  noexcept;
  { Access::relaxed_store(word, 1U) }
  noexcept;
  { Access::release_store(word, 1U) }
  noexcept;
  { Access::relaxed_add(half, 1U) }
  noexcept;
  { Access::fetch_add(word, 1U) }
  noexcept;
  { Access::exchange_relaxed(half, expected_half, 1U) }
  noexcept->std::same_as<bool>;
  { Access::exchange_acquire(word, expected, 1U) }
  noexcept->std::same_as<bool>;
  { Access::exchange_release(word, expected, 1U) }
  noexcept->std::same_as<bool>;
  { Access::copy(word, seen) }
  noexcept;
};

FABSCOPE_NAMESPACE_END
