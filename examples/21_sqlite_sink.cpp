// SPDX-License-Identifier: Apache-2.0
// A sink into a database: each batch is one transaction, so it is there as a whole or counted as
// lost.
#include <sqlite3.h>

#include <cstdio>
#include <fabscope/session.hpp>
#include <span>

using namespace fabscope::literals;

class sqlite_sink {
 public:
  explicit sqlite_sink(sqlite3* to) : to_(to) {
    run("create table scope(name text, tid int, begin_ns int, dur_ns int, bytes int)");
    sqlite3_prepare_v2(to_, "insert into scope values(?, ?, ?, ?, ?)", -1, &insert_, nullptr);
  }
  ~sqlite_sink() { sqlite3_finalize(insert_); }
  sqlite_sink(const sqlite_sink&) = delete;
  sqlite_sink& operator=(const sqlite_sink&) = delete;

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    bool good = run("begin");
    for (const fabscope::scope_record& scope : batch) {
      const std::string_view name = about.label(scope.name);
      const std::uint64_t begin = about.ns(scope.header.ticks);
      sqlite3_bind_text(insert_, 1, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
      put(2, about.tid(scope.header.thread));
      put(3, begin);
      put(4, about.ns(scope.end) - begin);
      put(5, scope.bytes);
      good = good && sqlite3_step(insert_) == SQLITE_DONE;
      sqlite3_reset(insert_);
    }
    if (good && run("commit")) return;
    run("rollback");
    lost_ += batch.size();
  }
  void flush(const fabscope::sink_context&) noexcept {}
  std::uint64_t lost_total() const noexcept { return lost_; }
  fabscope::errc status() const noexcept {
    return lost_ == 0 ? fabscope::errc::ok : fabscope::errc::io;
  }

 private:
  bool run(const char* sql) noexcept {
    return sqlite3_exec(to_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  void put(int column, std::uint64_t value) noexcept {
    sqlite3_bind_int64(insert_, column, static_cast<sqlite3_int64>(value));
  }
  sqlite3* to_;
  sqlite3_stmt* insert_ = nullptr;
  std::uint64_t lost_ = 0;
};

int main() {
  sqlite3* base = nullptr;
  if (sqlite3_open(":memory:", &base) != SQLITE_OK) return 1;
  {
    sqlite_sink sink(base);  // lives until the session has ended
    fabscope::session session;
    session.add_sink(sink);
    for (std::uint64_t n = 0; n < 3000; ++n) const fabscope::scope copy{"copy"_name, n};
  }
  sqlite3_stmt* query = nullptr;
  sqlite3_prepare_v2(base, "select count(*), sum(bytes) from scope where name = 'copy'", -1, &query,
                     nullptr);
  sqlite3_step(query);
  const auto rows = sqlite3_column_int64(query, 0);
  const auto bytes = sqlite3_column_int64(query, 1);
  sqlite3_finalize(query);
  sqlite3_close(base);
  std::printf("%lld rows, %lld bytes\n", rows, bytes);
  return rows == 3000 && bytes == 2999 * 3000 / 2 ? 0 : 1;
}
