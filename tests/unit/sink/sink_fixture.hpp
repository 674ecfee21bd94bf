// SPDX-License-Identifier: Apache-2.0
// Answers and files for tests of sinks.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fabscope/event/cause.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/sink/context.hpp>
#include <fabscope/sink/file_opener.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sink_test {
namespace {  // holds hidden types

namespace fs = fabscope;

/// Ticks are nanoseconds less 1000; thread t has the number 500 + t.
struct answers {
  std::vector<std::string> labels{
      "", "app", "exchange", "fi_addr://a", "fi_addr://b", "tcp", "quo\"te, and\nline"};
  int label_calls = 0;

  fs::sink_context context() {
    return fs::sink_context({this, [](void*, std::uint64_t ticks) { return ticks + 1000; },
                             [](void* self, std::uint32_t number) -> std::string_view {
                               auto* me = static_cast<answers*>(self);
                               ++me->label_calls;
                               if (number >= me->labels.size()) return {};
                               return me->labels[number];
                             },
                             [](void*, std::uint32_t thread) { return 500 + thread; }, 5000,
                             70000});
  }
};

/// A file without a name that a sink opens by kind.
class memory_file {
 public:
  memory_file() : fd_(::memfd_create("sink_test", 0)) {}
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(fd_); }

  fs::file_opener opener() {
    return {this, [](void* self, const char* asked) noexcept {
              auto* me = static_cast<memory_file*>(self);
              ++me->opened;
              me->kind = asked;
              return me->refuses ? -1 : ::dup(me->fd_);
            }};
  }
  fs::file_sink_options options() {
    fs::file_sink_options out;
    out.opener = opener();
    out.end = &end;
    out.host = "node1";
    out.rank = 3;
    out.pid = 42;
    return out;
  }
  std::string text() const {
    std::string out(static_cast<std::size_t>(::lseek(fd_, 0, SEEK_END)), '\0');
    const auto size = ::pread(fd_, out.data(), out.size(), 0);
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return out;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    const std::string all = text();
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t stop = all.find('\n', at);
      out.push_back(all.substr(at, stop - at));
      if (stop == std::string::npos) break;
      at = stop + 1;
    }
    return out;
  }

  int opened = 0;
  bool refuses = false;
  std::string kind;
  fs::clock_snapshot end{1, 900000, 900001, 970000};

 private:
  int fd_;
};

inline fs::operation_record operation_of(std::uint64_t begin, std::uint64_t end,
                                         std::uint64_t bytes, std::int32_t error = 0) {
  fs::operation_record r;
  r.header = {1, sizeof r, 2, begin};
  r.end = end;
  r.bytes = bytes;
  r.local = 3;
  r.remote = 4;
  r.nic = 5;
  r.error = error;
  r.op = static_cast<std::uint8_t>(fs::operation::tsend);
  r.level = static_cast<std::uint8_t>(fs::completion_level::delivery);
  return r;
}

inline fs::scope_record scope_of(std::uint64_t begin, std::uint64_t end) {
  fs::scope_record r;
  r.header = {2, sizeof r, 1, begin};
  r.end = end;
  r.name = 2;
  r.domain = 1;
  r.number = 9;
  return r;
}

template <class Sink, class Record>
void give(Sink& sink, const fs::sink_context& about, const std::vector<Record>& records) {
  sink.consume(std::span<const Record>(records), about);
}

}  // namespace
}  // namespace sink_test
