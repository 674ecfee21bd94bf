// SPDX-License-Identifier: Apache-2.0
// What happens around libfabric's calls is a policy, a template parameter. This one counts the
// bytes that were sent with each tag, and nothing else: no clock is read, no session is needed.
#include <cstdint>
#include <cstdio>
#include <fabscope/fabric.hpp>

#include "loopback.hpp"

namespace {

struct bytes_per_tag : fabscope::fabric::passive_policy {
  static constexpr std::uint64_t tags = 8;  // of this program; the last place is for others
  static inline std::uint64_t bytes[tags + 1] = {};

  // After each call that transfers data. A real one that runs in several threads counts atomically.
  static void issued(thread&, fabscope::fabric::endpoint&, const fabscope::fabric::request& call,
                     const attempt&, std::int64_t result) noexcept {
    using fabscope::operation;
    const bool sends = call.op >= operation::tsend && call.op <= operation::tinjectdata;
    if (!sends || result != 0) return;  // a receive, or not accepted
    bytes[call.tag < tags ? call.tag : tags] += call.bytes;
  }
};
static_assert(fabscope::fabric::operation_policy<bytes_per_tag>);

}  // namespace

int main() {
  loopback self;
  fabscope::fabric::instrument<bytes_per_tag>(self.fabric());
  self.start();
  for (int i = 0; i < 10; ++i) self.send(1, 100);
  self.send(5, 4096);
  self.send(77, 33);
  for (std::uint64_t tag = 0; tag <= bytes_per_tag::tags; ++tag) {
    if (bytes_per_tag::bytes[tag] == 0) continue;
    std::printf("%s %llu: %llu bytes\n", tag < bytes_per_tag::tags ? "tag" : "tags from",
                static_cast<unsigned long long>(tag),
                static_cast<unsigned long long>(bytes_per_tag::bytes[tag]));
  }
  const std::uint64_t* const seen = bytes_per_tag::bytes;
  const bool as_sent = seen[1] == 1000 && seen[5] == 4096 && seen[8] == 33 && seen[0] == 0;
  return as_sent ? 0 : 1;
}
