// SPDX-License-Identifier: Apache-2.0
// Reads what binary_sink wrote. Layer: sink.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fabscope/core/result.hpp>
#include <fabscope/event/adapt.hpp>
#include <fabscope/sink/binary_format.hpp>
#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The records of one file, in the order in which they were written. A file that was cut anywhere
/// gives what is whole; a note that makes no sense is left out.
/// Units: stamps and spans are CLOCK_MONOTONIC nanoseconds.
/// Threads: one at a time.  Cost: the file in memory.
class FABSCOPE_VISIBLE binary_file {
 public:
  struct field_entry {
    std::string name;
    std::string unit;
    std::uint16_t offset = 0;
    std::uint16_t count = 0;
    field_type type = field_type::none;

    FABSCOPE_HIDDEN field_entry() = default;
    FABSCOPE_HIDDEN field_entry(const field_entry&) = default;
    FABSCOPE_HIDDEN field_entry(field_entry&&) noexcept = default;
    FABSCOPE_HIDDEN field_entry& operator=(const field_entry&) = default;
    FABSCOPE_HIDDEN field_entry& operator=(field_entry&&) noexcept = default;
    FABSCOPE_HIDDEN ~field_entry() = default;
  };
  struct type_entry {
    std::string name;  ///< empty: no such type
    std::size_t bytes = 0;
    std::vector<field_entry> fields;

    FABSCOPE_HIDDEN type_entry() = default;
    FABSCOPE_HIDDEN type_entry(const type_entry&) = default;
    FABSCOPE_HIDDEN type_entry(type_entry&&) noexcept = default;
    FABSCOPE_HIDDEN type_entry& operator=(const type_entry&) = default;
    FABSCOPE_HIDDEN type_entry& operator=(type_entry&&) noexcept = default;
    FABSCOPE_HIDDEN ~type_entry() = default;
  };

 private:
  FABSCOPE_HIDDEN static auto finder(const type_entry& type) noexcept {
    return [&type](std::string_view name) {
      foreign_field out;
      for (const field_entry& one : type.fields) {
        if (one.name == name) out = {one.offset, one.count, one.type};
      }
      return out;
    };
  }

 public:
  FABSCOPE_HIDDEN binary_file() = default;
  FABSCOPE_HIDDEN binary_file(const binary_file&) = default;
  FABSCOPE_HIDDEN binary_file(binary_file&&) noexcept = default;
  FABSCOPE_HIDDEN binary_file& operator=(const binary_file&) = default;
  FABSCOPE_HIDDEN binary_file& operator=(binary_file&&) noexcept = default;
  FABSCOPE_HIDDEN ~binary_file() = default;

