// SPDX-License-Identifier: Apache-2.0
// What the endpoints do with each other. No fabscope here either: the phases are announced to an
// observer, whose objects live as long as the phase.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "exchange_endpoint.hpp"

namespace exchange {

/// What makes a message unlike every other.
struct label {
  unsigned from, to;
  kind how;
  unsigned round;
  std::size_t bytes;
  unsigned number;  ///< among those in flight together

  std::uint64_t seed() const;
};

/// Fills a buffer with the label's content.
void fill(char* buffer, const label& l);
/// Where the content differs first; l.bytes if nowhere.
std::size_t first_difference(const char* buffer, const label& l);

/// One endpoint's part of the run. Observer: setup(), round(n), fill(bytes), post(bytes, size),
/// progress(), meet(), check(bytes), cancel(n) and close(n), each giving an object.
template <class Observer>
class participant {
 public:
  participant(opened& fabric, board& shared, unsigned index, const options& o, Observer& observer)
      : fabric_(fabric), shared_(shared), me_(index), options_(o), observer_(observer) {}

  void run() {
    {
      [[maybe_unused]] auto seen = observer_.setup();
      endpoint_.emplace(fabric_, shared_, shared_.places[me_], options_,
                        2 * slot_ * options_.endpoints);
      endpoint_->connect();
    }
    start_ = std::chrono::steady_clock::now();
    for (unsigned round = 0; another(round); ++round) {
      [[maybe_unused]] auto seen = observer_.round(round);
      std::vector<request*> unmatched;
      if (round == 0) unmatched = post_unmatched();
      for (const kind how : options_.kinds) {
        if ((how == kind::write || how == kind::read) && !endpoint_->has_rma()) continue;
        for (const std::size_t bytes : options_.sizes) move(how, bytes, round, unmatched.size());
      }
      if (!unmatched.empty()) {
        [[maybe_unused]] auto cancels = observer_.cancel(unmatched.size());
        endpoint_->cancel(unmatched);
      }
    }
    meet();
  }

 private:
  /// Memory: for each peer a slot that goes out to it, then for each one that comes in from it.
  static std::size_t slot_bytes(const options& o) {
    std::size_t most = 0;
    for (const std::size_t bytes : o.sizes) most = std::max(most, bytes * o.in_flight(bytes));
    return most;
  }
  std::size_t out_at(unsigned peer) const { return slot_ * peer; }
  std::size_t in_at(unsigned peer) const { return slot_ * (options_.endpoints + peer); }

  void meet() {
    [[maybe_unused]] auto seen = observer_.meet();
    endpoint_->meet();
  }

  /// Whether there is one more round: the same answer for all endpoints.
  bool another(unsigned round) {
    if (options_.rounds != 0) return round < options_.rounds;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    if (me_ == 0 && round > 0 && passed.count() >= options_.seconds) shared_.rounds = round;
    meet();
    return round < shared_.rounds;
  }

