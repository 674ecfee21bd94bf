// SPDX-License-Identifier: Apache-2.0
// Visits the records of one type that a segment's rings still hold. Layer: session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <fabscope/event/adapt.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/session/segment_view.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Calls `visit(record, thread)`, a thread after the other, each in its order, whichever version's
/// layout a record has.
template <event_record Record, class Visit>
void each_record(const segment_view& view, Visit&& visit) {
  const auto types = view.types();
  std::optional<layout_adapter<Record>> adapter;
  std::size_t adapted = 0;  // number of its type
  for (const segment_format::thread_entry& thread : view.threads()) {
    for (const slot_line& line : view.records(thread)) {
      const auto number = static_cast<std::size_t>(line.word[0] & 0xffff);
      if (number == 0 || number > types.size()) continue;
      if (number != adapted) {
        const segment_format::type_entry& type = types[number - 1];
        if (entry_text(type.name) != Record::type_name || type.bytes > slot_bytes) continue;
        adapter.emplace(type.bytes, field_finder<Record>(type));
        adapted = number;
      }
      visit(adapter->convert(reinterpret_cast<const unsigned char*>(line.word)), thread);
    }
  }
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
