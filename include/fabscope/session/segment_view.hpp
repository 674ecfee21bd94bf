// SPDX-License-Identifier: Apache-2.0
// Reads a segment: of this process, or what a killed one left behind. Layer: session.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/core/result.hpp>
#include <fabscope/event/adapt.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/session/segment_format.hpp>
#include <fabscope/session/sink_binding.hpp>
#include <fabscope/sink/context.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {
/// The field of that name of a registered type, a segment_format::type_entry, for layout_plan.
inline foreign_field find_field(const void* type, std::string_view name) noexcept {
  return field_finder<step_record>(*static_cast<const segment_format::type_entry*>(type))(name);
}
}  // namespace detail

/// A read-only mapping of a whole segment. Every offset and count is checked against the file, so
/// that damaged bytes give missing entries and never a fault. Threads: one; the segment may be
/// written to meanwhile.
class FABSCOPE_VISIBLE segment_view {
 public:
  FABSCOPE_HIDDEN segment_view() noexcept = default;
  FABSCOPE_HIDDEN segment_view(segment_view&& other) noexcept { *this = std::move(other); }
  FABSCOPE_HIDDEN segment_view& operator=(segment_view&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  segment_view(const segment_view&) = delete;
  segment_view& operator=(const segment_view&) = delete;
  FABSCOPE_HIDDEN ~segment_view() {
    if (bytes_ != nullptr) ::munmap(const_cast<unsigned char*>(bytes_), size_);
  }

  /// Maps an open segment. Errors: corrupt if it is none of this format's version.
  FABSCOPE_HIDDEN static result<segment_view> map(int fd) noexcept {
    struct stat about {};
    if (::fstat(fd, &about) != 0) return errc::io;
    segment_view view;
    view.size_ = static_cast<std::size_t>(about.st_size);
    if (view.size_ < sizeof(segment_format::base)) return errc::corrupt;
    void* at = ::mmap(nullptr, view.size_, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return errc::io;
    view.bytes_ = static_cast<const unsigned char*>(at);
    const segment_format::header& head = view.head();
    if (head.magic != segment_format::magic || head.version != segment_format::version ||
        head.header_bytes != sizeof(segment_format::header)) {
      return errc::corrupt;
    }
    return view;
  }

  FABSCOPE_HIDDEN static result<segment_view> open(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES ? errc::no_permission : errc::unavailable;
    auto view = map(fd);
    ::close(fd);
    return view;
  }

  [[nodiscard]] FABSCOPE_HIDDEN const segment_format::header& head() const noexcept {
    return base().head;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t ns(std::uint64_t ticks) const noexcept {
    return ticks_to_ns(head().clock_map, ticks);
  }
  /// A difference of two stamps, by the rate over the session's time so far.
  [[nodiscard]] FABSCOPE_HIDDEN double span_ns(double ticks) const noexcept {
    const auto begin = head().begin;
    const auto latest = head().latest;
    const auto between = static_cast<double>(latest.ticks - begin.ticks);
    if (latest.ticks <= begin.ticks) {  // nothing noted yet: by the clock map's first piece
      const auto whole = ticks < 9e18 ? static_cast<std::uint64_t>(ticks) : std::uint64_t{1} << 63;
      return static_cast<double>(ns(begin.ticks + whole) - ns(begin.ticks));
    }
    return ticks * (static_cast<double>(latest.monotonic_ns - begin.monotonic_ns) / between);
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::string_view label(std::uint32_t number) const noexcept {
    const segment_format::label_area& area = base().labels;
    if (number == 0 || number > entries_in(head().labels, segment_format::max_labels - 1))
      return {};
    const std::uint32_t begin = area.ends[number - 1];
    const std::uint32_t end = area.ends[number];
    if (begin > end || end > segment_format::label_bytes) return {};
    return {area.text + begin, end - begin};
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::span<const segment_format::type_entry> types() const noexcept {
    return {base().types, entries_in(head().types, segment_format::max_types)};
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::span<const segment_format::thread_entry> threads()
      const noexcept {
    return {base().threads, entries_in(head().threads, segment_format::max_threads)};
  }

  /// Calls `each(const Row&, thread)` for every row in use of the type of that name, in any layout.
  template <summary_row Row, class Each>
  FABSCOPE_HIDDEN void rows(Each&& each) const {
    visit_rows(describe<Row>(), &each, [](void* visitor, const void* row, std::uint32_t thread) {
      (*static_cast<std::remove_reference_t<Each>*>(visitor))(*static_cast<const Row*>(row),
                                                              thread);
    });
  }

  /// The same for a type that is known at run time: calls `visit(visitor, row, thread)`.
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE void visit_rows(const fabscope_type& own, void* visitor,
                                                    void (*visit)(void* visitor, const void* row,
                                                                  std::uint32_t thread)) const {
    std::size_t used_at = 0;
    for (std::uint32_t i = 0; i < own.field_count; ++i) {
      if (static_cast<field_role>(own.fields[i].role) == field_role::used) {
        used_at = own.fields[i].offset;
      }
    }
    std::vector<std::uint64_t> row(own.bytes / 8);
    const std::uint32_t blocks = entries_in(head().blocks, segment_format::max_blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) {
      const segment_format::block_entry& block = base().blocks[i];
      if (block.type == 0 || block.type > types().size()) continue;
      const segment_format::type_entry& type = types()[block.type - 1];
      if (detail::entry_text(type.name) != own.name || type.bytes != block.row_bytes) continue;
      if (type.bytes == 0 || type.bytes % 8 != 0 || block.offset % 8 != 0) continue;
      if (!inside(block.offset, std::uint64_t{block.rows} * block.row_bytes)) continue;
      const layout_plan plan(own, type.bytes, &detail::find_field, &type);
      std::vector<unsigned char> copy(block.row_bytes);
      for (std::uint32_t r = 0; r < block.rows; ++r) {
        load(bytes_ + block.offset + std::uint64_t{r} * block.row_bytes, copy);
        plan.convert(copy.data(), reinterpret_cast<unsigned char*>(row.data()));
        if (row[used_at / 8] != 0) visit(visitor, row.data(), block.thread);
      }
    }
  }

  /// The newest records of a thread's ring, oldest first; `first` receives the number of the first.
  [[nodiscard]] FABSCOPE_HIDDEN std::vector<slot_line> records(
      const segment_format::thread_entry& thread, std::uint64_t* first = nullptr) const {
    const std::uint64_t slots = thread.ring_mask + 1;
    if (first != nullptr) *first = 0;
    if (slots == 0 || (slots & thread.ring_mask) != 0 || slots > (std::uint64_t{1} << 24) ||
        thread.ring_offset % alignof(slot_line) != 0 ||
        !inside(thread.ring_offset, slots * sizeof(slot_line))) {
      return {};
    }
    std::vector<slot_line> out(static_cast<std::size_t>(slots));
    const overwrite_reader ring(&thread.head, bytes_ + thread.ring_offset, thread.ring_mask);
    const auto intact = ring.snapshot(out, first);
    return {intact.begin(), intact.end()};
  }

  /// Answers for sinks that write this segment's records.
  [[nodiscard]] FABSCOPE_HIDDEN sink_context context() noexcept {
    return sink_context({this,
                         [](void* self, std::uint64_t ticks) {
                           return static_cast<segment_view*>(self)->ns(ticks);
                         },
                         [](void* self, std::uint32_t number) {
                           return static_cast<segment_view*>(self)->label(number);
                         },
                         [](void* self, std::uint32_t thread) {
                           const auto all = static_cast<segment_view*>(self)->threads();
                           return thread < all.size() ? all[thread].tid : 0U;
                         },
                         head().begin.monotonic_ns, head().begin.realtime_ns});
  }

 private:
  [[nodiscard]] FABSCOPE_HIDDEN const segment_format::base& base() const noexcept {
    return *reinterpret_cast<const segment_format::base*>(bytes_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool inside(std::uint64_t offset,
                                            std::uint64_t bytes) const noexcept {
    return offset % 8 == 0 && offset <= size_ && bytes <= size_ - offset;
  }
  FABSCOPE_HIDDEN static std::uint32_t entries_in(const segment_format::table& table,
                                                  std::uint32_t most) noexcept {
    const std::uint32_t count = acquire_load(table.count);
    return count < most ? count : most;
  }
  // Word by word: the row's thread may be adding to it.
  FABSCOPE_HIDDEN static void load(const unsigned char* from,
                                   std::vector<unsigned char>& to) noexcept {
    for (std::size_t at = 0; at + 8 <= to.size(); at += 8) {
      const std::uint64_t word = acquire_load(*reinterpret_cast<const std::uint64_t*>(from + at));
      std::memcpy(to.data() + at, &word, 8);
    }
  }

  const unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

FABSCOPE_NAMESPACE_END
