// SPDX-License-Identifier: Apache-2.0
// More about the scope that is open: named numbers and texts. Layer: scope.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <fabscope/event/attribute_record.hpp>
#include <fabscope/scope/emit.hpp>
#include <fabscope/scope/name.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {
inline bool emit_attribute(site& name, attribute_record record, std::string_view text) noexcept {
  const std::uint32_t mask = current_mask();
  if ((mask & recording_scopes) == 0) return false;
  thread_port* port = port_for(mask);
  if (port == nullptr) return false;
  const std::uint64_t labels = name.labels(port->site_pattern, port->table);
  record.name = static_cast<std::uint32_t>(labels);
  record.domain = static_cast<std::uint32_t>(labels >> 32);
  record.scope = port->thread->cause;
  if (record.kind == static_cast<std::uint32_t>(attribute_kind::text)) {
    record.text = port->table->label(text.data(), text.size());
  }
  return emit(record);
}

template <class T>
concept attribute_value =
    std::integral<T> || std::floating_point<T> || std::convertible_to<T, std::string_view>;
}  // namespace detail

/// Says something about the calling thread's innermost scope, as an attribute_record:
/// `attribute("peer"_name, 17); attribute("algorithm"_name, "ring");`
/// One integer and an amount of bytes fit into the scope itself, without a record of their own.
/// Threads: any.  Progress: wait-free with a number.
/// Errors: false when nothing is recorded, as emit.
/// Cost: a clock read and one record; a text is looked up under the session's lock, and each new
/// one takes room in the segment for good, so let there be few different ones.
template <scope_domain Domain = default_domain, fixed_string Text, detail::attribute_value Value>
bool attribute(constant_name<Text>, const Value& value) noexcept {
  attribute_record record;
  std::string_view text;
  attribute_kind kind = attribute_kind::integer;
  if constexpr (std::integral<Value>) {
    record.integer = static_cast<std::int64_t>(value);
  } else if constexpr (std::floating_point<Value>) {
    kind = attribute_kind::real;
    record.real = static_cast<double>(value);
  } else {
    kind = attribute_kind::text;
    text = value;
  }
  record.kind = static_cast<std::uint32_t>(kind);
  return detail::emit_attribute(site_of<Text, Domain>, record, text);
}

FABSCOPE_NAMESPACE_END
