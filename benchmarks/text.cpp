// SPDX-License-Identifier: Apache-2.0
// csv_row, json_line, binary_row: eight fields (stamp, rank, thread, name, bytes, duration, GB/s,
// error) into a file in memory, its share of the writing included.
#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fabscope/sink/binary_sink.hpp>
#include <fabscope/sink/text_file.hpp>

#include <support/row.hpp>

namespace bench {
namespace {

struct measured {
  std::uint64_t begin_ns;
  std::uint32_t rank;
  std::uint32_t thread;
  std::string_view name;  // texts come with their length, as labels do; a NUL follows for fprintf
  std::uint64_t bytes;
  std::uint64_t duration_ns;
  double gigabytes_per_second;
  std::string_view error;
};

constexpr std::size_t variety = 1024;

const std::vector<measured>& examples() {
  static const std::vector<measured> all = [] {
    constexpr std::array<std::string_view, 4> names = {"fi_send", "fi_tsend", "fi_writemsg",
                                                       "fi_read"};
    std::vector<measured> out;
    for (std::uint64_t i = 0; i < variety; ++i) {
      const std::uint64_t bytes = std::uint64_t{64} << (i * 7 % 15);
      const std::uint64_t duration = 1500 + i * 7919 % 90000;
      out.push_back({1700000000123456789U + i * 4211, static_cast<std::uint32_t>(i % 512),
                     static_cast<std::uint32_t>(i % 8), names[i % names.size()], bytes, duration,
                     static_cast<double>(bytes) / static_cast<double>(duration),
                     i % 100 == 7 ? "Connection refused, by the peer" : ""});
    }
    return out;
  }();
  return all;
}

/// A file in memory that starts again from its beginning before it outgrows the caches: the cost of
/// memory is none of ours.
int memory_file() { return ::memfd_create("rows", MFD_CLOEXEC); }
constexpr std::size_t rows_per_file = std::size_t{1} << 14;
// Small beside a block of measurements, so that each block has its share of writes.
constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

/// What CSV and JSON have in common.
struct our_file {
  int fd = memory_file();
  fabscope::text_file file =
      std::move(*fabscope::text_file::adopt(fd, {.buffer_bytes = buffer_bytes}));

  void rewind() {
    (void)file.flush();
    (void)::lseek(fd, 0, SEEK_SET);
  }
};

struct our_csv : our_file {
  void put(const measured& row) {
    file.row([&row](fabscope::text_writer& to) noexcept {
      to.u64(row.begin_ns, ',').u64(row.rank, ',').u64(row.thread, ',');
      to.csv_field(row.name).ch(',').u64(row.bytes, ',').u64(row.duration_ns, ',');
      to.fixed3(row.gigabytes_per_second).ch(',').csv_field(row.error).ch('\n');
    });
  }
};

struct our_json : our_file {
  void put(const measured& row) {
    file.row([&row](fabscope::text_writer& to) noexcept {
      to.text("{\"begin_ns\":").u64(row.begin_ns).text(",\"rank\":").u64(row.rank);
      to.text(",\"thread\":").u64(row.thread).text(",\"name\":").json_string(row.name);
      to.text(",\"bytes\":").u64(row.bytes).text(",\"duration_ns\":").u64(row.duration_ns);
      to.text(",\"gigabytes_per_second\":").fixed3(row.gigabytes_per_second);
      to.text(",\"error\":").json_string(row.error).text("}\n");
    });
  }
};

struct by_fprintf {
  std::FILE* file = ::fdopen(memory_file(), "w");

  by_fprintf() { (void)std::setvbuf(file, nullptr, _IOFBF, buffer_bytes); }
  ~by_fprintf() { (void)std::fclose(file); }
  by_fprintf(const by_fprintf&) = delete;
  by_fprintf& operator=(const by_fprintf&) = delete;

  void put(const measured& row) {
    const bool quote = std::strchr(row.error.data(), ',') != nullptr;
    (void)std::fprintf(
        file,
        quote ? "%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 ",%.3f,\"%s\"\n"
              : "%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 ",%.3f,%s\n",
        row.begin_ns, row.rank, row.thread, row.name.data(), row.bytes, row.duration_ns,
        row.gigabytes_per_second, row.error.data());
  }
  void rewind() { std::rewind(file); }
};

struct by_fmt {
  int fd = memory_file();
  std::string buffer;

  by_fmt() { buffer.reserve(buffer_bytes + 512); }
  ~by_fmt() { ::close(fd); }
  by_fmt(const by_fmt&) = delete;
  by_fmt& operator=(const by_fmt&) = delete;