  /// Errors: corrupt if it is no such file, or one of another byte order or version; else as the
  /// system says, and errno has its reason.
  FABSCOPE_HIDDEN static result<binary_file> open(const char* path) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES ? errc::no_permission : errc::unavailable;
    binary_file out;
    const ::off_t size = ::lseek(fd, 0, SEEK_END);
    out.rows_.resize(size > 0 ? static_cast<std::size_t>(size) / slot_bytes : 0);
    const std::size_t bytes = out.rows_.size() * slot_bytes;
    std::size_t done = 0;
    while (done < bytes) {
      const ::ssize_t n = ::pread(fd, reinterpret_cast<char*>(out.rows_.data()) + done,
                                  bytes - done, static_cast<::off_t>(done));
      if (n <= 0 && !(n < 0 && errno == EINTR)) break;
      if (n > 0) done += static_cast<std::size_t>(n);
    }
    ::close(fd);
    out.rows_.resize(done / slot_bytes);
    if (!out.read_head()) return errc::corrupt;
    out.read_notes();
    return result<binary_file>(std::move(out));
  }

  [[nodiscard]] FABSCOPE_HIDDEN const binary_format::head_row& head() const noexcept {
    return head_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN const std::string& host() const noexcept { return host_; }
  /// The counts and clocks at the end; null if the file has none: its process was killed.
  [[nodiscard]] FABSCOPE_HIDDEN const binary_format::end_note* end() const noexcept {
    return has_end_ ? &end_ : nullptr;
  }
  /// Type n is entry n.
  [[nodiscard]] FABSCOPE_HIDDEN const std::vector<type_entry>& types() const noexcept {
    return types_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::string_view label(std::uint32_t number) const noexcept {
    return number < labels_.size() ? std::string_view(labels_[number]) : std::string_view();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t tid(std::uint32_t thread) const noexcept {
    return thread < tids_.size() ? tids_[thread] : 0;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t records_total() const noexcept { return records_; }

  /// Answers about the records, whose stamps are nanoseconds already. Valid while this lives where
  /// it is.
  [[nodiscard]] FABSCOPE_HIDDEN sink_context context() noexcept {
    return sink_context({this, [](void*, std::uint64_t ns) { return ns; },
                         [](void* self, std::uint32_t number) {
                           return static_cast<binary_file*>(self)->label(number);
                         },
                         [](void* self, std::uint32_t thread) {
                           return static_cast<binary_file*>(self)->tid(thread);
                         },
                         head_.anchor_monotonic_ns, head_.anchor_realtime_ns});
  }

  /// All records of one type, also where another version wrote it with another layout.
  template <event_record Record>
  [[nodiscard]] FABSCOPE_HIDDEN std::vector<Record> all() const {
    std::vector<Record> out;
    for (std::size_t number = 0; number < types_.size(); ++number) {
      if (types_[number].name != Record::type_name) continue;
      const layout_adapter<Record> adapter(types_[number].bytes, finder(types_[number]));
      for (const row& one : rows_) {
        if (type_of(one) == number) out.push_back(adapter.convert(bytes_of(one)));
      }
    }
    return out;
  }

  /// Gives the records of the types named to a sink, neighbours of a type as one batch, and then
  /// the sink's last calls. Returns how many.
  template <event_record... Records, event_sink Sink>
  FABSCOPE_HIDDEN std::uint64_t replay(Sink& sink) {
    const sink_context about = context();
    std::uint64_t given = 0;
    for (std::size_t at = 1; at < rows_.size();) {
      const std::size_t number = type_of(rows_[at]);
      std::size_t end = at + 1;
      while (end < rows_.size() && type_of(rows_[end]) == number) ++end;
      if (number != 0) {
        const std::span<const row> batch(rows_.data() + at, end - at);
        const bool taken = (give<Records>(types_[number], batch, sink, about) || ... || false);
        given += taken ? batch.size() : 0;
      }
      at = end;
    }
    sink.flush(about);
    detail::finish_of(sink, about);
    return given;
  }

 private:
  struct row {
    std::uint64_t word[slot_bytes / 8];
  };

  FABSCOPE_HIDDEN static const unsigned char* bytes_of(const row& one) noexcept {
    return reinterpret_cast<const unsigned char*>(one.word);
  }
  /// 0: a note, the head, or a record of a type that was not described.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t type_of(const row& one) const noexcept {
    if (&one == rows_.data()) return 0;
    std::uint16_t number;
    std::memcpy(&number, one.word, sizeof number);
    return number < types_.size() && !types_[number].name.empty() ? number : 0;
  }
  template <class Record, class Sink>
  FABSCOPE_HIDDEN bool give(const type_entry& type, std::span<const row> batch, Sink& sink,
                            const sink_context& about) const {
    if constexpr (consumes<Sink, Record>) {
      if (type.name != Record::type_name || !detail::takes<Record>(sink)) return false;
      const layout_adapter<Record> adapter(type.bytes, finder(type));
      std::vector<Record> records;
      records.reserve(batch.size());
      for (const row& one : batch) records.push_back(adapter.convert(bytes_of(one)));
      sink.consume(std::span<const Record>(records), about);
      return true;
    } else {
      return false;
    }
  }

  FABSCOPE_HIDDEN bool read_head() noexcept {
    if (rows_.empty()) return false;
    std::memcpy(&head_, rows_[0].word, sizeof head_);
    return head_.magic == binary_format::magic && head_.version == binary_format::version &&
           head_.row_bytes == slot_bytes && head_.byte_order == binary_format::byte_order;
  }
  FABSCOPE_HIDDEN void read_notes() {
    std::string text;  // of the note whose parts are being read
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      binary_format::note_row part;
      std::memcpy(&part, rows_[i].word, sizeof part);
      if (part.zero != 0) continue;
      if (part.offset != text.size()) text.clear();
      if (part.offset != text.size() || part.size > 65536 || part.offset > part.size) continue;
      const std::size_t left = part.size - part.offset;
      text.append(reinterpret_cast<const char*>(part.bytes),
                  left < sizeof part.bytes ? left : sizeof part.bytes);
      if (text.size() < part.size) continue;
      take_note(static_cast<binary_format::note>(part.kind), part.number, text);
      text.clear();
    }
    std::sort(clock_.begin(), clock_.end(),
              [](const auto& a, const auto& b) noexcept { return a.ticks < b.ticks; });
    for (row& one : rows_) {
      if (type_of(one) == 0) continue;
      ++records_;
      convert(one, types_[type_of(one)]);
    }
  }
  FABSCOPE_HIDDEN void take_note(binary_format::note kind, std::uint32_t number,
                                 const std::string& text) {
    constexpr std::uint32_t most = 1U << 20;
    if (number >= most) return;
    switch (kind) {
      case binary_format::note::host: host_ = text; break;
      case binary_format::note::type: take_type(number, text); break;
      case binary_format::note::label:
        if (number >= labels_.size()) labels_.resize(std::size_t{number} + 1);
        labels_[number] = text;
        break;
      case binary_format::note::thread:
        if (text.size() != sizeof(binary_format::thread_note)) break;
        if (number >= tids_.size()) tids_.resize(std::size_t{number} + 1);
        std::memcpy(&tids_[number], text.data(), sizeof tids_[number]);
        break;
      case binary_format::note::clock: {
        binary_format::clock_note point;
        if (text.size() != sizeof point) break;
        std::memcpy(&point, text.data(), sizeof point);
        if (point.later_ticks > point.ticks && point.later_ns >= point.ns) clock_.push_back(point);
        break;
      }
      case binary_format::note::end:
        if (text.size() != sizeof end_) break;
        std::memcpy(&end_, text.data(), sizeof end_);
        has_end_ = true;
        break;
      default: break;  // of a later version
    }
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t ns(std::uint64_t ticks) const noexcept {
    if (clock_.empty()) return ticks;
    const auto next = std::upper_bound(
        clock_.begin(), clock_.end(), ticks,
        [](std::uint64_t t, const auto& point) noexcept { return t < point.ticks; });
    const binary_format::clock_note& from = next == clock_.begin() ? *next : *(next - 1);
    const bool between = next != clock_.begin() && next != clock_.end() && next->ns >= from.ns;
    const std::uint64_t to_ticks = between ? next->ticks : from.later_ticks;
    const std::uint64_t to_ns = between ? next->ns : from.later_ns;
    const double slope =
        static_cast<double>(to_ns - from.ns) / static_cast<double>(to_ticks - from.ticks);
    const bool back = ticks < from.ticks;
    const double far =
        slope * static_cast<double>(back ? from.ticks - ticks : ticks - from.ticks) + 0.5;
    if (!(far < 9e18)) return from.ns;
    const auto way = static_cast<std::uint64_t>(far);
    return back ? (way < from.ns ? from.ns - way : 0) : from.ns + way;
  }
  /// Stamps and spans become nanoseconds.
  FABSCOPE_HIDDEN void convert(row& one, const type_entry& type) const noexcept {
    auto* bytes = reinterpret_cast<unsigned char*>(one.word);
    const std::uint64_t begin = one.word[1];
    for (const field_entry& field : type.fields) {
      if (field.type != field_type::ticks && field.type != field_type::span) continue;
      for (std::size_t i = 0; i < field.count; ++i) {
        unsigned char* at = bytes + field.offset + 8 * i;
        std::uint64_t value;
        std::memcpy(&value, at, sizeof value);
        value = field.type == field_type::ticks ? ns(value) : ns(begin + value) - ns(begin);
        std::memcpy(at, &value, sizeof value);
      }
    }
    one.word[1] = ns(begin);
  }
  FABSCOPE_HIDDEN void take_type(std::uint32_t number, const std::string& text) {
    binary_format::type_note about;
    if (number == 0 || number > 0xffff || text.size() < sizeof about) return;
    std::memcpy(&about, text.data(), sizeof about);
    const bool fits =
        about.bytes >= sizeof(record_header) && about.bytes <= slot_bytes && about.bytes % 8 == 0 &&
        about.field_count <= binary_format::max_fields &&
        text.size() == sizeof about + about.field_count * sizeof(binary_format::field_note);
    if (!fits) return;
    type_entry type;
    type.name = text_of(about.name);
    type.bytes = about.bytes;
    for (std::uint32_t i = 0; i < about.field_count; ++i) {
      binary_format::field_note from;
      std::memcpy(&from, text.data() + sizeof about + i * sizeof from, sizeof from);
      const auto kind = static_cast<field_type>(from.type);
      if (from.offset + size_of(kind) * from.count > about.bytes) continue;
      field_entry one;
      one.name = text_of(from.name);
      one.unit = text_of(from.unit);
      one.offset = from.offset;
      one.count = from.count;
      one.type = kind;
      type.fields.push_back(std::move(one));
    }
    if (number >= types_.size()) types_.resize(std::size_t{number} + 1);
    types_[number] = std::move(type);
  }
  template <std::size_t N>
  FABSCOPE_HIDDEN static std::string text_of(const char (&text)[N]) {
    return std::string(text, ::strnlen(text, N));
  }

  std::vector<row> rows_;
  binary_format::head_row head_{};
  binary_format::end_note end_{};
  bool has_end_ = false;
  std::uint64_t records_ = 0;
  std::string host_;
  std::vector<type_entry> types_;
  std::vector<std::string> labels_;
  std::vector<std::uint32_t> tids_;
  std::vector<binary_format::clock_note> clock_;
};

FABSCOPE_NAMESPACE_END
