// SPDX-License-Identifier: Apache-2.0
// Boost.Lockfree's queues are rings; they have no concept of their own. Compiling is the test.
#include <fabscope/boost/mpmc_ring.hpp>
#include <fabscope/boost/spsc_ring.hpp>
#include <fabscope/ring/concepts.hpp>
#include <string>
#include <support/archetypes/ring.hpp>

namespace fs = fabscope;

namespace {

static_assert(fs::event_ring<fs::boost_spsc_ring<int, 8>>);
static_assert(fs::event_ring<fs::boost_mpmc_ring<int, 8>>);
static_assert(fs::boost_spsc_ring<int, 8>::capacity() == 8);

template <class T, std::size_t Capacity>
concept can_be_spsc = requires {
  typename fs::boost_spsc_ring<T, Capacity>;
};
template <class T, std::size_t Capacity>
concept can_be_mpmc = requires {
  typename fs::boost_mpmc_ring<T, Capacity>;
};
static_assert(can_be_spsc<int, 1> && can_be_mpmc<int, 1>);
static_assert(!can_be_spsc<int, 0> && !can_be_mpmc<int, 0>);
static_assert(!can_be_spsc<std::string, 8> && !can_be_mpmc<std::string, 8>);
static_assert(can_be_mpmc<int, 65534> && !can_be_mpmc<int, 65535>);

}  // namespace

template class fs::boost_spsc_ring<archetypes::slot_record, 16>;
template class fs::boost_mpmc_ring<archetypes::slot_record, 16>;
