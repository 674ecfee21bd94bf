// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fabscope/sink/text_writer.hpp>
#include <limits>
#include <random>
#include <string>

namespace fs = fabscope;

namespace {

template <class Use>
std::string written(Use use) {
  char buffer[1024];
  fs::text_writer writer{std::span<char>(buffer)};
  use(writer);
  CHECK(!writer.full());
  return std::string(writer.view());
}

std::string json(std::string_view text) {
  return written([&](fs::text_writer& w) { w.json_string(text); });
}

std::string csv(std::string_view text) {
  return written([&](fs::text_writer& w) { w.csv_field(text); });
}

}  // namespace

TEST_CASE("sink.text_writer: integers as printf writes them") {
  std::mt19937_64 random(1);
  char expected[32];
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t value = random() >> (random() % 64);
    if (i < 64) value = std::uint64_t{1} << i;
    std::snprintf(expected, sizeof expected, "%" PRIu64, value);
    REQUIRE(written([&](fs::text_writer& w) { w.u64(value); }) == expected);
    REQUIRE(written([&](fs::text_writer& w) { w.u64(value, ';'); }) == expected + std::string(";"));
    std::snprintf(expected, sizeof expected, "%" PRIx64, value);
    REQUIRE(written([&](fs::text_writer& w) { w.hex(value, value == 0 ? 1 : 0); }) == expected);
    const auto number = static_cast<std::int64_t>(i % 2 == 0 ? value : ~value);
    std::snprintf(expected, sizeof expected, "%" PRId64, number);
    REQUIRE(written([&](fs::text_writer& w) { w.i64(number); }) == expected);
  }
  for (std::uint64_t power = 1, i = 0; i < 20; ++i, power *= 10) {
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      std::snprintf(expected, sizeof expected, "%" PRIu64, value);
      CHECK(written([&](fs::text_writer& w) { w.u64(value); }) == expected);
    }
  }
  CHECK(written([](fs::text_writer& w) { w.u64(~std::uint64_t{0}); }) == "18446744073709551615");
  CHECK(written([](fs::text_writer& w) { w.i64(std::numeric_limits<std::int64_t>::min()); }) ==
        "-9223372036854775808");
  CHECK(written([](fs::text_writer& w) { w.hex(0xab, 4).ch(' ').hex(0, 40); }) ==
        "00ab 0000000000000000");
}

TEST_CASE("sink.text_writer: CSV fields of every length, with any character at any place") {
  const auto expected = [](const std::string& field) {
    const bool edge = !field.empty() && (field.front() == ' ' || field.back() == ' ');
    if (!edge && field.find_first_of(",\"\n\r") == std::string::npos) return field;
    std::string quoted = "\"";
    for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
  };
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string plain(size, 'x');
    REQUIRE(csv(plain) == plain);
    for (std::size_t at = 0; at < size; ++at) {
      for (int c = 1; c < 256; ++c) {
        std::string field = plain;
        field[at] = static_cast<char>(c);
        REQUIRE(csv(field) == expected(field));
      }
    }
  }
}

TEST_CASE("sink.text_writer: JSON strings of every length, with any byte at any place") {
  for (std::size_t size = 0; size <= 24; ++size) {
    const std::string plain(size, 'x');
    REQUIRE(json(plain) == '"' + plain + '"');
    for (std::size_t at = 0; at < size; ++at) {
      for (int c = 1; c < 256; ++c) {
        std::string text = plain;
        text[at] = static_cast<char>(c);
        const bool is_plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
        const std::string one = json(text.substr(at, 1));  // by itself, byte by byte
        const std::string escaped = is_plain ? text.substr(at, 1) : one.substr(1, one.size() - 2);
        REQUIRE(json(text) == '"' + plain.substr(0, at) + escaped + plain.substr(at + 1) + '"');
      }
    }
  }
}

TEST_CASE("sink.text_writer: names of every length, as they are") {
  for (std::size_t size = 0; size <= 40; ++size) {
    std::string name;
    for (std::size_t i = 0; i < size; ++i) name += static_cast<char>('!' + i);
    REQUIRE(written([&](fs::text_writer& w) { w.name(name).ch('.'); }) == name + '.');
  }
}

