// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fabscope/fabric/context_slot.hpp>
#include <fabscope/fabric/registry.hpp>
#include <thread>

namespace fabric = fabscope::fabric;

TEST_CASE(
    "fabric.context_slot: a fork during another thread's control call leaves no lock behind") {
  REQUIRE(fabric::detail::reserve_pool());
  REQUIRE(fabric::detail::the_registry() != nullptr);
  std::atomic<int> stage{0};
  std::thread other([&] {
    const fabric::detail::slot_walk walk;
    const fabric::detail::control_lock lock(fabric::detail::known_registry().mutex);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a lock that nobody opens ends the child by a signal
    {
      const fabric::detail::slot_walk walk;
      const fabric::detail::control_lock lock(fabric::detail::known_registry().mutex);
    }
    ::_exit(fabric::detail::walkers == 0 ? 0 : 1);
  }
  stage = 2;
  other.join();
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
