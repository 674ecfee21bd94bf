// SPDX-License-Identifier: Apache-2.0
// Every record as a row of 64 bytes, in a file that describes itself. Layer: sink.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fabscope/event/cause.hpp>
#include <fabscope/sink/binary_format.hpp>
#include <fabscope/sink/concepts.hpp>
#include <fabscope/sink/detail/row_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Writes `records.bin` (binary_format.hpp); binary_file reads it. Takes records of any type.
/// Units: ticks, and at least every 10 ms what they are in CLOCK_MONOTONIC nanoseconds.
/// Threads: one at a time.  Errors: rows that cannot be written are counted; status() has the
/// first. Cost: docs/overhead.md, row binary_row; allocates when a label or thread is first seen.
class FABSCOPE_VISIBLE binary_sink {
 public:
  FABSCOPE_HIDDEN explicit binary_sink(const file_sink_options& options) noexcept
      : file_("records.bin", options) {
    labels_.add(0);  // no name, nothing to explain
  }

  template <event_record Record>
  FABSCOPE_HIDDEN void consume(std::span<const Record> batch, const sink_context& about) noexcept {
    take(known_type<Record>{}, reinterpret_cast<const unsigned char*>(batch.data()), batch.size(),
         about);
  }
  /// `count` records of a type that is known at run time only, one behind the other, each
  /// `type.bytes` long and with a record_header in front. Every field lies in these bytes.
  FABSCOPE_HIDDEN void consume_described(const fabscope_type& type, const unsigned char* packed,
                                         std::size_t count, const sink_context& about) noexcept {
    take(described_type{type}, packed, count, about);
  }
  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept { file_.flush(); }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    file_.finish([&](text_writer& to, const clock_snapshot& end) noexcept {
      const binary_format::end_note words{file_.rows_written(), file_.rows_lost(),
                                          about.held_back(),    end.monotonic_ns,
                                          end.boottime_ns,      end.realtime_ns};
      put_note(to, binary_format::note::end, 0, &words, sizeof words);
    });
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return file_.status(); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return file_.rows_lost();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_written() const noexcept {
    return file_.rows_written();
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool capped() const noexcept { return file_.capped(); }
  [[nodiscard]] FABSCOPE_HIDDEN int error_number() const noexcept { return file_.error_number(); }

 private:
  /// Numbers that the file has explained.
  class number_set {
   public:
    FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE bool has(std::uint32_t number) const noexcept {
      return number < seen_.size() && seen_[number] != 0;
    }
    /// For numbers that, or-ed together, are below room(): a power of two, so each one is too.
    FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE unsigned flag(std::uint32_t number) const noexcept {
      return seen_[number];
    }
    [[nodiscard]] FABSCOPE_HIDDEN std::size_t room() const noexcept { return seen_.size(); }
    FABSCOPE_HIDDEN void add(std::uint32_t number) noexcept {
      if (number >= seen_.size()) seen_.resize(std::bit_ceil(std::size_t{number} + 64));
      seen_[number] = 1;
    }

   private:
    std::vector<unsigned char> seen_;
  };

  /// Calls visit(label number) for each name that the field refers to.
  template <class Visit>
  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE static void labels_in(const void* record,
                                                               const fabscope_field& one,
                                                               Visit& visit) noexcept {
    const auto* at = static_cast<const unsigned char*>(record) + one.offset;
    if (one.type == static_cast<std::uint8_t>(field_type::label)) {
      for (std::size_t i = 0; i < one.count; ++i) {
        std::uint32_t number;
        std::memcpy(&number, at + 4 * i, sizeof number);
        visit(number);
      }
    } else if (one.type == static_cast<std::uint8_t>(field_type::cause)) {
      for (std::size_t i = 0; i < one.count; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, at + 8 * i, sizeof bits);
        visit(cause(bits).label());
      }
    }
  }
  /// Where the compiler knows the fields it leaves only the loads of the labels.
  template <class Record>
  struct known_type {
    static constexpr std::size_t bytes = sizeof(Record);
    template <std::size_t Index>
    static constexpr field constant_field = Record::fields[Index];

