// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/nccl/slots.hpp>

namespace {

namespace nd = fabscope::nccl::detail;

TEST_CASE("nccl.slots: a handle by value keeps what it says and is none of a slot") {
  const std::uint64_t bits = nd::value_handle(nd::captured_bit, 0xabcdef, 0xffffffff);
  CHECK(nd::is_value(bits));
  CHECK((bits & nd::captured_bit) != 0);
  CHECK((bits & nd::proxy_bit) == 0);
  CHECK(nd::value_label(bits) == 0xabcdef);
  CHECK(nd::value_number(bits) == 0xffffffff);
  CHECK_FALSE(fabscope::handle::from_bits(bits).may_live());
  CHECK(nd::find_operation(bits) == nullptr);
  CHECK_FALSE(nd::is_value(fabscope::handle(7, 0x80000001).bits()));
  CHECK_FALSE(nd::is_value(fabscope::handle::tombstone().bits()));
}

TEST_CASE("nccl.slots: a step needs the same owner, an open state and a change") {
  const std::uint64_t bits = fabscope::handle(3, 5).bits();
  std::uint64_t word = std::uint64_t{5} << 32 | nd::state::started;
  std::uint64_t out = 0;
  const auto open_one = [](std::uint64_t s) noexcept { return s + nd::state::one_open; };
  CHECK_FALSE(nd::step(word, fabscope::handle(3, 7).bits(), out, open_one));
  CHECK(nd::step(word, bits, out, open_one));
  CHECK(nd::state::open(word) == 1);
  CHECK(word == out);
  CHECK_FALSE(nd::step(word, bits, out, [](std::uint64_t s) noexcept { return s; }));
  CHECK(nd::step(word, bits, out, [](std::uint64_t s) noexcept {
    return s - nd::state::one_open + nd::state::one_done;
  }));
  CHECK(nd::state::open(word) == 0);
  CHECK(nd::state::done(word) == 1);
  CHECK(nd::step(word, bits, out, [](std::uint64_t s) noexcept { return s | nd::state::closed; }));
  CHECK_FALSE(nd::step(word, bits, out, open_one));
}

TEST_CASE("nccl.slots: the smallest and the largest of several values stay") {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const std::uint64_t value : {7U, 3U, 9U}) {
    nd::shared_min(least, value);
    nd::shared_max(most, value);
  }
  CHECK(least == 3);
  CHECK(most == 9);
}

}  // namespace
