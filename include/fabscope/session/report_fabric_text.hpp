// SPDX-License-Identifier: Apache-2.0
// Words and lines for operations, sizes, errors and links. Layer: session.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/session/report_data.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

template <class Row>
std::string kind_of(const Row& row) {
  return row.used == row_is_other ? "(other)" : to_string(static_cast<operation>(row.op));
}

FABSCOPE_NOINLINE inline std::string level_of(std::uint8_t level) {
  if (level == level_untimed) return "untimed";
  const auto known = static_cast<completion_level>(level & ~level_inferred);
  return std::string(is_posted_size(level) ? "posted" : to_string(known)) +
         ((level & level_inferred) != 0 ? "~" : "");
}

/// The smallest size of a class: 0, 1, 2+, 4+, ..., 1Ki+, 64Ki+, 1Mi+ ...
FABSCOPE_NOINLINE inline std::string size_text(std::uint8_t size) {
  if (size <= 1) return size == 0 ? "0" : "1";
  constexpr const char* prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const unsigned power = (size - 1U) % 64;
  return std::to_string(1U << (power % 10)) + prefixes[power / 10] + "+";
}

/// The error's name, as libfabric has it, and its number.
FABSCOPE_NOINLINE inline std::string error_name(std::int32_t error) {
  struct named {
    int number;
    const char* name;
  };
  constexpr named names[] = {{EPERM, "EPERM"},
                             {ENOENT, "ENOENT"},
                             {EINTR, "EINTR"},
                             {EIO, "EIO"},
                             {E2BIG, "E2BIG"},
                             {EBADF, "EBADF"},
                             {EAGAIN, "EAGAIN"},
                             {ENOMEM, "ENOMEM"},
                             {EACCES, "EACCES"},
                             {EFAULT, "EFAULT"},
                             {EBUSY, "EBUSY"},
                             {ENODEV, "ENODEV"},
                             {EINVAL, "EINVAL"},
                             {ENOSPC, "ENOSPC"},
                             {EPIPE, "EPIPE"},
                             {ENOSYS, "ENOSYS"},
                             {ENOMSG, "ENOMSG"},
                             {ENODATA, "ENODATA"},
                             {EOVERFLOW, "EOVERFLOW"},
                             {EMSGSIZE, "EMSGSIZE"},
                             {ENOPROTOOPT, "ENOPROTOOPT"},
                             {EOPNOTSUPP, "EOPNOTSUPP"},
                             {EADDRINUSE, "EADDRINUSE"},
                             {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
                             {ENETDOWN, "ENETDOWN"},
                             {ENETUNREACH, "ENETUNREACH"},
                             {ECONNABORTED, "ECONNABORTED"},
                             {ECONNRESET, "ECONNRESET"},
                             {ENOBUFS, "ENOBUFS"},
                             {EISCONN, "EISCONN"},
                             {ENOTCONN, "ENOTCONN"},
                             {ESHUTDOWN, "ESHUTDOWN"},
                             {ETIMEDOUT, "ETIMEDOUT"},
                             {ECONNREFUSED, "ECONNREFUSED"},
                             {EHOSTDOWN, "EHOSTDOWN"},
                             {EHOSTUNREACH, "EHOSTUNREACH"},
                             {EALREADY, "EALREADY"},
                             {EINPROGRESS, "EINPROGRESS"},
                             {EREMOTEIO, "EREMOTEIO"},
                             {ECANCELED, "ECANCELED"},
                             {EKEYREJECTED, "EKEYREJECTED"},
                             // enum in rdma/fi_errno.h, libfabric 1.17
                             {256, "EOTHER"},
                             {257, "ETOOSMALL"},
                             {258, "EOPBADSTATE"},
                             {259, "EAVAIL"},
                             {260, "EBADFLAGS"},
                             {261, "ENOEQ"},
                             {262, "EDOMAIN"},
                             {263, "ENOCQ"},
                             {264, "ECRC"},
                             {265, "ETRUNC"},
                             {266, "ENOKEY"},
                             {267, "ENOAV"},
                             {268, "EOVERRUN"},
                             {269, "ENORX"}};
  for (const named& one : names) {
    if (one.number == error)
      return std::string("FI_") + one.name + "(" + std::to_string(error) + ")";
  }
  return "error(" + std::to_string(error) + ")";
}

/// The call has to be repeated: nothing failed.
inline bool is_retry(const link_error_row& row) noexcept {
  return static_cast<failure_stage>(row.stage) == failure_stage::issue && row.error == EAGAIN;
}
/// It failed: neither a repetition nor an end without completion.
inline bool is_failure(const link_error_row& row) noexcept {
  return !is_retry(row) && static_cast<failure_stage>(row.stage) != failure_stage::closed;
}

/// One row of the section links.
struct link_line {
  std::string local;
  std::string remote;
  std::string nic;
  std::string kind;
  unsigned size = 0;
  unsigned level = 0;
  std::vector<std::string> cells;
};

FABSCOPE_NOINLINE inline std::string mean_size(std::uint64_t bytes, std::uint64_t count) {
  if (count == 0) return unknown_text;
  return (bytes % count == 0 ? "" : "~") + whole((bytes + count / 2) / count);
}

/// A quantile of the sixteen buckets: the upper end of its bucket, or the
/// maximum if that is less.
FABSCOPE_NOINLINE inline std::string coarse_quantile(const report_data& data, const link_row& row,
                                                     double q) {
  std::uint64_t total = 0;
  for (const std::uint32_t n : row.histogram) total += n;
  if (total == 0) return unknown_text;
  const double rank = q * static_cast<double>(total);
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < coarse_scale::buckets) {
    below += row.histogram[bucket];
    if (static_cast<double>(below) >= rank) break;
    ++bucket;
  }
  const bool last = bucket + 1 == coarse_scale::buckets;
  if (last || coarse_scale::low(bucket + 1) > row.max) return "<=" + micros(data.ns(row.max));
  return "<" + micros(data.ns(coarse_scale::low(bucket + 1)));
}

