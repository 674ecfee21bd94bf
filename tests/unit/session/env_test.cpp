// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <stdlib.h>

#include <fabscope/session/env.hpp>
#include <string>

using fabscope::environment;
using fabscope::parse_number;

static_assert(parse_number("0x10").value() == 16);

TEST_CASE("session.env: finds a variable by its whole name") {
  const char* const entries[] = {"AB=1", "A=2", "nonsense", "EMPTY=", "A=3", "EQ=a=b", nullptr};
  const environment env(entries);
  CHECK(std::string(env.get("A")) == "2");
  CHECK(std::string(env.get("AB")) == "1");
  CHECK(std::string(env.get("EQ")) == "a=b");
  CHECK(std::string(env.get("EMPTY")).empty());
  CHECK(env.get_filled("EMPTY") == nullptr);
  CHECK(env.get("nonsense") == nullptr);
  CHECK(env.get("B") == nullptr);
  CHECK(environment(nullptr).get("A") == nullptr);
}

TEST_CASE("session.env: reads the process's own variables") {
  ::setenv("FABSCOPE_TEST_OF_ENV", "here", 1);
  CHECK(std::string(environment::of_process().get("FABSCOPE_TEST_OF_ENV")) == "here");
  ::unsetenv("FABSCOPE_TEST_OF_ENV");
  CHECK(environment::of_process().get("FABSCOPE_TEST_OF_ENV") == nullptr);
}

TEST_CASE("session.env: numbers are decimal, hex or octal") {
  CHECK(parse_number("0").value() == 0);
  CHECK(parse_number("42").value() == 42);
  CHECK(parse_number(" 42\t\n").value() == 42);
  CHECK(parse_number("0x2A").value() == 42);
  CHECK(parse_number("0X2a").value() == 42);
  CHECK(parse_number("052").value() == 42);
  CHECK(parse_number("052", 10).value() == 52);
  CHECK(parse_number("640", 8).value() == 0640);
  CHECK(parse_number("18446744073709551615").value() == ~std::uint64_t{0});
  CHECK(parse_number("0xffffffffffffffff").value() == ~std::uint64_t{0});
}

TEST_CASE("session.env: anything else is no number") {
  for (const char* text : {"", " ", "-1", "+1", "10x", "x10", "1 0", "1.5", "1e3", "0x", "08",
                           "0b1", "18446744073709551616", "99999999999999999999",
                           "0x10000000000000000", "02000000000000000000000", "\xc2\xb2"}) {
    CHECK_MESSAGE(!parse_number(text), std::string(text));
  }
}
