// SPDX-License-Identifier: Apache-2.0
// The scopes of all ranks, added up by domain and name. Layer: mpi.
//
// Ranks number their labels each in its own way, so names come first: a binomial tree unites the
// ranks' sorted lists and the root broadcasts the result; then every rank fills one array in that
// order, which one reduction adds up.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fabscope/core/result.hpp>
#include <fabscope/core/version.hpp>
#include <fabscope/mpi/merge.hpp>
#include <fabscope/mpi/scope_sums.hpp>
#include <fabscope/session/report_merge.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/stats/rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace mpi {

namespace detail {

using scope_name = std::pair<std::string, std::string>;  ///< domain, name

/// What rows without a name of their own are added to.
inline const char* other_name() noexcept { return "(other)"; }

/// Most bytes of names that are united; what does not fit is added to "(other)".
inline constexpr std::size_t name_bytes = std::size_t{16} << 20;

inline void pack_text(std::string& to, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  char raw[sizeof size];
  std::memcpy(raw, &size, sizeof size);
  to.append(raw, sizeof raw).append(text);
}
inline std::string unpack_text(const std::string& from, std::size_t& at) {
  std::uint32_t size = 0;
  std::memcpy(&size, from.data() + at, sizeof size);
  at += sizeof size + size;
  return from.substr(at - size, size);
}

/// Sorted names as bytes, as many as fit.
inline std::string pack(const std::vector<scope_name>& names, std::size_t most) {
  std::string out;
  for (const scope_name& one : names) {
    if (out.size() + one.first.size() + one.second.size() + 8 > most) break;
    pack_text(out, one.first);
    pack_text(out, one.second);
  }
  return out;
}
inline std::vector<scope_name> unpack(const std::string& bytes) {
  std::vector<scope_name> out;
  for (std::size_t at = 0; at < bytes.size();) {
    std::string domain = unpack_text(bytes, at);
    out.emplace_back(std::move(domain), unpack_text(bytes, at));
  }
  return out;
}

inline void sort_unique(std::vector<scope_name>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

/// All ranks' names, sorted, at every rank. Sends to and from neighbours in a binomial tree, on a
/// communicator of its own.
inline errc unite_names(std::vector<scope_name>& names, MPI_Comm comm, std::size_t most) {
  int rank = 0;
  int size = 0;
  if (::MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || ::MPI_Comm_size(comm, &size) != MPI_SUCCESS) {
    return errc::io;
  }
  sort_unique(names);
  std::string bytes = pack(names, most);
  for (int step = 1; step < size; step *= 2) {
    if ((rank & step) != 0) {
      if (::MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank - step, 0,
                     comm) != MPI_SUCCESS) {
        return errc::io;
      }
      break;
    }
    if (rank + step >= size) continue;
    MPI_Status status;
    int count = 0;
    if (::MPI_Probe(rank + step, 0, comm, &status) != MPI_SUCCESS ||
        ::MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS) {
      return errc::io;
    }
    std::string theirs(static_cast<std::size_t>(count), '\0');
    if (::MPI_Recv(theirs.data(), count, MPI_BYTE, rank + step, 0, comm, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS) {
      return errc::io;
    }
    std::vector<scope_name> more = unpack(theirs);
    names.insert(names.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    sort_unique(names);
    bytes = pack(names, most);
  }
  std::uint64_t length = bytes.size();
  if (::MPI_Bcast(&length, 1, MPI_UINT64_T, 0, comm) != MPI_SUCCESS) return errc::io;
  bytes.resize(static_cast<std::size_t>(length));
  if (::MPI_Bcast(bytes.data(), static_cast<int>(length), MPI_BYTE, 0, comm) != MPI_SUCCESS) {
    return errc::io;
  }
  names = unpack(bytes);
  return errc::ok;
}

/// One rank's scopes of one name.
inline scope_sums sums_of(const segment_view& view, const scope_row& row, int rank) {
  const auto ns = [&view](std::uint64_t ticks) {
    return static_cast<std::uint64_t>(view.span_ns(static_cast<double>(ticks)) + 0.5);
  };
  scope_sums out;
  out.count = row.count;
  out.bytes = row.bytes;
  out.sum_ns = ns(row.sum);
  if (row.inverted_min != 0) out.inverted_min_ns = ~ns(~row.inverted_min);
  out.max_ns = ns(row.max);
  out.ranks = 1;
  out.most_sum_ns = out.sum_ns;
  out.most_rank = static_cast<std::uint64_t>(rank);
  for (std::size_t i = 0; i < scope_row::scale::buckets; ++i) {
    const std::uint64_t low = scope_row::scale::low(i);
    const std::uint64_t high = scope_row::scale::high(i);
    out.times.record(ns(low + (high - low) / 2), row.histogram[i]);
  }
  return out;
}

/// One rank's names and sums; the row of names without room is "(other)".
inline std::vector<named_scope_sums> scopes_of(const segment_view& view, int rank) {
  std::vector<named_scope_sums> out;
  for (const scope_row& row : fabscope::detail::merged_rows<scope_row>(view)) {
    const bool other = row.used == row_is_other;
    out.push_back({other ? std::string() : std::string(view.label(row.domain)),
                   other ? std::string(other_name()) : std::string(view.label(row.name)),
                   sums_of(view, row, rank)});
  }
  return out;
}

inline errc merge_named(const std::vector<named_scope_sums>& mine, MPI_Comm comm, int root,
                        int rank, std::size_t most, std::vector<named_scope_sums>& out) {
  std::vector<scope_name> names;
  for (const named_scope_sums& one : mine) names.emplace_back(one.domain, one.name);
  if (const errc bad = unite_names(names, comm, most); bad != errc::ok) return bad;
  // Number names.size() takes what has no name there.
  std::vector<scope_sums> all(names.size() + 1);
  for (const named_scope_sums& one : mine) {
    const scope_name key(one.domain, one.name);
    const auto found = std::lower_bound(names.begin(), names.end(), key);
    const bool kept = found != names.end() && *found == key;
    scope_sums& into = all[kept ? static_cast<std::size_t>(found - names.begin()) : names.size()];
    const std::uint64_t before = into.ranks;
    const std::uint64_t before_sum = into.sum_ns;
    into.merge(one.sums);
    if (before != 0) {  // two names of this rank: one rank, whose sum is that of both
      into.ranks = before;
      into.most_sum_ns = before_sum + one.sums.sum_ns;
    }
  }
  const reduction<scope_sums> reduce;
  constexpr std::size_t part = 256;  // bounds what MPI keeps of it: 256 are about 0.6 MB
  std::vector<scope_sums> merged_sums(rank == root ? all.size() : 0);
  for (std::size_t at = 0; at < all.size(); at += part) {
    const auto count = static_cast<int>((std::min)(part, all.size() - at));
    scope_sums* to = rank == root ? merged_sums.data() + at : nullptr;
    if (const errc bad = reduce.to_root(all.data() + at, to, count, root, comm); bad != errc::ok)
      return bad;
  }
  for (std::size_t i = 0; i < merged_sums.size(); ++i) {
    if (merged_sums[i].ranks == 0) continue;
    const bool named = i < names.size();
    out.push_back({named ? names[i].first : std::string(),
                   named ? names[i].second : std::string(other_name()), merged_sums[i]});
  }
  std::sort(out.begin(), out.end(), [](const named_scope_sums& a, const named_scope_sums& b) {
    if (a.sums.sum_ns != b.sums.sum_ns) return a.sums.sum_ns > b.sums.sum_ns;
    return a.domain != b.domain ? a.domain < b.domain : a.name < b.name;
  });
  return errc::ok;
}

}  // namespace detail

/// The scopes that all ranks have counted so far, by domain and name, at `root`, the longest in sum
/// first; empty elsewhere. Complete whatever the rings lost; exact when nobody records.
/// Threads: one per rank; every rank of `comm` calls it with the same root.  Errors: as merge().
/// Cost: messages of the names, twice log2(ranks) deep, and a reduce of 2.4 KB per name.
[[nodiscard]] inline result<std::vector<named_scope_sums>> merge_scopes(const segment_view& view,
                                                                        MPI_Comm comm,
                                                                        int root = 0) {
  if (const errc bad = detail::check_ranks(comm, root, sizeof(scope_sums)); bad != errc::ok) {
    return bad;
  }
  int rank = 0;
  MPI_Comm own = MPI_COMM_NULL;  // its messages never meet the application's
  if (::MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || ::MPI_Comm_dup(comm, &own) != MPI_SUCCESS) {
    return errc::io;
  }
  std::vector<named_scope_sums> out;
  const errc done =
      detail::merge_named(detail::scopes_of(view, rank), own, root, rank, detail::name_bytes, out);
  (void)::MPI_Comm_free(&own);
  if (done != errc::ok) return done;
  return out;
}

}  // namespace mpi

FABSCOPE_NAMESPACE_END
