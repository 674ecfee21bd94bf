// SPDX-License-Identifier: Apache-2.0
// What can be added up over the ranks of a communicator. Layer: mpi.
#pragma once

#include <concepts>
#include <type_traits>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace mpi {

/// A summary that travels as its bytes. Histograms, moments and top_k are; so is any type of yours.
/// semantics: T{} is empty; merging in any order and grouping gives the same, up to rounding; it
/// holds no pointer.
template <class T>
concept mergeable = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> &&
                    !std::is_pointer_v<T> &&
                    requires(T & into, const T& from) {
  { into.merge(from) }
  noexcept;
};

}  // namespace mpi

FABSCOPE_NAMESPACE_END
