// SPDX-License-Identifier: Apache-2.0
// A session that keeps the records of scopes in memory, for tests of the scope layer.
#pragma once

#include <cstdint>
#include <fabscope/event/attribute_record.hpp>
#include <fabscope/session.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

/// A scope with its texts.
struct seen_scope {
  fabscope::scope_record record;
  std::string name;
  std::string domain;
};

struct seen_attribute {
  fabscope::attribute_record record;
  std::string name;
  std::string domain;
  std::string text;
};

class seeing_sink {
 public:
  std::vector<seen_scope> scopes;
  std::vector<seen_attribute> attributes;

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const auto& one : batch) {
      scopes.push_back(
          {one, std::string(about.label(one.name)), std::string(about.label(one.domain))});
    }
  }
  void consume(std::span<const fabscope::attribute_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const auto& one : batch) {
      attributes.push_back({one, std::string(about.label(one.name)),
                            std::string(about.label(one.domain)),
                            std::string(about.label(one.text))});
    }
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

/// Runs a session without files and gives what it recorded once it is finished.
class watched_session {
 public:
  watched_session() : session_(quiet()) { session_.add_sink(sink_); }

  [[nodiscard]] fabscope::session& get() noexcept { return session_; }

  const seeing_sink& finish() {
    session_.finish();
    return sink_;
  }
  /// The records of one name, in the order in which they were written.
  std::vector<fabscope::scope_record> named(const std::string& name) {
    std::vector<fabscope::scope_record> out;
    for (const auto& one : finish().scopes) {
      if (one.name == name) out.push_back(one.record);
    }
    return out;
  }
  /// Counts in the rows of all threads, while the session runs.
  [[nodiscard]] static std::map<std::string, std::uint64_t> counts() {
    std::map<std::string, std::uint64_t> out;
    auto view =
        fabscope::segment_view::map(fabscope::detail::current_engine()->memory_file().descriptor());
    if (!view) return out;
    view->rows<fabscope::scope_row>([&](const fabscope::scope_row& row, std::uint32_t) {
      out[std::string(view->label(row.name))] += row.count;
    });
    return out;
  }

 private:
  static fabscope::options quiet() {
    fabscope::options chosen;
    chosen.outputs = fabscope::output_none;
    return chosen;
  }

  seeing_sink sink_;
  fabscope::session session_;
};
