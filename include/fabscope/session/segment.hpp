// SPDX-License-Identifier: Apache-2.0
// Creates a segment, hands out its memory, and fills its tables of types and labels. Layer:
// session.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/core/descriptor.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/core/result.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/session/segment_format.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// True for file systems whose pages live on another machine: never a place for a segment.
inline bool is_network_file_system(long type) noexcept {
  switch (static_cast<unsigned long>(type) & 0xffffffffUL) {
    case 0x6969UL:      // NFS
    case 0x0bd00bd0UL:  // Lustre
    case 0x47504653UL:  // GPFS
    case 0xff534d42UL:  // CIFS
    case 0xfe534d42UL:  // SMB2
    case 0x5346414fUL:  // AFS
    case 0x00c36400UL:  // Ceph
    case 0x19830326UL:  // BeeGFS
    case 0x20030528UL:  // PVFS2
    case 0x01021997UL:  // 9p
    case 0x65735546UL:  // FUSE
      return true;
    default: return false;
  }
}

}  // namespace detail

/// The memory of a session. Owns the file; never unmapped while the process lives, because a thread
/// may still be about to write. Threads: one at a time (the session's lock), except for writes into
/// memory that was handed out.
class segment {
 public:
  struct place {
    std::uint64_t offset = 0;
    unsigned char* at = nullptr;
  };

  segment() noexcept = default;
  segment(const segment&) = delete;
  segment& operator=(const segment&) = delete;

  /// Creates and maps the base. Falls back to anonymous memory, and says why in `why_volatile()`.
  /// Errors: no_space if not even that can be had.
  errc create(const std::string& directory, const std::string& name) noexcept {
    place first;
    if (open_file(directory, name)) {
      first = append(first_bytes);
      if (first.at == nullptr) give_up_file();
    }
    if (first.at == nullptr && open_anonymous()) first = append(first_bytes);
    if (first.at == nullptr) return errc::no_space;
    base_ = reinterpret_cast<segment_format::base*>(first.at);
    arena_ = {sizeof(segment_format::base), first.at + sizeof(segment_format::base)};
    arena_left_ = first_arena_bytes;
    segment_format::header& head = base_->head;
    head.magic = segment_format::magic;
    head.version = segment_format::version;
    head.header_bytes = sizeof(segment_format::header);
    head.types = {offsetof(segment_format::base, types), segment_format::max_types, 0};
    head.labels = {offsetof(segment_format::base, labels), segment_format::max_labels, 0};
    head.threads = {offsetof(segment_format::base, threads), segment_format::max_threads, 0};
    head.blocks = {offsetof(segment_format::base, blocks), segment_format::max_blocks, 0};
    return errc::ok;
  }

