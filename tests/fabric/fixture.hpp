// SPDX-License-Identifier: Apache-2.0
// A session whose rows and records a test can look at.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/session.hpp>
#include <fabscope/session/report_merge.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <memory>
#include <string>
#include <vector>

namespace fabric_test {
namespace {  // holds hidden types

namespace fs = fabscope;

/// Everything of one session; rows are read live.
class recorded {
 public:
  recorded() : recorded(fs::options_from_environment()) {}
  explicit recorded(fs::options chosen) {
    chosen.run_level = fs::level::record;
    session_ = std::make_unique<fs::session>(chosen);
    REQUIRE(session_->status() == fs::errc::ok);
    REQUIRE(session_->add_sink(sink_) == fs::errc::ok);
  }

  fs::session& session() { return *session_; }

  const std::vector<fs::operation_record>& records() {
    session_->flush();
    return sink_.all<fs::operation_record>();
  }

  template <class Row>
  std::vector<Row> rows() {
    session_->flush();
    auto view = fs::segment_view::map(fs::detail::current_engine()->memory_file().descriptor());
    REQUIRE(view.has_value());
    return fs::detail::merged_rows<Row>(*view);
  }

  std::string label(std::uint32_t number) {
    return std::string(fs::detail::current_engine()->memory_file().label(number));
  }

  /// Operations counted for one kind, timed or not.
  std::uint64_t count(fs::operation op, int level = -1) {
    std::uint64_t sum = 0;
    for (const fs::link_row& row : rows<fs::link_row>()) {
      if (row.op == static_cast<std::uint8_t>(op) && (level < 0 || row.level == level))
        sum += row.count;
    }
    return sum;
  }
  std::uint64_t bytes(fs::operation op) {
    std::uint64_t sum = 0;
    for (const fs::link_row& row : rows<fs::link_row>()) {
      if (row.op == static_cast<std::uint8_t>(op)) sum += row.bytes;
    }
    return sum;
  }
  std::uint64_t failures(fs::operation op, fs::failure_stage stage, int error) {
    std::uint64_t sum = 0;
    for (const fs::link_error_row& row : rows<fs::link_error_row>()) {
      if (row.op == static_cast<std::uint8_t>(op) &&
          row.stage == static_cast<std::uint8_t>(stage) && row.error == error) {
        sum += row.count;
      }
    }
    return sum;
  }
  std::uint64_t tally(const std::string& what, const std::string& subject) {
    for (const fs::tally_row& row : rows<fs::tally_row>()) {
      if (label(row.what) == what && label(row.subject) == subject) return row.count;
    }
    return 0;
  }

 private:
  fs::memory_sink<fs::operation_record> sink_;
  std::unique_ptr<fs::session> session_;
};

}  // namespace
}  // namespace fabric_test
