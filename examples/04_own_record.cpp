// SPDX-License-Identifier: Apache-2.0
// A record type of one's own: at most 64 bytes, described once, on the same clock as everything
// else.
#include <cstddef>
#include <cstdio>
#include <fabscope/session.hpp>
#include <span>

struct queue_depth {
  fabscope::record_header header;  // the session stamps it
  std::uint64_t bytes = 0;
  std::uint32_t depth = 0;
  std::uint32_t peer = 0;

  static constexpr const char* type_name = "queue_depth";
  static constexpr bool is_row = false;
  static const fabscope::field fields[3];
};
inline constexpr fabscope::field queue_depth::fields[3] = {
    {"bytes", "B", offsetof(queue_depth, bytes), fabscope::field_type::u64},
    {"depth", "", offsetof(queue_depth, depth), fabscope::field_type::u32},
    {"peer", "", offsetof(queue_depth, peer), fabscope::field_type::u32},
};

struct deepest {
  std::uint32_t depth = 0;
  void consume(std::span<const queue_depth> batch, const fabscope::sink_context&) noexcept {
    for (const queue_depth& one : batch) depth = one.depth > depth ? one.depth : depth;
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

int main() {
  fabscope::session session;
  deepest sink;
  session.add_sink<queue_depth>(sink);
  for (std::uint32_t n = 0; n < 64; ++n) {
    queue_depth seen;
    seen.bytes = n * 4096;
    seen.depth = n % 17;
    seen.peer = n % 4;
    fabscope::emit(seen);
  }
  session.finish();
  std::printf("deepest queue: %u\n", sink.depth);
  return sink.depth == 16 ? 0 : 1;
}
