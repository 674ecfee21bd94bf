// SPDX-License-Identifier: Apache-2.0
// A program with work, output and an exit status of its own, and with a session around it.
//   program RECORDS [ready-file go-file]   in between it says that half is recorded, and waits
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fabscope/session.hpp>
#include <span>

using namespace fabscope::literals;

namespace {

/// Counts with code of its own what the session handed out.
struct counting_sink {
  std::uint64_t scopes = 0;
  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context&) noexcept {
    scopes += batch.size();
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

void wait_for(const char* path) {
  for (int n = 0; ::access(path, F_OK) != 0 && n < 3000; ++n) ::usleep(10000);
}

void work(fabscope::session& session, int records) {
  for (int n = 0; n < records; ++n) {
    const fabscope::scope one{"one"_name, 64};
    if (n % 4096 == 4095) session.flush();  // so that no ring overflows
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int records = count > 1 ? std::atoi(arguments[1]) : 1000;
  counting_sink counted;
  fabscope::record_totals totals;
  {
    fabscope::session session;
    session.add_sink(counted);
    work(session, records / 2);
    if (count > 3) {
      session.flush();
      ::close(::open(arguments[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      wait_for(arguments[3]);
    }
    work(session, records - records / 2);
    session.finish();
    totals = session.totals();
  }
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("done: %d\n", records);
  std::printf("totals: %llu %llu %llu %llu %llu %llu sink: %llu\n", number(totals.produced),
              number(totals.written), number(totals.dropped), number(totals.overwritten),
              number(totals.filtered), number(totals.unread), number(counted.scopes));
  return std::fflush(stdout) == 0 ? 7 : 8;
}
