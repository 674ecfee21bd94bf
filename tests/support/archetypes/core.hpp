// SPDX-License-Identifier: Apache-2.0
// The least that touches shared memory in the place of fabscope::word_access.
#pragma once

#include <type_traits>

namespace archetypes {

struct accessor {
  template <class Word>
  static Word relaxed_load(const Word& word) noexcept {
    return word;
  }
  template <class Word>
  static Word acquire_load(const Word& word) noexcept {
    return word;
  }
  template <class Word>
  static void relaxed_store(Word&, std::type_identity_t<Word>) noexcept {}
  template <class Word>
  static void release_store(Word&, std::type_identity_t<Word>) noexcept {}
  template <class Word>
  static void relaxed_add(Word&, std::type_identity_t<Word>) noexcept {}
  template <class Word>
  static void fetch_add(Word&, std::type_identity_t<Word>) noexcept {}
  template <class Word>
  static bool exchange_relaxed(Word&, Word&, std::type_identity_t<Word>) noexcept {
    return true;
  }
  template <class Word>
  static bool exchange_acquire(Word&, Word&, std::type_identity_t<Word>) noexcept {
    return true;
  }
  template <class Word>
  static bool exchange_release(Word&, Word&, std::type_identity_t<Word>) noexcept {
    return true;
  }
  template <class Record>
  static void copy(Record&, const Record&) noexcept {}
};

}  // namespace archetypes
