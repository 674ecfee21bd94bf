// SPDX-License-Identifier: Apache-2.0
// Gives the records that a segment's rings still hold to a sink. Layer: session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fabscope/event/record.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/session/sink_binding.hpp>
#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// The type of a record as the segment describes it; null if the bytes are no record of its types.
inline const segment_format::type_entry* type_of(const segment_view& view,
                                                 const slot_line& line) noexcept {
  record_header header;
  std::memcpy(&header, line.word, sizeof header);
  const auto types = view.types();
  if (header.type == 0 || header.type > types.size()) return nullptr;
  const segment_format::type_entry& type = types[header.type - 1];
  const bool fits = type.is_row == 0 && type.bytes >= sizeof header && type.bytes <= slot_bytes &&
                    type.bytes % 8 == 0 && header.size == type.bytes;
  return fits ? &type : nullptr;
}

inline std::uint64_t replay(segment_view& view, bound_sink& sink) {
  const sink_context about = view.context();
  std::uint64_t given = 0;
  std::vector<unsigned char> packed;
  for (const segment_format::thread_entry& thread : view.threads()) {
    const std::vector<slot_line> lines = view.records(thread);
    for (std::size_t at = 0; at < lines.size();) {
      const auto number = static_cast<std::uint32_t>(lines[at].word[0] & 0xffff);
      const segment_format::type_entry* type = type_of(view, lines[at]);
      record_route* route = type == nullptr ? nullptr : sink.route(number, *type);
      if (route == nullptr) {
        ++at;
        continue;
      }
      packed.clear();  // neighbours of one type in one batch, so that a thread's order is kept
      std::size_t count = 0;
      for (; at < lines.size() && type_of(view, lines[at]) == type; ++at, ++count) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(lines[at].word);
        packed.insert(packed.end(), bytes, bytes + type->bytes);
      }
      route->deliver(packed.data(), count, about);
      given += count;
    }
  }
  sink.flush(about);
  sink.finish(about);
  return given;
}

}  // namespace detail

/// Gives every record that a segment still holds and that the sink consumes to the sink, a thread
/// after the other, each in its order, and then the sink's last calls. Returns how many.
/// Threads: one; the segment may be written to meanwhile.
template <event_record... Records, event_sink Sink>
std::uint64_t replay(segment_view& view, Sink& sink) {
  detail::typed_sink<Sink, Records..., scope_record, step_record, attribute_record,
                     operation_record>
      bound(sink);
  return detail::replay(view, bound);
}

FABSCOPE_NAMESPACE_END
