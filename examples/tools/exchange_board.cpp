// SPDX-License-Identifier: Apache-2.0
#include "exchange_board.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace exchange {

void counts::fail(int error) {
  for (failure& f : failures) {
    if (f.error.load(std::memory_order_relaxed) == 0)
      f.error.store(error, std::memory_order_relaxed);
    if (f.error.load(std::memory_order_relaxed) == error || &f == &failures.back()) {
      f.times.add();
      return;
    }
  }
}

std::uint64_t counts::failed() const {
  std::uint64_t sum = 0;
  for (const failure& f : failures) sum += f.times.get();
  return sum;
}

bool board::all_arrived(unsigned meeting) const {
  for (unsigned i = 0; i < endpoints; ++i) {
    // Pairs with the release in endpoint::meet: what the others wrote before is visible after.
    if (places[i].arrived.load(std::memory_order_acquire) < meeting) return false;
  }
  return true;
}

std::uint64_t board::progress() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i <= endpoints; ++i) {
    sum += places[i].arrived.load(std::memory_order_relaxed);
    for (const auto& peers : places[i].calls) {
      for (unsigned p = 0; p <= max_endpoints; ++p)
        sum += peers[p].completed.get() + peers[p].failed();
    }
  }
  return sum;
}

bool board::payload_wrong() const {
  for (unsigned i = 0; i < endpoints; ++i) {
    if (places[i].wrong_messages.get() != 0) return true;
  }
  return false;
}

board& make_board(unsigned endpoints) {
  void* memory =
      ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("fabscope-exchange: mmap");
    std::exit(1);
  }
  return *new (memory) board(endpoints);
}

bool write_reference(const board& shared, const options& o, const std::string& path) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return false;
  std::fprintf(out, "{\"provider\": \"%s\", \"directed\": %s, \"endpoints\": [\n",
               o.provider.c_str(), shared.directed ? "true" : "false");
  const unsigned places = shared.endpoints + (o.close_outstanding != 0 ? 1 : 0);
  for (unsigned i = 0; i < places; ++i) {
    const place& own = shared.places[i];
    std::fprintf(out, "{\"endpoint\": %u, \"pid\": %d, \"address\": \"%s\", \"raw\": \"", i,
                 own.process, own.text);
    for (std::size_t b = 0; b < own.address_bytes; ++b) std::fprintf(out, "%02x", own.address[b]);
    std::fprintf(out, "\", \"calls\": [");
    const char* comma = "";
    for (unsigned c = 0; c < call_names.size(); ++c) {
      for (unsigned p = 0; p <= max_endpoints; ++p) {
        const counts& n = own.calls[c][p];
        if (n.posted.get() == 0 && n.again.get() == 0) continue;
        std::fprintf(
            out,
            "%s\n  {\"call\": \"%s\", \"peer\": \"%s\", \"posted\": %llu, \"completed\": %llu, "
            "\"bytes\": %llu, \"again\": %llu, \"closed\": %llu, \"late\": %llu, \"open\": %llu, "
            "\"errors\": {",
            comma, call_names[c], p == nobody ? "" : shared.places[p].text,
            static_cast<unsigned long long>(n.posted.get()),
            static_cast<unsigned long long>(n.completed.get()),
            static_cast<unsigned long long>(n.bytes.get()),
            static_cast<unsigned long long>(n.again.get()),
            static_cast<unsigned long long>(n.closed.get()),
            static_cast<unsigned long long>(n.late.get()),
            static_cast<unsigned long long>(n.open()));
        const char* between = "";
        for (const counts::failure& f : n.failures) {
          if (f.times.get() == 0) continue;
          std::fprintf(out, "%s\"%d\": %llu", between, f.error.load(),
                       static_cast<unsigned long long>(f.times.get()));
          between = ", ";
        }
        std::fprintf(out, "}}");
        comma = ",";
      }
    }
    std::fprintf(out, "]}%s\n", i + 1 < places ? "," : "");
  }
  std::fprintf(out, "]}\n");
  const bool good = std::ferror(out) == 0;
  return std::fclose(out) == 0 && good;
}

void print_summary(const board& shared, const options& o) {
  std::uint64_t completed = 0, bytes = 0, again = 0, checked = 0, wrong = 0;
  for (unsigned i = 0; i < shared.endpoints; ++i) {
    const place& own = shared.places[i];
    for (const auto& peers : own.calls) {
      for (const counts& n : peers) {
        completed += n.completed.get();
        bytes += n.bytes.get();
        again += n.again.get();
      }
    }
    checked += own.checked_messages.get();
    wrong += own.wrong_messages.get();
  }
  std::printf(
      "fabscope-exchange: %u %s over %s: %llu operations of %.3f GB completed, %llu times "
      "-FI_EAGAIN; "
      "%llu messages checked, %llu wrong\n",
      shared.endpoints, o.processes ? "processes" : "threads", o.provider.c_str(),
      static_cast<unsigned long long>(completed), static_cast<double>(bytes) * 1e-9,
      static_cast<unsigned long long>(again), static_cast<unsigned long long>(checked),
      static_cast<unsigned long long>(wrong));
}

void print_outstanding(const board& shared) {
  for (unsigned i = 0; i < shared.endpoints; ++i) {
    const place& own = shared.places[i];
    std::fprintf(stderr, "  endpoint %u %s: %u meetings", i, own.text, own.arrived.load());
    for (unsigned c = 0; c < call_names.size(); ++c) {
      for (unsigned p = 0; p <= max_endpoints; ++p) {
        const counts& n = own.calls[c][p];
        if (n.open() == 0) continue;
        std::fprintf(stderr, ", %llu %s", static_cast<unsigned long long>(n.open()), call_names[c]);
        if (p != nobody) std::fprintf(stderr, " with endpoint %u", p);
      }
    }
    std::fprintf(stderr, "\n");
  }
}

}  // namespace exchange
