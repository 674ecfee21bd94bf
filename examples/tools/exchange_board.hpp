// SPDX-License-Identifier: Apache-2.0
// What the endpoints of one run share: addresses, a meeting point and the counts that the program
// keeps itself. It lies in one shared mapping, so that threads and processes look alike.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <string>

#include "exchange_options.hpp"

namespace exchange {

inline constexpr unsigned max_endpoints = 64;
/// In place of a peer's number: not known, as in a receive from anybody.
inline constexpr unsigned nobody = max_endpoints;

/// The libfabric calls that the program makes.
enum class call : unsigned { send, recv, tsend, trecv, write, read };
inline constexpr std::array<const char*, 6> call_names{"fi_send",  "fi_recv",  "fi_tsend",
                                                       "fi_trecv", "fi_write", "fi_read"};

/// A count that one thread writes and others may look at.
class count {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// What became of the operations of one call between one endpoint and one peer.
struct counts {
  count posted;     ///< accepted by the provider
  count completed;  ///< success completions
  count bytes;      ///< of those
  count again;      ///< times that the call was answered with -FI_EAGAIN
  count closed;     ///< outstanding when their endpoint was closed
  count late;       ///< of those: had an error completion all the same
  struct failure {
    std::atomic<int> error{0};  ///< an errno value, 0: unused
    count times;
  };
  std::array<failure, 4> failures;  ///< error completions by errno, the last place takes the rest

  void fail(int error);
  std::uint64_t failed() const;
  std::uint64_t open() const { return posted.get() - completed.get() - closed.get() - failed(); }
};

/// One endpoint as the others see it.
struct place {
  std::atomic<unsigned> arrived{0};  ///< meetings that it came to
  int process = 0;
  // Its address, as libfabric wants it and as text, and its memory for RMA; written before
  // meeting 1.
  unsigned char address[128] = {};
  std::size_t address_bytes = 0;
  char text[128] = {};
  std::uint64_t memory = 0;
  std::uint64_t key = 0;
  // Counts.
  std::array<std::array<counts, max_endpoints + 1>, call_names.size()> calls;
  count checked_messages;
  count checked_bytes;
  count wrong_messages;

  counts& of(call c, unsigned peer) { return calls[static_cast<unsigned>(c)][peer]; }
  const counts& of(call c, unsigned peer) const { return calls[static_cast<unsigned>(c)][peer]; }
};

struct board {
  explicit board(unsigned n) : endpoints(n) {}

  const unsigned endpoints;
  std::atomic<bool> failed{false};    ///< somebody gave up: so does everybody
  std::atomic<unsigned> rounds{~0u};  ///< how many rounds there will be, once endpoint 0 knows
  std::atomic<bool> directed{false};  ///< receives name their sender and the provider respects it
  /// One per endpoint, and one for the extra endpoint that is closed early.
  std::array<place, max_endpoints + 1> places;

  place& extra() { return places[endpoints]; }
  bool all_arrived(unsigned meeting) const;
  bool payload_wrong() const;
  /// Completions so far: grows as long as the run gets on.
  std::uint64_t progress() const;
};

/// A board in memory that this process shares with its children.
board& make_board(unsigned endpoints);

/// Writes all counts as JSON. False: the file cannot be written, and errno says why.
bool write_reference(const board& shared, const options& o, const std::string& path);

/// Prints what was moved and checked.
void print_summary(const board& shared, const options& o);

/// Says on stderr what the endpoints are waiting for.
void print_outstanding(const board& shared);

}  // namespace exchange