    template <class Visit>
    FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE void each_label(const void* record,
                                                           Visit visit) const noexcept {
      if constexpr (requires { typename std::integral_constant<int, Record::fields[0].type>; }) {
        [&]<std::size_t... Index>(std::index_sequence<Index...>) noexcept {
          (labels_in(record, constant_field<Index>, visit), ...);
        }
        (std::make_index_sequence<std::size(Record::fields)>());
      } else {
        for (const fabscope_field& one : Record::fields) labels_in(record, one, visit);
      }
    }
    [[nodiscard]] FABSCOPE_HIDDEN fabscope_type about() const noexcept {
      return describe<Record>();
    }
  };
  struct described_type {
    const fabscope_type& type;
    std::size_t bytes = type.bytes;

    template <class Visit>
    FABSCOPE_HIDDEN void each_label(const void* record, Visit visit) const noexcept {
      for (std::uint32_t i = 0; i < type.field_count; ++i) labels_in(record, type.fields[i], visit);
    }
    [[nodiscard]] FABSCOPE_HIDDEN fabscope_type about() const noexcept { return type; }
  };

  template <class Type>
  FABSCOPE_HIDDEN void take(const Type& type, const unsigned char* data, std::size_t count,
                            const sink_context& about) noexcept {
    if (count == 0) return;
    const std::uint64_t now = about.ns(header_of(data).ticks);
    if (now < clock_ns_ || now - clock_ns_ >= clock_every_ns) clock_is_new_ = true;
    for (std::size_t at = 0; at < count;) {
      const unsigned char* const from = data + at * type.bytes;
      const record_header header = header_of(from);
      std::size_t known = 0;
      if (!clock_is_new_ && types_.has(header.type) && threads_.has(header.thread)) {
        // Not more than the nearest cache holds until they are copied.
        const std::size_t most = count - at < 128 ? count - at : 128;
        const std::uint64_t origin = origin_of(from);
        while (known < most && is_known(type, from + known * type.bytes, origin)) ++known;
      }
      if (known != 0) {  // what comes next may only be of another thread
        write(from, known, type.bytes);
        at += known;
        continue;
      }
      ++at;
      if (!write_with_notes(type, from, about)) continue;
      remember(type, from, about);
      if (clock_is_new_) clock_ns_ = now;
      clock_is_new_ = false;
    }
  }

  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE static record_header header_of(
      const unsigned char* record) noexcept {
    record_header header;
    std::memcpy(&header, record, sizeof header);
    return header;
  }
  /// Type and thread, as they stand in the record.
  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE static std::uint64_t origin_of(
      const unsigned char* record) noexcept {
    std::uint64_t word;
    std::memcpy(&word, record, sizeof word);
    return word;
  }
  template <class Type>
  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE bool is_known(const Type& type,
                                                       const unsigned char* record,
                                                       std::uint64_t origin) const noexcept {
    std::uint32_t all = 0;
    type.each_label(record, [&](std::uint32_t number) noexcept { all |= number; });
    if (origin_of(record) != origin || all >= labels_.room()) return false;
    unsigned known = 1;
    type.each_label(record, [&](std::uint32_t number) noexcept { known &= labels_.flag(number); });
    return known != 0;
  }
  template <class Type>
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE void remember(const Type& type, const unsigned char* record,
                                                  const sink_context& about) noexcept {
    types_.add(header_of(record).type);
    threads_.add(header_of(record).thread);
    type.each_label(record, [&](std::uint32_t number) noexcept {
      if (!about.label(number).empty()) labels_.add(number);  // not a number that nobody knows
    });
  }

  /// The notes that the record needs and that are not there yet.
  template <class Type>
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE void introduce(text_writer& to, const Type& type,
                                                   const unsigned char* record,
                                                   const sink_context& about) const noexcept {
    const record_header header = header_of(record);
    if (!types_.has(header.type)) put_type(to, header.type, type.about());
    if (!threads_.has(header.thread)) {
      const binary_format::thread_note words{about.tid(header.thread), 0};
      put_note(to, binary_format::note::thread, header.thread, &words, sizeof words);
    }
    if (clock_is_new_) {
      constexpr std::uint64_t ahead = std::uint64_t{1} << 30;
      const std::uint64_t ticks = header.ticks;
      const binary_format::clock_note words{ticks, about.ns(ticks), ticks + ahead,
                                            about.ns(ticks + ahead)};
      put_note(to, binary_format::note::clock, 0, &words, sizeof words);
    }
    type.each_label(record, [&](std::uint32_t number) noexcept {
      if (labels_.has(number)) return;
      const std::string_view text = about.label(number);
      if (!text.empty()) {
        put_note(to, binary_format::note::label, number, text.data(), text.size());
      }
    });
  }

