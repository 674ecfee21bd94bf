// SPDX-License-Identifier: Apache-2.0
// A sink in forty lines: a line of text per scope, every one that cannot be written counted.
#include <cstdio>
#include <cstring>
#include <fabscope/session.hpp>
#include <span>
#include <string>

using namespace fabscope::literals;

class line_sink {
 public:
  explicit line_sink(std::FILE* to) : to_(to) {}

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const fabscope::scope_record& scope : batch) {
      const std::string_view name = about.label(scope.name);
      const std::uint64_t begin = about.ns(scope.header.ticks);
      const int bytes = std::fprintf(to_, "%u\t%.*s\t%llu\t%llu\n", about.tid(scope.header.thread),
                                     static_cast<int>(name.size()), name.data(),
                                     static_cast<unsigned long long>(begin),
                                     static_cast<unsigned long long>(about.ns(scope.end) - begin));
      if (bytes > 0) {
        ++waiting_;
      } else {
        lose(1);
      }
    }
  }
  void flush(const fabscope::sink_context&) noexcept {
    if (std::fflush(to_) != 0) lose(waiting_);
    waiting_ = 0;
  }
  void finish(const fabscope::sink_context& about) noexcept { flush(about); }
  fabscope::errc status() const noexcept { return status_; }
  std::uint64_t lost_total() const noexcept { return lost_; }

 private:
  void lose(std::uint64_t count) noexcept {
    lost_ += count;
    if (count != 0) status_ = fabscope::errc::io;
  }
  std::FILE* to_;
  std::uint64_t waiting_ = 0;  // in the buffer of the FILE
  std::uint64_t lost_ = 0;
  fabscope::errc status_ = fabscope::errc::ok;
};

int main() {
  char text[16384] = {};
  std::FILE* const memory = ::fmemopen(text, sizeof text, "w");
  std::FILE* const full = std::fopen("/dev/full", "w");  // every write fails
  line_sink good(memory);
  line_sink bad(full);
  fabscope::session session;
  session.add_sink(good);
  session.add_sink(bad);
  for (int n = 0; n < 100; ++n) const fabscope::scope work{"work"_name};
  session.finish();
  std::fclose(memory);
  std::fclose(full);
  int lines = 0;
  for (const char* at = text; (at = std::strchr(at, '\n')) != nullptr; ++at) ++lines;
  std::printf("%d lines, lost %llu; the other one lost %llu\n", lines,
              static_cast<unsigned long long>(good.lost_total()),
              static_cast<unsigned long long>(bad.lost_total()));
  return lines == 100 && good.lost_total() == 0 && bad.lost_total() == 100 ? 0 : 1;
}
