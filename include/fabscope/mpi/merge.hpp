// SPDX-License-Identifier: Apache-2.0
// One summary out of one per rank, by an MPI reduction. Layer: mpi.
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <cstring>

#include <fabscope/core/result.hpp>
#include <fabscope/core/version.hpp>
#include <fabscope/mpi/concepts.hpp>
#include <fabscope/stats/histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace mpi {

namespace detail {

/// The reduction's operator: `inout` becomes the two merged. Through copies, since MPI's own
/// buffers promise no alignment.
template <mergeable T>
void combine(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const unsigned char*>(in);
  auto* into = static_cast<unsigned char*>(inout);
  for (int i = 0; i < *count; ++i, from += sizeof(T), into += sizeof(T)) {
    T left;
    T right;
    std::memcpy(&left, into, sizeof left);
    std::memcpy(&right, from, sizeof right);
    left.merge(right);
    std::memcpy(into, &left, sizeof left);
  }
}

/// T as an MPI data type, and its merge() as an MPI operator, for as long as the object lives.
template <mergeable T>
class FABSCOPE_VISIBLE reduction {
 public:
  FABSCOPE_HIDDEN reduction() noexcept {
    ok_ = ::MPI_Type_contiguous(static_cast<int>(sizeof(T)), MPI_BYTE, &type_) == MPI_SUCCESS &&
          ::MPI_Type_commit(&type_) == MPI_SUCCESS &&
          ::MPI_Op_create(&combine<T>, 1, &op_) == MPI_SUCCESS;
  }
  FABSCOPE_HIDDEN ~reduction() {
    if (op_ != MPI_OP_NULL) (void)::MPI_Op_free(&op_);
    if (type_ != MPI_DATATYPE_NULL) (void)::MPI_Type_free(&type_);
  }
  reduction(const reduction&) = delete;
  reduction& operator=(const reduction&) = delete;

  /// `count` of them; `out` is written at the root only.
  [[nodiscard]] FABSCOPE_HIDDEN errc to_root(const T* mine, T* out, int count, int root,
                                             MPI_Comm comm) const noexcept {
    return ok_ && ::MPI_Reduce(mine, out, count, type_, op_, root, comm) == MPI_SUCCESS ? errc::ok
                                                                                        : errc::io;
  }
  [[nodiscard]] FABSCOPE_HIDDEN errc to_all(const T* mine, T* out, int count,
                                            MPI_Comm comm) const noexcept {
    return ok_ && ::MPI_Allreduce(mine, out, count, type_, op_, comm) == MPI_SUCCESS ? errc::ok
                                                                                     : errc::io;
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
  bool ok_ = false;
};

/// ok if MPI runs, `root` is a rank of `comm` and every rank passes summaries of one layout: same
/// size, same version of the library.
inline errc check_ranks(MPI_Comm comm, int root, std::uint64_t bytes) noexcept {
  int started = 0;
  int ended = 0;
  if (::MPI_Initialized(&started) != MPI_SUCCESS || ::MPI_Finalized(&ended) != MPI_SUCCESS ||
      started == 0 || ended != 0) {
    return errc::unavailable;
  }
  int size = 0;
  if (comm == MPI_COMM_NULL || ::MPI_Comm_size(comm, &size) != MPI_SUCCESS || root < 0 ||
      root >= size) {
    return errc::invalid_argument;
  }
  const std::uint64_t mine = bytes << 24 | std::uint64_t{FABSCOPE_VERSION_MAJOR} << 16 |
                             std::uint64_t{FABSCOPE_VERSION_MINOR} << 8 | FABSCOPE_VERSION_PATCH;
  // The largest, and the complement of the smallest: one reduction for both.
  const std::uint64_t ours[2] = {mine, ~mine};
  std::uint64_t most[2] = {};
  if (::MPI_Allreduce(ours, most, 2, MPI_UINT64_T, MPI_MAX, comm) != MPI_SUCCESS) return errc::io;
  return most[0] == ~most[1] ? errc::ok : errc::invalid_argument;
}

/// Counters of 32 bits, which stay at their largest value, become counters of 64 bits first.
template <mergeable T>
constexpr const T& widened(const T& mine) noexcept {
  return mine;
}
template <int Bits, std::unsigned_integral Counter>
  requires(sizeof(Counter) < 8)
histogram<Bits, std::uint64_t> widened(const histogram<Bits, Counter>& mine)
noexcept {
  histogram<Bits, std::uint64_t> wide;
  wide.merge(mine);
  return wide;
}

}  // namespace detail

/// What merging T gives: T, or for a histogram of narrow counters the same with 64 bits.
template <mergeable T>
using merged = std::remove_cvref_t<decltype(detail::widened(std::declval<const T&>()))>;

/// Adds up one summary per rank; the result is at `root`, and empty elsewhere.
/// Threads: one per rank, as MPI was initialised for; every rank of `comm` calls it, with the same
/// T and root.  Errors: unavailable if MPI does not run; invalid_argument if `root` is no rank or
/// the ranks pass different layouts (all of them get it); io if MPI reports an error and its
/// handler returns.  Cost: an all-reduce of 16 bytes, and a reduce of sizeof(T).
template <mergeable T>
[[nodiscard]] result<merged<T>> merge(const T& mine, MPI_Comm comm, int root = 0) noexcept {
  if (const errc bad = detail::check_ranks(comm, root, sizeof(T)); bad != errc::ok) return bad;
  const merged<T>& wide = detail::widened(mine);
  const detail::reduction<merged<T>> reduce;
  merged<T> out{};
  if (const errc bad = reduce.to_root(&wide, &out, 1, root, comm); bad != errc::ok) return bad;
  return out;
}

/// The same with the result at every rank.
template <mergeable T>
[[nodiscard]] result<merged<T>> merge_everywhere(const T& mine, MPI_Comm comm) noexcept {
  if (const errc bad = detail::check_ranks(comm, 0, sizeof(T)); bad != errc::ok) return bad;
  const merged<T>& wide = detail::widened(mine);
  const detail::reduction<merged<T>> reduce;
  merged<T> out{};
  if (const errc bad = reduce.to_all(&wide, &out, 1, comm); bad != errc::ok) return bad;
  return out;
}

}  // namespace mpi

FABSCOPE_NAMESPACE_END
