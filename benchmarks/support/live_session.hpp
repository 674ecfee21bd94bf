// SPDX-License-Identifier: Apache-2.0
// The process's session while a row is measured.
#pragma once

#include <memory>

#include <fabscope/session.hpp>
#include <fabscope/sink/null_sink.hpp>

namespace bench {

/// A session that writes no file. At level record its collector reads every record and hands it to
/// a sink that takes all of them and keeps none.
class live_session {
 public:
  explicit live_session(fabscope::level level, std::uint32_t period_ms = 10)
      : session_(chosen(level, period_ms)) {
    if (level == fabscope::level::record) (void)session_.add_sink(sink_);
  }
  [[nodiscard]] fabscope::session& get() noexcept { return session_; }

 private:
  static fabscope::options chosen(fabscope::level level, std::uint32_t period_ms) {
    fabscope::options out;
    out.run_level = level;
    out.outputs = fabscope::output_none;
    out.period_ms = period_ms;
    return out;
  }

  fabscope::null_sink sink_;  // first: it outlives the session
  fabscope::session session_;
};

}  // namespace bench
