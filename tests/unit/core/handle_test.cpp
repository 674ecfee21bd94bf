// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/core/handle.hpp>

using fabscope::handle;

TEST_CASE("core.handle: null, tombstone and live handles differ") {
  constexpr handle null;
  constexpr handle live(0, 1);
  CHECK(null.is_null());
  CHECK(null.to_pointer() == nullptr);
  CHECK(!null.is_tombstone());
  CHECK(!null.may_live());
  CHECK(handle::tombstone().is_tombstone());
  CHECK(handle::tombstone().to_pointer() != nullptr);
  CHECK(!handle::tombstone().may_live());
  CHECK(live.may_live());
  CHECK(!(live == null));
  CHECK(!(live == handle::tombstone()));
}

TEST_CASE("core.handle: survives the way through a pointer") {
  const handle there(0xfffffffeU, 0x80000001U);
  const handle back = handle::from_pointer(there.to_pointer());
  CHECK(back == there);
  CHECK(back.index() == 0xfffffffeU);
  CHECK(back.generation() == 0x80000001U);
  CHECK(handle::from_bits(there.bits()) == there);
}
