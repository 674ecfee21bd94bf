// SPDX-License-Identifier: Apache-2.0
// The profiler interface's layouts: compiling checks every static_assert of these headers.
#include <fabscope/nccl/descriptors.hpp>
#include <type_traits>

namespace {

namespace nccl = fabscope::nccl;

// What the host hands over is plain: it is read in place.
template <class D>
constexpr bool is_plain = std::is_standard_layout_v<D>&& std::is_trivially_copyable_v<D>;
static_assert(is_plain<nccl::descriptor_v1> && is_plain<nccl::descriptor_v2> &&
              is_plain<nccl::descriptor_v3> && is_plain<nccl::descriptor_v4> &&
              is_plain<nccl::descriptor_v5> && is_plain<nccl::descriptor_v6> &&
              is_plain<nccl::descriptor_v7>);

// The type is one byte before version 5 and eight from there on.
static_assert(sizeof(nccl::descriptor_v4::type) == 1 && sizeof(nccl::descriptor_v5::type) == 8);
static_assert(std::is_same_v<decltype(nccl::descriptor_v1::coll.func), std::uint8_t>);
static_assert(std::is_same_v<decltype(nccl::descriptor_v2::coll.func), const char*>);

static_assert(nccl::event_bit_16 == std::uint64_t{1} << (nccl::event_bits - 1));

}  // namespace