/// Where the link's operations are all that the NIC's fine histogram counted,
/// its quantiles.
FABSCOPE_NOINLINE inline std::string link_quantile(const report_data& data, const link_row& row,
                                                   double q) {
  for (const nic_histogram_row& fine : data.kinds) {
    if (fine.nic != row.nic || fine.op != row.op || fine.size != row.size ||
        fine.level != row.level || fine.used == row_is_other || row.used == row_is_other) {
      continue;
    }
    std::uint64_t total = 0;
    for (const std::uint32_t n : fine.histogram) total += n;
    if (total != row.count) break;
    const double ns = data.ns(quantile_of<6>(fine.histogram, q));
    const double least = data.ns_of_least(row.inverted_min);
    const double most = data.ns(row.max);
    return micros(ns < least ? least : ns > most ? most : ns);
  }
  return coarse_quantile(data, row, q);
}

inline std::vector<std::string> link_cells(const report_data& data, const link_row& r) {
  const bool sized = !is_posted_size(r.level);
  std::vector<std::string> cells{kind_of(r), sized ? mean_size(r.bytes, r.count) : unknown_text,
                                 whole(r.count), sized ? whole(r.bytes) : unknown_text, "0"};
  const auto op = static_cast<operation>(r.op);
  if (r.level == level_untimed || r.count == 0) {
    cells.insert(cells.end(), 6, unknown_text);
  } else {
    const double sum = data.ns(r.sum);
    cells.push_back(micros(data.ns_of_least(r.inverted_min)));
    cells.push_back(link_quantile(data, r, 0.5));
    cells.push_back(link_quantile(data, r, 0.99));
    cells.push_back(micros(sum / static_cast<double>(r.count)));
    cells.push_back(micros(data.ns(r.max)));
    // A receive waits for its peer and an inject call only copies: neither time
    // moved the bytes.
    const bool moves = !is_receive(op) && !is_inject(op) && r.used != row_is_other;
    cells.push_back(moves ? gigabytes(static_cast<double>(r.bytes), sum) : "-");
  }
  cells.push_back(level_of(r.level));
  return cells;
}

/// All rows in the order (local, remote, kind, size).
inline std::vector<link_line> link_lines(const report_data& data) {
  std::vector<link_line> out;
  for (const link_row& r : data.links) {
    out.push_back({data.key_name(r, r.local), data.key_name(r, r.remote), data.key_name(r, r.nic),
                   kind_of(r), r.size, r.level, link_cells(data, r)});
  }
  std::vector<link_error_row> failed;  // one per (nic, local, remote, op)
  for (const link_error_row& r : data.errors) {
    if (!is_failure(r)) continue;
    link_error_row* same = nullptr;
    for (link_error_row& f : failed) {
      if (f.nic == r.nic && f.local == r.local && f.remote == r.remote && f.op == r.op &&
          f.used == r.used) {
        same = &f;
      }
    }
    if (same == nullptr) {
      failed.push_back(r);
    } else {
      same->count += r.count;
    }
  }
  for (const link_error_row& r : failed) {
    out.push_back(
        {data.key_name(r, r.local),
         data.key_name(r, r.remote),
         data.key_name(r, r.nic),
         kind_of(r),
         ~0U,
         0,
         {kind_of(r), "failed", "0", "0", whole(r.count), "-", "-", "-", "-", "-", "-", "-"}});
  }
  return sorted(std::move(out), [](const link_line& l) {
    return std::tie(l.local, l.remote, l.nic, l.kind, l.size, l.level);
  });
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
