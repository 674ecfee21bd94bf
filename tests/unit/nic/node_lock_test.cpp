// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/node_lock.hpp>

#include <sys/wait.h>

#include <string>

#include <doctest/doctest.h>

#include "../../support/fake_tree.hpp"

using fabscope::nic::node_lock;

TEST_CASE("nic.node_lock: one has it, and says who it is") {
  const fake::tree tree;
  const std::string path = tree.base() + "/x.lock";
  node_lock first(path);
  node_lock second(path);
  REQUIRE(first.try_take({17, "/dev/shm/a b.seg"}));
  CHECK(first.try_take({17, "/dev/shm/a b.seg"}));
  CHECK_FALSE(second.try_take({18, ""}));
  CHECK(second.holder().pid == 17);
  CHECK(second.holder().segment == "/dev/shm/a b.seg");
  first.release();
  CHECK(second.holder().pid == 0);
  REQUIRE(second.try_take({18, "s"}));
  CHECK(first.holder().pid == 18);
}

TEST_CASE("nic.node_lock: it is free when its process has ended, and a child does not keep it") {
  const fake::tree tree;
  const std::string path = tree.base() + "/x.lock";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    node_lock held(path);
    ::_exit(held.try_take({::getpid(), ""}) ? 0 : 1);  // no destructor gives it back
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  node_lock mine(path);
  CHECK(mine.holder().pid == child);
  CHECK(mine.try_take({1, ""}));
  // A forked child that forgets it does not take it along.
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  const pid_t other = ::fork();
  if (other == 0) {
    mine.forget();
    char one;
    (void)!::write(gate[1], "x", 1);
    ::close(gate[1]);
    (void)!::read(gate[0], &one, 0);
    ::usleep(10'000);
    ::_exit(0);
  }
  char one;
  REQUIRE(::read(gate[0], &one, 1) == 1);
  mine.release();
  node_lock next(path);
  CHECK(next.try_take({2, ""}));
  (void)::waitpid(other, nullptr, 0);
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST_CASE("nic.node_lock: where no file can be made each process is alone") {
  node_lock nowhere("/nonexistent/x.lock");
  CHECK(nowhere.try_take({1, ""}));
}

TEST_CASE("nic.node_lock: jobs, roots and ports have files of their own") {
  fabscope::nic::nic_device device;
  device.device_class = "infiniband";
  device.name = "mlx5_0";
  device.port = 1;
  const std::string path = node_lock::path_for("/d", "job", {}, device);
  CHECK(path == node_lock::path_for("/d", "job", {}, device));
  CHECK(path != node_lock::path_for("/d", "other", {}, device));
  CHECK(path != node_lock::path_for("/d", "job", {"/fake", "/run"}, device));
  device.port = 2;
  CHECK(path != node_lock::path_for("/d", "job", {}, device));
}