  void put(const measured& row) {
    const bool quote = std::strchr(row.error.data(), ',') != nullptr;
    const char* mark = quote ? "\"" : "";
    fmt::format_to(std::back_inserter(buffer), FMT_COMPILE("{},{},{},{},{},{},{:.3f},{}{}{}\n"),
                   row.begin_ns, row.rank, row.thread, row.name, row.bytes, row.duration_ns,
                   row.gigabytes_per_second, mark, row.error, mark);
    if (buffer.size() >= buffer_bytes) flush();
  }
  void flush() {
    if (::write(fd, buffer.data(), buffer.size()) < 0) std::perror("write");
    buffer.clear();
  }
  void rewind() {
    flush();
    (void)::lseek(fd, 0, SEEK_SET);
  }
};

/// The same eight fields as a record: the stamp and the thread are the header's, texts are labels.
struct measured_record {
  fabscope::record_header header;
  std::uint64_t bytes = 0;
  std::uint64_t duration = 0;
  double gigabytes_per_second = 0;
  std::uint32_t rank = 0;
  std::uint32_t name = 0;
  std::uint32_t error = 0;
  std::uint32_t unused[3] = {};

  static constexpr const char* type_name = "measured";
  static constexpr bool is_row = false;
  static const fabscope::field fields[6];
};
inline constexpr fabscope::field measured_record::fields[6] = {
    {"bytes", "B", offsetof(measured_record, bytes), fabscope::field_type::u64},
    {"duration", "ns", offsetof(measured_record, duration), fabscope::field_type::span},
    {"gigabytes_per_second", "GB/s", offsetof(measured_record, gigabytes_per_second),
     fabscope::field_type::f64},
    {"rank", "", offsetof(measured_record, rank), fabscope::field_type::u32},
    {"name", "", offsetof(measured_record, name), fabscope::field_type::label},
    {"error", "", offsetof(measured_record, error), fabscope::field_type::label},
};

/// Batches as the collector hands them: of one thread, up to 1024 records.
struct our_binary {
  int fd = memory_file();
  fabscope::binary_sink sink{options()};
  std::vector<measured_record> records;
  std::size_t written = 0;

  our_binary() {
    for (const measured& row : examples()) {
      measured_record one;
      one.header = {1, sizeof one, 1, row.begin_ns};
      one.bytes = row.bytes;
      one.duration = row.duration_ns;
      one.gigabytes_per_second = row.gigabytes_per_second;
      one.rank = row.rank;
      one.name = 1 + static_cast<std::uint32_t>(records.size() % 4);
      one.error = row.error.empty() ? 0 : 5;
      records.push_back(one);
    }
  }
  ~our_binary() { ::close(fd); }
  our_binary(const our_binary&) = delete;
  our_binary& operator=(const our_binary&) = delete;

  static std::string_view label(std::uint32_t number) noexcept {
    constexpr std::string_view texts[] = {
        "", "fi_send", "fi_tsend", "fi_writemsg", "fi_read", "Connection refused, by the peer"};
    return number < std::size(texts) ? texts[number] : std::string_view();
  }
  fabscope::file_sink_options options() noexcept {
    fabscope::file_sink_options out;
    out.buffer_bytes = buffer_bytes;
    out.opener = {&fd, [](void* self, const char*) noexcept {
                    return ::fcntl(*static_cast<int*>(self), F_DUPFD_CLOEXEC, 0);
                  }};
    return out;
  }
  void put(std::size_t n) {
    const fabscope::sink_context about({nullptr, [](void*, std::uint64_t ticks) { return ticks; },
                                        [](void*, std::uint32_t number) { return label(number); },
                                        [](void*, std::uint32_t thread) { return thread; }, 0, 0});
    while (n != 0) {
      if (written >= rows_per_file) {
        sink.flush(about);
        (void)::lseek(fd, 0, SEEK_SET);
        written = 0;
      }
      const std::size_t count = n < variety ? n : variety;
      sink.consume(std::span<const measured_record>(records.data(), count), about);
      written += count;
      n -= count;
    }
  }
};

lane binary_rows() {
  auto live = std::make_shared<our_binary>();
  return {"ours", [live](std::size_t n, unsigned) { live->put(n); }, 1, 0,
          [live](std::size_t) { return live->sink.lost_total() == 0; }};
}

template <class Writer>
lane rows_by(const char* name) {
  struct state {
    Writer writer;
    std::size_t next = 0;
    std::size_t since = 0;
  };
  auto live = std::make_shared<state>();
  return {name, [live](std::size_t n, unsigned) {
            const std::vector<measured>& from = examples();
            for (std::size_t i = 0; i < n; ++i) {
              if (live->since == rows_per_file) {
                live->writer.rewind();
                live->since = 0;
              }
              live->writer.put(from[live->next++ % variety]);
              ++live->since;
            }
          }};
}

}  // namespace

void add_text_rows() {
  rows().push_back(
      {"csv_row", "two bare clock reads", 2.4, {rows_by<our_csv>("ours"), two_reads()}});
  rows().push_back({"csv_row/fprintf",
                    "fprintf",
                    0.2,
                    {rows_by<our_csv>("ours"), rows_by<by_fprintf>("fprintf")}});
  rows().push_back(
      {"json_line", "two bare clock reads", 3.2, {rows_by<our_json>("ours"), two_reads()}});
  rows().push_back({"binary_row", "two bare clock reads", 0.8, {binary_rows(), two_reads()}});
  rows().push_back(
      {"csv_row/fmt_compiled", "ours", 0, {rows_by<by_fmt>("fmt"), rows_by<our_csv>("ours")}});
}

}  // namespace bench