  /// Moves every message of one kind and size. Tagged messages and writes go to all others, at
  /// distance 1, 2, ... (a shifted all-to-all), the rest to the right neighbour (a ring).
  void move(kind how, std::size_t bytes, unsigned round, std::uint64_t left_open) {
    const unsigned n = options_.endpoints;
    const unsigned farthest = how == kind::send || how == kind::read ? 1 : n - 1;
    const unsigned flight = options_.in_flight(bytes);
    const std::uint64_t total = std::uint64_t{farthest} * flight * bytes;
    const bool remote = how == kind::write || how == kind::read;

    {
      [[maybe_unused]] auto seen = observer_.fill(total);
      for (unsigned far = 1; far <= farthest; ++far) {
        const unsigned to = (me_ + far) % n;
        for (unsigned i = 0; i < flight; ++i) {
          char* buffer = endpoint_->memory() + out_at(to) + i * bytes;
          fill(buffer, label{me_, to, how, round, bytes, i});
          if (me_ == 0 && ++filled_ == options_.corrupt) buffer[bytes / 2] ^= 1;
        }
      }
    }
    // Nobody reaches into another's memory before that one is ready.
    if (remote) meet();
    {
      [[maybe_unused]] auto seen = observer_.post(total, bytes);
      for (unsigned far = 1; far <= farthest; ++far) {
        const unsigned to = (me_ + far) % n;
        const unsigned from = (me_ + n - far) % n;
        for (unsigned i = 0; i < flight; ++i) {
          char* out = endpoint_->memory() + out_at(to) + i * bytes;
          char* in = endpoint_->memory() + in_at(from) + i * bytes;
          switch (how) {
            case kind::send: endpoint_->post(call::recv, from, in, bytes); break;
            case kind::tagged:
              endpoint_->post(call::trecv, from, in, bytes, tag(from, round, bytes, i));
              break;
            case kind::write:
              endpoint_->post(call::write, to, out, bytes, 0, in_at(me_) + i * bytes);
              break;
            case kind::read:
              endpoint_->post(call::read, from, in, bytes, 0, out_at(me_) + i * bytes);
              break;
          }
        }
        for (unsigned i = 0; i < flight && !remote; ++i) {
          char* out = endpoint_->memory() + out_at(to) + i * bytes;
          if (how == kind::send) endpoint_->post(call::send, to, out, bytes);
          if (how == kind::tagged)
            endpoint_->post(call::tsend, to, out, bytes, tag(me_, round, bytes, i));
        }
      }
    }
    {
      [[maybe_unused]] auto seen = observer_.progress();
      endpoint_->finish(left_open);
    }
    // All have written and all have read: look at what came in, overwrite what went out.
    if (remote) meet();
    if (options_.check) {
      [[maybe_unused]] auto seen = observer_.check(total);
      for (unsigned far = 1; far <= farthest; ++far) {
        const unsigned from = (me_ + n - far) % n;
        for (unsigned i = 0; i < flight; ++i) check(label{from, me_, how, round, bytes, i});
      }
    }
  }

  void check(const label& l) {
    const char* buffer = endpoint_->memory() + in_at(l.from) + l.number * l.bytes;
    std::size_t at = first_difference(buffer, l);
    // A write is complete when its initiator may use the buffer again; that its data are visible at
    // the target is a promise of some providers only. Look again for a while.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (at != l.bytes && l.how == kind::write && std::chrono::steady_clock::now() < until) {
      endpoint_->progress();
      at = first_difference(buffer, l);
    }
    place& own = endpoint_->own();
    own.checked_messages.add();
    own.checked_bytes.add(l.bytes);
    if (at == l.bytes) return;
    own.wrong_messages.add();
    if (own.wrong_messages.get() > 3) return;
    std::fprintf(
        stderr,
        "fabscope-exchange: endpoint %u: payload wrong: %s of %zu bytes, number %u of round "
        "%u from endpoint %u, differs at byte %zu\n",
        l.to, kind_names[static_cast<unsigned>(l.how)], l.bytes, l.number, l.round, l.from, at);
  }

  /// Unique among the tagged messages that can be under way together.
  static std::uint64_t tag(unsigned from, unsigned round, std::size_t bytes, unsigned number) {
    return std::uint64_t{from} << 56 | std::uint64_t{round & 0xffU} << 48 |
           std::uint64_t{number} << 32 | (bytes & 0xffffffffU);
  }

  /// Receives for messages that nobody sends.
  std::vector<request*> post_unmatched() {
    std::vector<request*> list;
    for (unsigned i = 0; i < options_.cancel; ++i) {
      constexpr std::uint64_t never_sent = std::uint64_t{0xff} << 56;
      list.push_back(&endpoint_->post(call::trecv, nobody, endpoint_->memory(), 8, never_sent | i));
    }
    return list;
  }

  opened& fabric_;
  board& shared_;
  const unsigned me_;
  const options& options_;
  Observer& observer_;
  const std::size_t slot_ = slot_bytes(options_);
  std::optional<endpoint> endpoint_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t filled_ = 0;
};

/// Opens one more endpoint, posts receives of both kinds and closes it while they are outstanding.
template <class Observer>
void close_with_receives_outstanding(opened& fabric, board& shared, const options& o,
                                     Observer& observer) {
  endpoint extra(fabric, shared, shared.extra(), o, 4096);
  for (unsigned i = 0; i < o.close_outstanding; ++i) {
    extra.post(i % 2 == 0 ? call::recv : call::trecv, nobody, extra.memory(), 4096, i);
  }
  [[maybe_unused]] auto seen = observer.close(o.close_outstanding);
  extra.close();
}

}  // namespace exchange
