// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/session.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <span>

using namespace fabscope::literals;

namespace {

/// A sink that takes every scope and can write none.
struct losing_sink {
  std::uint64_t lost = 0;
  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context&) noexcept {
    lost += batch.size();
  }
  void flush(const fabscope::sink_context&) noexcept {}
  [[nodiscard]] std::uint64_t lost_total() const noexcept { return lost; }
};

}  // namespace

TEST_CASE("session.collector: a record that one sink wrote and another lost is dropped, once") {
  fabscope::options chosen;
  chosen.outputs = fabscope::output_none;
  fabscope::session session(chosen);
  fabscope::memory_sink<fabscope::scope_record> kept;
  losing_sink first;
  losing_sink second;
  REQUIRE(session.add_sink(kept) == fabscope::errc::ok);
  REQUIRE(session.add_sink(first) == fabscope::errc::ok);
  for (int n = 0; n < 10; ++n) const fabscope::scope one{"one"_name};
  session.flush();
  CHECK(session.totals().dropped == 10);
  REQUIRE(session.add_sink(second) == fabscope::errc::ok);
  for (int n = 0; n < 5; ++n) const fabscope::scope one{"one"_name};
  session.finish();
  const auto totals = session.totals();
  CHECK(kept.all<fabscope::scope_record>().size() == 15);
  CHECK(totals.produced == 15);
  CHECK(totals.dropped == 15);
  CHECK(totals.written == 0);
  CHECK(totals.produced ==
        totals.written + totals.dropped + totals.overwritten + totals.filtered + totals.unread);
}
