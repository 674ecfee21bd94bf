// SPDX-License-Identifier: Apache-2.0
// Single-writer words that other threads read while they change. Layer: core.
//
// The words are plain integers, so that the structs they belong to stay trivially copyable and can
// lie in a mapped file. One thread writes a word with these functions; any thread may read it with
// relaxed_load. A read-modify-write is a load and a store, never a locked instruction.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fabscope/core/config.hpp>

FABSCOPE_NAMESPACE_BEGIN

template <class Word>
concept shared_word = std::integral<Word> && sizeof(Word) <= 8 && alignof(Word) == sizeof(Word);

/// The word as some earlier store left it. Threads: any.
template <shared_word Word>
[[nodiscard]] FABSCOPE_ALWAYS_INLINE Word relaxed_load(const Word& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

/// Threads: the word's writer.
template <shared_word Word>
FABSCOPE_ALWAYS_INLINE void relaxed_store(Word& word, std::type_identity_t<Word> value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

/// Adds, wrapping around at the end of the type. Threads: the word's writer.
/// Cost: where it matters one instruction, not locked: g++ makes three of a load and a store.
template <shared_word Word>
FABSCOPE_ALWAYS_INLINE void relaxed_add(Word& word, std::type_identity_t<Word> amount) noexcept {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  if constexpr (sizeof(Word) == 8) {
    asm("addq %1, %0" : "+m"(word) : "er"(amount) : "cc");
    return;
  } else if constexpr (sizeof(Word) == 4) {
    asm("addl %1, %0" : "+m"(word) : "ir"(amount) : "cc");
    return;
  }
#endif
  relaxed_store(word, static_cast<Word>(relaxed_load(word) + amount));
}

/// Keeps the larger of the two. Threads: the word's writer.
template <shared_word Word>
FABSCOPE_ALWAYS_INLINE void relaxed_max(Word& word, std::type_identity_t<Word> value) noexcept {
  if (value > relaxed_load(word)) relaxed_store(word, value);
}

/// Keeps the smaller value in inverted form: zero means that there is none yet, and the minimum is
/// the complement of the word. Threads: the word's writer.
template <shared_word Word>
FABSCOPE_ALWAYS_INLINE void relaxed_min_inverted(Word& word,
                                                 std::type_identity_t<Word> value) noexcept {
  relaxed_max(word, static_cast<Word>(~value));
}

/// The word, and everything its writer stored before release_store. Threads: any.
template <shared_word Word>
[[nodiscard]] FABSCOPE_ALWAYS_INLINE Word acquire_load(const Word& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);  // pairs with release_store
}

/// Publishes what was stored before. Threads: the word's writer.
template <shared_word Word>
FABSCOPE_ALWAYS_INLINE void release_store(Word& word, std::type_identity_t<Word> value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);  // pairs with acquire_load
}

FABSCOPE_NAMESPACE_END
