// SPDX-License-Identifier: Apache-2.0
// Texts of addresses, and which text belongs to which fi_addr.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fabscope/fabric.hpp>
#include <string>

namespace {

namespace hooks = fabscope::fabric::detail;

TEST_CASE("fabric.names: addresses as people write them") {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(7471);
  inet_pton(AF_INET, "10.1.2.3", &v4.sin_addr);
  CHECK(hooks::address_text(FI_SOCKADDR_IN, &v4, sizeof v4) == "10.1.2.3:7471");
  CHECK(hooks::address_text(FI_SOCKADDR, &v4, sizeof v4) == "10.1.2.3:7471");
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(1);
  inet_pton(AF_INET6, "fe80::1", &v6.sin6_addr);
  CHECK(hooks::address_text(FI_SOCKADDR_IN6, &v6, sizeof v6) == "[fe80::1]:1");
  char text[32] = "fi_shm://77";
  CHECK(hooks::address_text(FI_ADDR_STR, text, sizeof text) == "fi_shm://77");
  std::memset(text, 'x', sizeof text);  // no end
  CHECK(hooks::address_text(FI_ADDR_STR, text, sizeof text) == std::string(32, 'x'));
  const unsigned char raw[4] = {0x00, 0xa1, 0xff, 0x10};
  CHECK(hooks::address_text(FI_ADDR_PSMX3, raw, sizeof raw) == "0x00a1ff10");
  const std::uint32_t slingshot[2] = {0x01ad0407, 1};  // node and process, then the VNI
  CHECK(hooks::address_text(FI_ADDR_CXI, slingshot, sizeof slingshot) ==
        "fi_addr_cxi://0x01ad0407");
  CHECK(hooks::address_text(FI_SOCKADDR_IN, &v4, 1) == "0x02");  // cut short: no sockaddr
}

TEST_CASE("fabric.names: labels of small and of pointer-like fi_addrs") {
  hooks::address_map* const made = hooks::address_map::make();  // maps are never given back
  REQUIRE(made != nullptr);
  hooks::address_map& map = *made;
  CHECK(map.label_of(0) == 0);
  CHECK(map.label_of(FI_ADDR_UNSPEC) == 0);
  CHECK_FALSE(map.set(FI_ADDR_UNSPEC, 1, 1));
  constexpr std::uint32_t count = 5000;
  const auto pointer_like = [](std::uint32_t i) {
    return 0x7f0000000000U + std::uint64_t{i} * 4096;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    REQUIRE(map.set(i, 1, i + 1));
    REQUIRE(map.set(pointer_like(i), 2, i + 100000));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    REQUIRE(map.label_of(i) == i + 1);
    REQUIRE(map.label_of(pointer_like(i)) == i + 100000);
  }
  CHECK(map.label_of(count) == 0);
  constexpr std::uint64_t last = hooks::address_map::indices - 1;
  for (const std::uint64_t at : {last, last + 1, ~std::uint64_t{0} - 1}) {
    CHECK(map.label_of(at) == 0);
    REQUIRE(map.set(at, 4, 815));
    CHECK(map.label_of(at) == 815);
  }
  map.remove(last);
  map.remove(last + 1);
  CHECK(map.label_of(last) == 0);
  CHECK(map.label_of(last + 1) == 0);
  map.remove(17);
  CHECK(map.label_of(17) == 0);
  CHECK(map.label_of(18) == 19);
  CHECK(map.set(17, 3, 4711));  // given out again, to another peer
  CHECK(map.label_of(17) == 4711);
  map.relabel([](std::uint32_t name) { return name * 10; });
  CHECK(map.label_of(17) == 30);
  CHECK(map.label_of(18) == 10);
  CHECK(map.label_of(~std::uint64_t{0} - 1) == 40);
  map.clear();
  CHECK(map.label_of(18) == 0);
  CHECK(map.label_of(pointer_like(18)) == 0);
}

}  // namespace