TEST_CASE("sink.text_writer: three decimals") {
  const auto scaled = [](std::uint64_t v) {
    return written([&](fs::text_writer& w) { w.fixed3(v); });
  };
  CHECK(scaled(0) == "0.000");
  CHECK(scaled(7) == "0.007");
  CHECK(scaled(1234) == "1.234");
  CHECK(scaled(~std::uint64_t{0}) == "18446744073709551.615");
  const auto real = [](double v) { return written([&](fs::text_writer& w) { w.fixed3(v); }); };
  CHECK(real(1.0005001) == "1.001");
  CHECK(real(-2.5) == "-2.500");
  CHECK(real(-0.0001) == "0.000");
  CHECK(real(1e300).size() == 305);
  CHECK(real(-9.5e15) == "-9500000000000000.000");
  CHECK(real(std::nan("")).find("nan") != std::string::npos);
  CHECK(real(-INFINITY) == "-inf");
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    // Multiples of 1/1024 have no ties, so there is one right answer.
    const double value = static_cast<double>(random() >> 24) / 1024.0;
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.3f", value);
    if (std::fmod(value * 1000.0, 1.0) == 0.5) continue;
    REQUIRE(real(value) == expected);
  }
  const auto number = [](double v) {
    return written([&](fs::text_writer& w) { w.json_number(v); });
  };
  CHECK(number(0.1) == "0.1");
  CHECK(number(std::nan("")) == "null");
  CHECK(number(INFINITY) == "null");
}

TEST_CASE("sink.text_writer: CSV fields by RFC 4180") {
  CHECK(csv("plain") == "plain");
  CHECK(csv("") == "");
  CHECK(csv("a,b") == "\"a,b\"");
  CHECK(csv("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv("two\nlines") == "\"two\nlines\"");
  CHECK(csv(" edge") == "\" edge\"");
}

TEST_CASE("sink.text_writer: JSON strings are valid whatever the bytes") {
  CHECK(json("plain") == "\"plain\"");
  CHECK(json("a\"b\\c\n\r\t") == "\"a\\\"b\\\\c\\n\\r\\t\"");
  CHECK(json(std::string_view("\0\x01\x1f\x7f", 4)) == "\"\\u0000\\u0001\\u001f\\u007f\"");
  CHECK(json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  for (const char* bad : {"\xff", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf5", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    std::string expected = "\"";
    for (std::size_t i = 0; i < std::string_view(bad).size(); ++i) expected += "\\ufffd";
    CHECK(json(bad) == expected + "\"");
  }
  CHECK(json("x\xc3(y") == "\"x\\ufffd(y\"");
}

TEST_CASE("sink.text_writer: never writes past the end, and says when something is missing") {
  std::mt19937 random(3);
  for (std::size_t room = 0; room < 60; ++room) {
    for (int kind = 0; kind < 10; ++kind) {
      std::string buffer(room + 16, '#');
      fs::text_writer writer(std::span<char>(buffer.data(), room));
      std::size_t calls = 0;
      while (!writer.full() && ++calls < 100) {
        switch (kind) {
          case 0: writer.u64(random()); break;
          case 1: writer.i64(-static_cast<std::int64_t>(random())); break;
          case 2: writer.fixed3(static_cast<double>(random()) / 7.0); break;
          case 3: writer.fixed3(std::uint64_t{random()}); break;
          case 4: writer.csv_field("a,\"b"); break;
          case 5: writer.json_string("a\x01\xff\"z"); break;
          case 6: writer.hex(random()); break;
          case 7: writer.text("abc").ch('d'); break;
          case 8: writer.name(std::string(calls % 24, 'n')).ch(','); break;
          default: writer.json_number(1.0 / (1.0 + static_cast<double>(random()))); break;
        }
        if (!writer.full()) REQUIRE(writer.size() <= room);
      }
      REQUIRE(writer.full());
      REQUIRE(buffer.substr(room) == std::string(16, '#'));
      const std::size_t before = writer.size();
      writer.ch('x').u64(1);  // nothing after the gap
      REQUIRE(writer.size() == before);
      writer.clear();
      REQUIRE(writer.size() == 0);
    }
  }
}
