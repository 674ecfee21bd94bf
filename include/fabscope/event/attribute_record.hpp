// SPDX-License-Identifier: Apache-2.0
// Something that the user says about a scope: a name and a number or text. Layer: event.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// What an attribute's value is. The values are part of the segment format.
enum class attribute_kind : std::uint32_t { integer = 0, real = 1, text = 2 };

/// Written when it is said, so it comes before the record of its scope.
struct FABSCOPE_VISIBLE attribute_record {
  record_header header;      ///< ticks: when it was said
  std::uint64_t scope = 0;   ///< cause: the thread's innermost scope, 0 if it had none
  std::int64_t integer = 0;  ///< the value of kind integer
  double real = 0;           ///< of kind real
  std::uint32_t text = 0;    ///< of kind text: label
  std::uint32_t name = 0;    ///< label
  std::uint32_t domain = 0;  ///< label
  std::uint32_t kind = 0;    ///< attribute_kind

  static constexpr const char* type_name = "attribute";
  static constexpr bool is_row = false;
  FABSCOPE_HIDDEN static const field fields[7];
};

inline constexpr field attribute_record::fields[7] = {
    {"scope", "", offsetof(attribute_record, scope), field_type::cause},
    {"integer", "", offsetof(attribute_record, integer), field_type::i64},
    {"real", "", offsetof(attribute_record, real), field_type::f64},
    {"text", "", offsetof(attribute_record, text), field_type::label},
    {"name", "", offsetof(attribute_record, name), field_type::label},
    {"domain", "", offsetof(attribute_record, domain), field_type::label},
    {"kind", "", offsetof(attribute_record, kind), field_type::u32},
};
static_assert(sizeof(attribute_record) == 56 && event_record<attribute_record>);

FABSCOPE_NAMESPACE_END
