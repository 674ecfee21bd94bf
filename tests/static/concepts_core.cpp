// SPDX-License-Identifier: Apache-2.0
// What the concepts of the core folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/core/word_access.hpp>
#include <support/archetypes/core.hpp>

namespace fs = fabscope;

namespace {

enum class level : std::uint32_t { low };
struct word {
  std::uint64_t value;
};

static_assert(fs::shared_word<std::uint64_t>);
static_assert(fs::shared_word<std::int32_t>);
static_assert(fs::shared_word<std::uint8_t>);
static_assert(fs::shared_word<bool>);
static_assert(!fs::shared_word<double>);
static_assert(!fs::shared_word<level>);
static_assert(!fs::shared_word<word>);
static_assert(!fs::shared_word<std::uint64_t&>);
static_assert(!fs::shared_word<void*>);

struct throwing_load : archetypes::accessor {
  template <class Word>
  static Word relaxed_load(const Word& word);
};
struct blind_store : archetypes::accessor {
  static void release_store(const std::uint64_t&, int) noexcept;
  template <class Word>
  static void relaxed_store(Word&) noexcept;
};
struct silent_exchange : archetypes::accessor {
  template <class Word>
  static void exchange_acquire(Word&, Word&, Word) noexcept;
};
struct no_copy : archetypes::accessor {
  static void copy() noexcept;
};

static_assert(fs::word_accessor<fs::word_access>);
static_assert(fs::word_accessor<archetypes::accessor>);
static_assert(!fs::word_accessor<throwing_load>);
static_assert(!fs::word_accessor<blind_store>);
static_assert(!fs::word_accessor<silent_exchange>);
static_assert(!fs::word_accessor<no_copy>);
static_assert(!fs::word_accessor<int>);

}  // namespace