  template <class Type>
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE bool write_with_notes(const Type& type,
                                                          const unsigned char* record,
                                                          const sink_context& about) noexcept {
    return file_.row([&](text_writer& to) noexcept { put_head(to, about); },
                     [&](text_writer& to) noexcept {
                       introduce(to, type, record, about);
                       char row[slot_bytes] = {};
                       std::memcpy(row, record, type.bytes);
                       to.text({row, sizeof row});
                     });
  }
  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE void write(const unsigned char* records, std::size_t count,
                                                    std::size_t bytes) noexcept {
    if (bytes == slot_bytes) {
      file_.rows(records, count, slot_bytes);
    } else {
      write_padded(records, count, bytes);
    }
  }
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE void write_padded(const unsigned char* records,
                                                      std::size_t count,
                                                      std::size_t bytes) noexcept {
    constexpr std::size_t most = 32;
    char rows[most * slot_bytes] = {};
    for (std::size_t at = 0; at < count;) {
      const std::size_t part = count - at < most ? count - at : most;
      for (std::size_t i = 0; i < part; ++i) {
        std::memcpy(rows + i * slot_bytes, records + (at + i) * bytes, bytes);
      }
      file_.rows(rows, part, slot_bytes);
      at += part;
    }
  }

  FABSCOPE_HIDDEN void put_head(text_writer& to, const sink_context& about) const noexcept {
    const file_sink_options& who = file_.options();
    binary_format::head_row head{binary_format::magic,
                                 binary_format::version,
                                 slot_bytes,
                                 binary_format::byte_order,
                                 who.pid,
                                 who.rank,
                                 static_cast<std::uint32_t>(about.one_in()),
                                 about.anchor_monotonic_ns(),
                                 about.anchor_realtime_ns(),
                                 FABSCOPE_VERSION_STRING};
    to.text({reinterpret_cast<const char*>(&head), sizeof head});
    put_note(to, binary_format::note::host, 0, who.host, std::strlen(who.host));
  }
  FABSCOPE_HIDDEN static void put_type(text_writer& to, std::uint32_t number,
                                       const fabscope_type& type) noexcept {
    struct {
      binary_format::type_note head;
      binary_format::field_note fields[binary_format::max_fields];
    } words{};
    copy_text(words.head.name, type.name);
    words.head.bytes = type.bytes;
    for (std::uint32_t i = 0; i < type.field_count && i < binary_format::max_fields; ++i) {
      const fabscope_field& from = type.fields[i];
      binary_format::field_note& one = words.fields[words.head.field_count++];
      copy_text(one.name, from.name);
      copy_text(one.unit, from.unit);
      one.offset = from.offset;
      one.count = from.count;
      one.type = from.type;
    }
    put_note(to, binary_format::note::type, number, &words,
             sizeof words.head + words.head.field_count * sizeof words.fields[0]);
  }
  FABSCOPE_HIDDEN static void put_note(text_writer& to, binary_format::note kind,
                                       std::uint32_t number, const void* data,
                                       std::size_t size) noexcept {
    for (std::size_t at = 0; at < size; at += sizeof(binary_format::note_row::bytes)) {
      binary_format::note_row row{};
      row.kind = static_cast<std::uint16_t>(kind);
      row.number = number;
      row.offset = static_cast<std::uint32_t>(at);
      row.size = static_cast<std::uint32_t>(size);
      const std::size_t part = size - at < sizeof row.bytes ? size - at : sizeof row.bytes;
      std::memcpy(row.bytes, static_cast<const unsigned char*>(data) + at, part);
      to.text({reinterpret_cast<const char*>(&row), sizeof row});
    }
  }
  template <std::size_t N>
  FABSCOPE_HIDDEN static void copy_text(char (&to)[N], const char* from) noexcept {
    if (from != nullptr) std::memcpy(to, from, ::strnlen(from, N - 1));
  }

  static constexpr std::uint64_t clock_every_ns = 10000000;

  detail::row_file file_;
  std::uint64_t clock_ns_ = 0;
  bool clock_is_new_ = true;
  number_set types_;
  number_set threads_;
  number_set labels_;
};

FABSCOPE_NAMESPACE_END
