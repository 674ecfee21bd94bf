// SPDX-License-Identifier: Apache-2.0
// The translation unit with the session. Exit status 0 if every record arrived.
#include <cstdio>
#include <fabscope/fabscope.hpp>
#include <fabscope/session.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "holders.hpp"
#include "work.hpp"
#if CONSUMER_HAS_FABRIC
bool open_fabric();
#endif
#if CONSUMER_HAS_SESSION
bool session_runs_here();
#endif

using namespace fabscope::literals;

namespace {

struct sums {
  std::uint64_t scopes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t attributes = 0;
  double residuals = 0;

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context&) noexcept {
    for (const auto& one : batch) bytes += one.bytes;
    scopes += batch.size();
  }
  void consume(std::span<const fabscope::attribute_record> batch,
               const fabscope::sink_context&) noexcept {
    attributes += batch.size();
  }
  void consume(std::span<const residual> batch, const fabscope::sink_context&) noexcept {
    for (const auto& one : batch) residuals += one.value;
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

int check(bool good, const char* what) {
  if (!good) std::fprintf(stderr, "FAILED: %s\n", what);
  return good ? 0 : 1;
}

}  // namespace

#ifndef CONSUMER_MAIN
#define CONSUMER_MAIN main
#endif

int CONSUMER_MAIN() {
  sums seen;
  int failures = 0;
  profiler all;
  failures += check(all.session->status() == fabscope::errc::ok, "the session starts");
  all.session->add_sink<residual>(seen);
  int n = 0;
  for (int round = 0; round < 10; ++round) {
    const fabscope::step step{round};
    n = work(n) + in_line(n);
  }
  std::vector<request> requests;
  for (int i = 0; i < 5; ++i) {
    requests.push_back({fabscope::detached_scope{"request"_name, 1}, fabscope::handle{}, {}});
  }
  requests.clear();
#if CONSUMER_HAS_FABRIC
  failures += check(open_fabric(), "an instrumented fabric opens and closes");
#endif
#if CONSUMER_HAS_SESSION
  failures += check(session_runs_here(), "a second file with the session");
#endif
  all.session->finish();
  failures += check(hold_everything() != 0, "types of the library in types of one's own");
  failures += check(seen.scopes == 10 * 8 + 5, "number of scopes");
  failures += check(seen.bytes == 10 * (4096 + 8) + 5, "bytes of scopes");
  failures += check(seen.attributes == 10, "attributes");
  failures += check(seen.residuals == 5.0, "records of one's own");
  failures += check(n != 0, "the work itself");
  std::printf("%d failures, %llu scopes\n", failures, static_cast<unsigned long long>(seen.scopes));
  return failures;
}
