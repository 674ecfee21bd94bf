// SPDX-License-Identifier: Apache-2.0
// One collective or point-to-point operation of one rank. Layer: event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fabscope/event/collective.hpp>
#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Where an operation's times come from. The values are part of the segment format.
enum class timing_source : std::uint8_t {
  unknown = 0,
  kernel_gpu = 1,      ///< the GPU's own stamps, per channel
  kernel_cpu = 2,      ///< the CPU's, when it noticed the GPU's start and stop
  collective_cpu = 3,  ///< the CPU's, around putting the operation into its stream: no duration
};
constexpr const char* to_string(timing_source source) noexcept {
  constexpr const char* names[] = {"unknown", "kernel_gpu", "kernel_cpu", "collective_cpu"};
  return static_cast<unsigned>(source) < 4 ? names[static_cast<unsigned>(source)] : "unknown";
}

/// A name out of a short list, as a number that fits into four bits; 0 for any other.
template <std::size_t Count>
struct name_list {
  std::string_view name[Count];
  [[nodiscard]] constexpr std::uint8_t find(std::string_view wanted) const noexcept {
    for (std::size_t i = 1; i < Count; ++i) {
      if (name[i] == wanted) return static_cast<std::uint8_t>(i);
    }
    return 0;
  }
  [[nodiscard]] constexpr std::string_view at(unsigned number) const noexcept {
    return number < Count ? name[number] : name[0];
  }
};

/// The numbers are part of the segment format.
inline constexpr name_list<9> algorithm_names{{"Unknown", "TREE", "RING", "COLLNET_DIRECT",
                                               "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT",
                                               "SYMMETRIC"}};
inline constexpr name_list<4> protocol_names{{"Unknown", "LL", "LL128", "SIMPLE"}};
inline constexpr name_list<13> datatype_names{{"Unknown", "ncclInt8", "ncclUint8", "ncclInt32",
                                               "ncclUint32", "ncclInt64", "ncclUint64",
                                               "ncclFloat16", "ncclFloat32", "ncclFloat64",
                                               "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"}};

/// Bytes of an element. The host has no name for ncclUint8 and says "Unknown": one byte.
constexpr std::uint64_t datatype_bytes(unsigned datatype) noexcept {
  constexpr std::uint8_t bytes[] = {1, 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return datatype < sizeof bytes ? bytes[datatype] : 1;
}

/// Written when the operation is complete as far as the host says so.
/// Units: nanoseconds; bytes that the call names (count times size of the type), see size_factor.
struct FABSCOPE_VISIBLE collective_record {
  record_header header;  ///< ticks: when the host announced the operation
  std::uint64_t bytes = 0;
  std::uint64_t parent = 0;        ///< cause on the thread that called the library; 0: unknown
  std::uint64_t span_ns = 0;       ///< last stop minus first start over all channels
  std::uint64_t longest_ns = 0;    ///< of the channel that took longest
  std::uint32_t communicator = 0;  ///< label, see communicator_text
  std::uint32_t sequence = 0;      ///< per function and communicator; of point-to-point, ours
  std::int32_t peer = -1;          ///< point-to-point: the other rank; else the root
  std::uint8_t kind = 0;           ///< collective, and datatype << 4
  std::uint8_t method = 0;         ///< algorithm, and protocol << 4
  std::uint8_t flags = 0;          ///< timing_source, and flag bits
  std::uint8_t channels = 0;       ///< that reported start and stop; 255: 255 or more

  enum flag : std::uint8_t {
    source_bits = 3,
    captured = 4,    ///< part of a captured graph
    incomplete = 8,  ///< fewer channels reported than were announced
  };

  [[nodiscard]] FABSCOPE_HIDDEN constexpr collective function() const noexcept {
    return static_cast<collective>(kind & 15U);
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr unsigned datatype() const noexcept { return kind >> 4; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr unsigned algorithm() const noexcept {
    return method & 15U;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr unsigned protocol() const noexcept { return method >> 4; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr timing_source source() const noexcept {
    return static_cast<timing_source>(flags & source_bits);
  }

  static constexpr const char* type_name = "collective";
  static constexpr bool is_row = false;
  FABSCOPE_HIDDEN static const field fields[11];
};
static_assert(static_cast<unsigned>(collective::count_) <= 16);

inline constexpr field collective_record::fields[11] = {
    {"bytes", "B", offsetof(collective_record, bytes), field_type::u64},
    {"parent", "", offsetof(collective_record, parent), field_type::cause},
    {"span", "ns", offsetof(collective_record, span_ns), field_type::u64},
    {"longest", "ns", offsetof(collective_record, longest_ns), field_type::u64},
    {"communicator", "", offsetof(collective_record, communicator), field_type::label},
    {"sequence", "", offsetof(collective_record, sequence), field_type::u32},
    {"peer", "", offsetof(collective_record, peer), field_type::i32},
    {"kind", "", offsetof(collective_record, kind), field_type::u8},
    {"method", "", offsetof(collective_record, method), field_type::u8},
    {"flags", "", offsetof(collective_record, flags), field_type::u8},
    {"channels", "", offsetof(collective_record, channels), field_type::u8},
};
static_assert(sizeof(collective_record) == 64 && event_record<collective_record>);

/// A communicator in the text of its label: "0x<id, 16 digits> <rank> <ranks> <nodes> <generation>
/// <name>". The name is the rest of the text, whatever bytes it has.
struct FABSCOPE_VISIBLE communicator_text {
  std::string_view id;  ///< empty: unknown
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;  ///< 0: unknown
  std::uint32_t nodes = 0;
  std::uint32_t generation = 0;
  std::string_view name;

  FABSCOPE_HIDDEN static constexpr communicator_text parse(std::string_view text) noexcept {
    communicator_text out;
    if (text.empty()) return out;
    const auto word = [&text]() noexcept {
      const std::size_t end = text.find(' ');
      const std::string_view found = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      return found;
    };
    const auto number = [&word]() noexcept {
      std::uint32_t value = 0;
      for (const char c : word()) value = value * 10 + static_cast<std::uint32_t>(c - '0');
      return value;
    };
    out.id = word();
    out.rank = number();
    out.ranks = number();
    out.nodes = number();
    out.generation = number();
    out.name = text;
    return out;
  }
};

FABSCOPE_NAMESPACE_END