  [[nodiscard]] segment_format::base& base() noexcept { return *base_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  /// Why a killed process leaves nothing behind; empty if it does leave a file.
  [[nodiscard]] const std::string& why_volatile() const noexcept { return why_volatile_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// New zeroed pages at the file's end, in memory already. Null if there is no room for them.
  place append(std::uint64_t bytes) noexcept {
    bytes = (bytes + page - 1) & ~(page - 1);
    if (mapping_count_ == max_mappings || bytes_ + bytes > limit_) return {};
    {
      const signal_guard quiet;
      errno = ::posix_fallocate(fd_, static_cast<off_t>(bytes_), static_cast<off_t>(bytes));
    }
    if (errno != 0) return {};
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                      static_cast<off_t>(bytes_));
    if (at == MAP_FAILED) return {};
    mappings_[mapping_count_++] = {at, bytes};
    const place out{bytes_, static_cast<unsigned char*>(at)};
    bytes_ += bytes;
    if (base_ != nullptr)
      relaxed_store(base_->head.file_bytes, bytes_);
    else
      reinterpret_cast<segment_format::base*>(at)->head.file_bytes = bytes_;
    return out;
  }

  /// Zeroed, 64-byte aligned memory for a table.
  place allocate(std::uint64_t bytes) noexcept {
    bytes = (bytes + 63) & ~std::uint64_t{63};
    if (bytes > arena_left_) {
      const std::uint64_t chunk = bytes > next_arena_bytes ? bytes : next_arena_bytes;
      const place more = append(chunk);
      if (more.at == nullptr) {
        base_->head.memory_refused += bytes;
        return {};
      }
      arena_ = more;
      arena_left_ = chunk;
    }
    const place out = arena_;
    arena_.offset += bytes;
    arena_.at += bytes;
    arena_left_ -= bytes;
    return out;
  }

  /// Number of the type, registering it if its name or layout is new; 0 if there is no room.
  std::uint32_t add_type(const fabscope_type& type) noexcept {
    if (type.field_count > segment_format::max_fields || type.bytes > 0xffff) return 0;
    if (type.is_row == 0 && type.bytes > slot_bytes) return 0;
    segment_format::type_entry entry{};
    copy_text(entry.name, type.name);
    entry.bytes = type.bytes;
    entry.field_count = type.field_count;
    entry.is_row = type.is_row;
    for (std::uint32_t i = 0; i < type.field_count; ++i) {
      const fabscope_field& from = type.fields[i];
      const std::size_t end =
          from.offset + size_of(static_cast<field_type>(from.type)) * std::size_t{from.count};
      if (end > type.bytes || from.count == 0) return 0;
      segment_format::field_entry& to = entry.fields[i];
      copy_text(to.name, from.name);
      copy_text(to.unit, from.unit);
      to.offset = from.offset;
      to.count = from.count;
      to.type = from.type;
      to.role = from.role;
    }
    segment_format::table& types = base_->head.types;
    for (std::uint32_t i = 0; i < types.count; ++i) {
      if (std::memcmp(&base_->types[i], &entry, sizeof entry) == 0) return i + 1;
    }
    if (types.count == types.capacity) return 0;
    base_->types[types.count] = entry;
    release_store(types.count, types.count + 1);
    return types.count;
  }

  /// Number of the text, interning it if it is new; 0 if it is empty or there is no room.
  std::uint32_t add_label(std::string_view text) noexcept {
    if (text.size() > 255) text = text.substr(0, 255);
    if (text.empty()) return 0;
    if (label_index_.empty()) label_index_.resize(segment_format::max_labels * 2);
    std::size_t slot = hash(text) & (label_index_.size() - 1);
    while (label_index_[slot] != 0) {
      if (label(label_index_[slot]) == text) return label_index_[slot];
      slot = (slot + 1) & (label_index_.size() - 1);
    }
    segment_format::table& labels = base_->head.labels;
    segment_format::label_area& area = base_->labels;
    const std::uint32_t begin = area.ends[labels.count];
    if (labels.count + 1 == labels.capacity || begin + text.size() > segment_format::label_bytes) {
      ++base_->head.labels_refused;
      return 0;
    }
    std::memcpy(area.text + begin, text.data(), text.size());
    area.ends[labels.count + 1] = begin + static_cast<std::uint32_t>(text.size());
    release_store(labels.count, labels.count + 1);
    label_index_[slot] = labels.count;
    return labels.count;
  }

  [[nodiscard]] std::string_view label(std::uint32_t number) const noexcept {
    if (number == 0 || number > acquire_load(base_->head.labels.count)) return {};
    const segment_format::label_area& area = base_->labels;
    return {area.text + area.ends[number - 1], area.ends[number] - area.ends[number - 1]};
  }

  /// A table of `rows` rows that readers can find. Null if there is no room.
  void* add_block(std::uint32_t type, std::uint32_t thread, std::uint32_t rows) noexcept {
    segment_format::table& blocks = base_->head.blocks;
    if (type == 0 || type > base_->head.types.count || blocks.count == blocks.capacity)
      return nullptr;
    const std::uint32_t row_bytes = base_->types[type - 1].bytes;
    const place memory = allocate(std::uint64_t{rows} * row_bytes);
    if (memory.at == nullptr) return nullptr;
    base_->blocks[blocks.count] = {memory.offset, type, thread, rows, row_bytes};
    release_store(blocks.count, blocks.count + 1);
    return memory.at;
  }

  /// Puts private pages in the place of the shared ones: what is written from now on reaches
  /// nobody. Safe in the child of a fork, and against threads that are still writing.
  void detach() noexcept {
    for (std::size_t i = 0; i < mapping_count_; ++i) {
      // Not ::mmap, which a thread sanitizer takes for a write that races with those threads.
      ::syscall(SYS_mmap, mappings_[i].at, mappings_[i].bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0L);
    }
  }

  /// Removes the file; the memory stays.
  void remove() noexcept {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t first_arena_bytes = 128 * 1024;
  static constexpr std::uint64_t first_bytes = sizeof(segment_format::base) + first_arena_bytes;
  static constexpr std::uint64_t next_arena_bytes = 512 * 1024;
  static constexpr std::size_t max_mappings = 4096;
  struct mapping {
    void* at;
    std::uint64_t bytes;
  };

  bool open_file(const std::string& directory, const std::string& name) noexcept {
    struct statfs where {};
    if (::statfs(directory.c_str(), &where) != 0) {
      why_volatile_ = directory + ": " + std::strerror(errno);
      return false;
    }
    if (detail::is_network_file_system(static_cast<long>(where.f_type))) {
      why_volatile_ = directory + " is not node-local";
      return false;
    }
    limit_ = std::uint64_t{where.f_bavail} * static_cast<std::uint64_t>(where.f_bsize) / 16;
    if (limit_ < first_bytes) {
      why_volatile_ = directory + " has less than 16 times the segment free";
      return false;
    }
    path_ = directory + "/" + name;
    for (int n = 1; n < 1000; ++n) {
      fd_ = above_standard_streams(
          ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (fd_ >= 0) return true;
      if (errno != EEXIST) break;
      path_ = directory + "/" + name + "." + std::to_string(n);
    }
    why_volatile_ = path_ + ": " + std::strerror(errno);
    path_.clear();
    return false;
  }

  bool open_anonymous() noexcept {
    limit_ = std::uint64_t{1} << 32;
    fd_ = above_standard_streams(::memfd_create("fabscope", MFD_CLOEXEC));
    return fd_ >= 0;
  }

  /// The file could not grow, and errno says why.
  void give_up_file() noexcept {
    why_volatile_ = path_ + ": " + std::strerror(errno);
    ::unlink(path_.c_str());
    ::close(fd_);
    path_.clear();
  }

  template <std::size_t N>
  static void copy_text(char (&to)[N], const char* from) noexcept {
    std::snprintf(to, N, "%s", from == nullptr ? "" : from);
  }

  static std::size_t hash(std::string_view text) noexcept {  // FNV-1a
    std::uint64_t h = 14695981039346656037U;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return static_cast<std::size_t>(h ^ h >> 32);
  }

  int fd_ = -1;
  std::string path_;
  std::string why_volatile_;
  std::uint64_t bytes_ = 0;
  std::uint64_t limit_ = 0;
  segment_format::base* base_ = nullptr;
  place arena_;
  std::uint64_t arena_left_ = 0;
  mapping mappings_[max_mappings];
  std::size_t mapping_count_ = 0;
  std::vector<std::uint32_t> label_index_;
};

FABSCOPE_NAMESPACE_END
