// SPDX-License-Identifier: Apache-2.0
#include "report_records.hpp"

#include <cstdint>
#include <cstring>
#include <fabscope/event/cause.hpp>
#include <fabscope/session/replay.hpp>
#include <fabscope/session/report_table.hpp>
#include <string>
#include <string_view>

namespace fs = fabscope;
using fs::detail::entry_text;

namespace {

std::string decimal(double value, int decimals) {
  return std::string(std::string_view(fs::detail::decimal(value, decimals)));
}
std::string word(std::string_view name, const char* none = fs::detail::unknown_text) {
  return std::string(std::string_view(fs::detail::word(name, none)));
}

template <class Number>
Number number_at(const unsigned char* at) {
  Number value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string since_begin(const fs::segment_view& view, std::uint64_t ticks) {
  const auto ahead = static_cast<std::int64_t>(view.ns(ticks) - view.head().begin.monotonic_ns);
  return decimal(static_cast<double>(ahead) / 1e9, 9);
}

std::string cause_text(const fs::segment_view& view, fs::cause cause) {
  if (cause.kind() == fs::cause_kind::none) return "none";
  constexpr const char* kinds[] = {"none", "scope", "collective", "proxy_step"};
  const auto kind = static_cast<std::size_t>(cause.kind());
  return std::string(kind < 4 ? kinds[kind] : "unknown") + ":" + word(view.label(cause.label())) +
         "#" + std::to_string(cause.number());
}

std::string element_text(const fs::segment_view& view, fs::field_type type,
                         const unsigned char* at) {
  switch (type) {
    case fs::field_type::u8: return std::to_string(*at);
    case fs::field_type::u16: return std::to_string(number_at<std::uint16_t>(at));
    case fs::field_type::u32: return std::to_string(number_at<std::uint32_t>(at));
    case fs::field_type::u64: return std::to_string(number_at<std::uint64_t>(at));
    case fs::field_type::i8: return std::to_string(number_at<std::int8_t>(at));
    case fs::field_type::i16: return std::to_string(number_at<std::int16_t>(at));
    case fs::field_type::i32: return std::to_string(number_at<std::int32_t>(at));
    case fs::field_type::i64: return std::to_string(number_at<std::int64_t>(at));
    case fs::field_type::f32: return decimal(static_cast<double>(number_at<float>(at)), 6);
    case fs::field_type::f64: return decimal(number_at<double>(at), 6);
    case fs::field_type::label: return word(view.label(number_at<std::uint32_t>(at)));
    case fs::field_type::ticks: return since_begin(view, number_at<std::uint64_t>(at)) + "s";
    case fs::field_type::span:
      return decimal(view.span_ns(static_cast<double>(number_at<std::uint64_t>(at))), 0) + "ns";
    case fs::field_type::cause: return cause_text(view, fs::cause(number_at<std::uint64_t>(at)));
    case fs::field_type::text:
    case fs::field_type::none: break;
  }
  return "?";
}

void print_field(std::string& to, const fs::segment_view& view,
                 const fs::segment_format::type_entry& type,
                 const fs::segment_format::field_entry& field, const unsigned char* record) {
  const auto kind = static_cast<fs::field_type>(field.type);
  const std::size_t bytes = fs::size_of(kind);
  to += ' ';
  to += word(entry_text(field.name));
  to += '=';
  if (bytes == 0 || field.offset + bytes * field.count > type.bytes) {
    to += '?';
    return;
  }
  const unsigned char* at = record + field.offset;
  if (kind == fs::field_type::text) {
    const auto* text = reinterpret_cast<const char*>(at);
    to += word({text, ::strnlen(text, field.count)}, "\"\"");
    return;
  }
  for (std::size_t i = 0; i < field.count; ++i) {
    if (i != 0) to += ',';
    to += element_text(view, kind, at + i * bytes);
  }
}

}  // namespace

std::string print_records(const fs::segment_view& view) {
  std::string out;
  for (const auto& thread : view.threads()) {
    std::uint64_t number = 0;
    const auto lines = view.records(thread, &number);
    out += "\n== records of " + word(entry_text(thread.name)) + " " + std::to_string(thread.tid) +
           " ==\n";
    for (const fs::slot_line& line : lines) {
      out += std::to_string(number++);
      const auto* type = fs::detail::type_of(view, line);
      if (type == nullptr) {
        out += " ?\n";
        continue;
      }
      const auto* record = reinterpret_cast<const unsigned char*>(line.word);
      out += " +" + since_begin(view, number_at<std::uint64_t>(record + 8)) + " ";
      out += word(entry_text(type->name));
      for (std::uint32_t i = 0; i < type->field_count && i < fs::segment_format::max_fields; ++i) {
        print_field(out, view, *type, type->fields[i], record);
      }
      out += '\n';
    }
  }
  return out;
}
