// SPDX-License-Identifier: Apache-2.0
// Reads the tables of several threads, live, and adds them up in one. Layer: stats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/row_table.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Calls `visit(const Row&)` with a copy of each row in use of a row_table's memory; the row of the
/// keys that found no room, if it was needed, comes first and has `used == row_is_other`. The
/// writer may go on: each word of a copy is as some moment left it.  Threads: any.
template <keyed_row Row, class Visit>
void for_each_row(std::span<const Row> rows, Visit&& visit) {
  using word [[gnu::may_alias]] = std::uint64_t;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (acquire_load(rows[i].used) == 0) {  // pairs with the release in row_table::insert
      if (i == 0) continue;
      break;  // rows are taken in order
    }
    unsigned char copy[sizeof(Row)];
    const auto* from = reinterpret_cast<const word*>(&rows[i]);
    for (std::size_t at = 0; at < sizeof(Row); at += 8) {
      const std::uint64_t value = __atomic_load_n(from++, __ATOMIC_RELAXED);
      std::memcpy(copy + at, &value, 8);
    }
    Row row;
    std::memcpy(&row, copy, sizeof row);
    visit(static_cast<const Row&>(row));
  }
}

/// Adds the rows of a table to another by `add(Row& into, const Row& from)`, which leaves `used`
/// and the key alone. What finds no room goes to the other's row 0, so that totals stay exact.
/// Threads: the writer of `into`.
template <keyed_row Row, class Add>
void merge_rows(row_table<Row>& into, std::span<const Row> from, Add&& add) {
  for_each_row(from, [&](const Row& row) {
    const bool is_other = row.used == row_is_other;
    if (is_other) release_store(into.other().used, row_is_other);
    add(is_other ? into.other() : into.find_or_insert(row.key()), row);
  });
}

FABSCOPE_NAMESPACE_END
