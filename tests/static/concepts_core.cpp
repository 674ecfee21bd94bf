// SPDX-License-Identifier: Apache-2.0
// What the concept of the core folder accepts and refuses. Compiling is the test.
#include <cstdint>
#include <fabscope/core/relaxed.hpp>

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

}  // namespace
