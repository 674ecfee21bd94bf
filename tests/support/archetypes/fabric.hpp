// SPDX-License-Identifier: Apache-2.0
// The least that a policy of operations must be.
#pragma once

#include <cstdint>
#include <fabscope/fabric/concepts.hpp>

namespace archetypes {

struct operation_policy {
  struct thread {
    std::uint32_t depth;
  };
  struct attempt {};
  static thread* enter() noexcept { return nullptr; }
  static bool nested() noexcept { return false; }
  static attempt issue(thread&, fabscope::fabric::endpoint&, fabscope::fabric::request&) noexcept {
    return {};
  }
  static void issued(thread&, fabscope::fabric::endpoint&, const fabscope::fabric::request&,
                     attempt&, std::int64_t) noexcept {}
  static std::uint64_t wait_begins(thread&) noexcept { return 0; }
  static void polled(thread&, fabscope::fabric::completion_queue&,
                     const fabscope::fabric::poll&) noexcept {}
  static void restore(fabscope::fabric::completion_queue&, const fabscope::fabric::poll&) noexcept {
  }
  static ssize_t cancel(fabscope::fabric::endpoint&, void* context, ssize_t (*real)(void*)) {
    return real(context);
  }
  static void opened(fabscope::fabric::endpoint&) noexcept {}
  static std::uint32_t label(std::uint32_t) noexcept { return 0; }
  static void closed(fabscope::fabric::endpoint&) noexcept {}
  static void closed(fabscope::fabric::completion_queue&) noexcept {}
  static void passed(thread&, fabscope::fabric::endpoint&,
                     fabscope::fabric::collective_call) noexcept {}
  static void counted(thread&, fabscope::fabric::counter&, std::uint64_t, std::uint64_t) noexcept {}
  static void closed(fabscope::fabric::counter&) noexcept {}
  static void may_sleep(thread&, fabscope::fabric::completion_queue&) noexcept {}
  static void connecting(fabscope::fabric::endpoint&) noexcept {}
  static void connected(fabscope::fabric::endpoint&) noexcept {}
  static std::uint64_t control_begins() noexcept { return 0; }
  static void registered(std::uint32_t, std::uint64_t, std::uint64_t, int) noexcept {}
};

}  // namespace archetypes
