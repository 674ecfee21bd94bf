// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <fabscope/session/segment.hpp>

TEST_CASE("session.segment: network file systems are known by their type") {
  using fabscope::detail::is_network_file_system;
  for (const long type : {long{NFS_SUPER_MAGIC}, long{AFS_SUPER_MAGIC}, long{V9FS_MAGIC},
                          long{FUSE_SUPER_MAGIC}, long{CEPH_SUPER_MAGIC}}) {
    CHECK_MESSAGE(is_network_file_system(type), "type ", type);
  }
  // 32 bits with the highest set, as a machine with a signed f_type gives them.
  CHECK(is_network_file_system(static_cast<long>(0xffffffffff534d42UL)));
  for (const long type : {long{TMPFS_MAGIC}, long{EXT4_SUPER_MAGIC}, long{XFS_SUPER_MAGIC},
                          long{BTRFS_SUPER_MAGIC}, long{OVERLAYFS_SUPER_MAGIC}}) {
    CHECK_MESSAGE(!is_network_file_system(type), "type ", type);
  }
  struct statfs here {};
  REQUIRE(::statfs("/dev/shm", &here) == 0);
  CHECK_FALSE(is_network_file_system(static_cast<long>(here.f_type)));
}
