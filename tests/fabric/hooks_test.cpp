// SPDX-License-Identifier: Apache-2.0
// Tables are copied, patched, patched again, and never written beyond their size.
#include <doctest/doctest.h>

#include <cstring>
#include <fabscope/fabric.hpp>

#include "fabric/fake_provider.hpp"

namespace {

namespace fabric = fabscope::fabric;
namespace hooks = fabscope::fabric::detail;

TEST_CASE("fabric.hooks: the provider's own tables are never written") {
  fake::endpoint ep;
  fake::open(ep);
  const fi_ops_msg before = fake::first_msg;
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  CHECK(ep.object.msg != &fake::first_msg);
  CHECK(ep.object.fid.ops != &fake::ep_fid);
  CHECK(std::memcmp(&before, &fake::first_msg, sizeof before) == 0);
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: null tables and null members stay null") {
  fake::endpoint ep;
  fake::open(ep);
  ep.object.rma = nullptr;
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  CHECK(ep.object.rma == nullptr);
  CHECK(ep.object.tagged == nullptr);
  CHECK((ep.object.msg->injectdata == nullptr));
  CHECK((ep.object.msg->inject != fake::first_msg.inject));
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: a shorter table is copied only as far as it goes") {
  static fake::short_msg table;
  fake::endpoint ep;
  fake::open(ep);
  ep.object.msg = &table.table;
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  CHECK(ep.object.msg->size == offsetof(fi_ops_msg, inject));
  CHECK((ep.object.msg->sendmsg != table.table.sendmsg));
  CHECK_FALSE(hooks::has_member(ep.object.msg, &fi_ops_msg::inject));
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: what a newer table has more is kept") {
  static fake::long_msg table;
  fake::endpoint ep;
  fake::open(ep);
  ep.object.msg = &table.table;
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  CHECK(ep.object.msg->size == sizeof table);
  CHECK(std::memcmp(ep.object.msg + 1, table.tail, sizeof table.tail) == 0);
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: a stamp lies before each table, and hooking twice does nothing") {
  fake::endpoint ep;
  fake::open(ep);
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  const fi_ops_msg* ours = ep.object.msg;
  fabscope_hook_stamp stamp;
  std::memcpy(&stamp, reinterpret_cast<const char*>(ours) - sizeof stamp, sizeof stamp);
  CHECK(stamp.magic == hooks::hook_magic);
  CHECK(stamp.abi == FABSCOPE_ABI);
  CHECK(stamp.original == &fake::first_msg);
  CHECK_FALSE(fabric::instrument<fabric::passive_policy>(&ep.object));
  CHECK_FALSE(fabric::instrument(&ep.object));
  CHECK(ep.object.msg == ours);
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: another copy's hook is left alone") {
  fake::endpoint ep;
  fake::open(ep);
  struct {
    alignas(64) hooks::table_prefix prefix;
    fi_ops table;
  } theirs{{nullptr,
            nullptr,
            {hooks::hook_magic, FABSCOPE_ABI, sizeof(fabscope_hook_stamp), &ep, &fake::ep_fid}},
           fake::ep_fid};
  ep.object.fid.ops = &theirs.table;
  CHECK_FALSE(fabric::instrument<fabric::passive_policy>(&ep.object));
  CHECK(ep.object.fid.ops == &theirs.table);
  CHECK(ep.object.msg == &fake::first_msg);
}

TEST_CASE("fabric.hooks: tables that a provider changes at enable are patched again") {
  fake::endpoint ep;
  fake::open(ep);
  ep.swap_at_enable = true;
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  const fi_ops_msg* first = ep.object.msg;
  REQUIRE(fi_enable(&ep.object) == 0);
  CHECK(ep.object.msg != first);
  CHECK(ep.object.msg != &fake::enabled_msg);
  CHECK((ep.object.msg->send != fake::enabled_msg.send));
  // And back to the one from before: the copy that is already there serves again.
  ep.object.msg = &fake::first_msg;
  REQUIRE(fi_setopt(&ep.object.fid, 0, 0, nullptr, 0) == 0);
  CHECK(ep.object.msg == first);
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: a close that fails leaves the hook in place") {
  fake::endpoint ep;
  fake::open(ep);
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  ep.busy = true;
  CHECK(fi_close(&ep.object.fid) == -FI_EBUSY);
  CHECK(fi_send(&ep.object, nullptr, 0, nullptr, 0, &ep) == 0);
  CHECK(ep.calls.size() == 1);
  ep.busy = false;
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.hooks: an alias gets a hook of its own") {
  fake::endpoint ep;
  fid_ep alias{};
  fake::open(ep);
  ep.alias = &alias;
  REQUIRE(fabric::instrument<fabric::passive_policy>(&ep.object));
  fid_ep* out = nullptr;
  REQUIRE(fi_ep_alias(&ep.object, &out, FI_TRANSMIT | FI_TRIGGER) == 0);
  REQUIRE(out == &alias);
  CHECK(alias.msg != ep.object.msg);
  CHECK(hooks::prefix_of(alias.msg).stamp.original == &fake::first_msg);
  CHECK(hooks::prefix_of(alias.msg).hook != hooks::prefix_of(ep.object.msg).hook);
  CHECK(static_cast<const fabric::endpoint*>(hooks::prefix_of(alias.msg).hook)->is_alias);
  // Not through fi_close(alias): the fake's alias is no whole endpoint.
  CHECK(fi_close(&ep.object.fid) == 0);
}

}  // namespace
