// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/parse.hpp>

#include <string_view>

#include <doctest/doctest.h>

using fabscope::sample_state;

namespace {
struct parsed {
  sample_state state;
  std::uint64_t value = 7;
};
parsed parse(std::string_view text) {
  parsed out{};
  out.state = fabscope::nic::parse_counter(text.data(), text.size(), out.value);
  return out;
}
void good(std::string_view text, std::uint64_t value) {
  CAPTURE(text);
  CHECK(parse(text).state == sample_state::good);
  CHECK(parse(text).value == value);
}
void invalid(std::string_view text) {
  CAPTURE(text);
  CHECK(parse(text).state == sample_state::invalid);
}
}  // namespace

TEST_CASE("nic.parse: numbers as drivers print them") {
  good("0\n", 0);
  good("123", 123);
  good("123\r\n", 123);
  good("72057594037927935@1700000000.123456789\n", 72057594037927935U);
  good("18446744073709551615\n", ~std::uint64_t{0});
  good("0x1F\n", 31);
  good("  42\n", 42);
}

TEST_CASE("nic.parse: 32 bits that were printed with a sign") {
  good("-5\n", 4294967291U);
  good("-2147483648\n", 2147483648U);
  invalid("-2147483649\n");
}

TEST_CASE("nic.parse: what is no number is invalid and not zero") {
  for (const char* text : {"", "\n", "N/A (no PMA)\n", "-", "0x", "12abc", "1.5", "garbage"}) {
    invalid(text);
  }
  invalid("18446744073709551616\n");
  invalid("99999999999999999999999\n");
}
