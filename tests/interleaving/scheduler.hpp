// SPDX-License-Identifier: Apache-2.0
// Runs two to four logical threads in one real one, in an order that follows from a number, and
// lets any of them go on between any two accesses to shared memory.
//
// What is explored are interleavings under sequential consistency: every access takes effect at
// once and in the order of the program. What a processor or compiler may reorder because a memory
// order is too weak is not seen here; the stress tests under the thread sanitizer look for that.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <fabscope/core/word_access.hpp>

namespace interleaving {

/// Decides who makes the next step.
class strategy {
 public:
  strategy() = default;
  strategy(const strategy&) = delete;
  strategy& operator=(const strategy&) = delete;
  virtual ~strategy() = default;
  /// One of `options` threads: 0 is the one that made the last step if `may_go_on`.
  virtual std::size_t choose(std::size_t options, bool may_go_on) = 0;
};

/// Follows from a seed alone: how often it switches too.
class seeded final : public strategy {
 public:
  explicit seeded(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {
    for (int i = 0; i < 4; ++i) (void)next();
    one_in_ = std::uint64_t{1} << (next() % 8);  // 1, 2, 4 ... 128
  }
  std::size_t choose(std::size_t options, bool may_go_on) override {
    if (may_go_on && next() % one_in_ != 0) return 0;
    return static_cast<std::size_t>(next() % options);
  }

 private:
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ >> 11;
  }
  std::uint64_t state_;
  std::uint64_t one_in_;
};

/// All orders one after the other, except those that take a thread that could go on off the
/// processor more than `most_preemptions` times.
class exhaustive final : public strategy {
 public:
  explicit exhaustive(std::size_t most_preemptions) : most_(most_preemptions) {}
  std::size_t choose(std::size_t options, bool may_go_on) override {
    if (may_go_on && preemptions_ == most_) return 0;
    if (at_ == path_.size()) path_.push_back({0, options});
    const std::size_t chosen = path_[at_++].chosen;
    preemptions_ += may_go_on && chosen != 0 ? 1U : 0U;
    return chosen;
  }
  /// Goes on to the next order; false after the last.
  bool advance() {
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().options) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    at_ = 0;
    preemptions_ = 0;
    return true;
  }

 private:
  struct decision {
    std::size_t chosen;
    std::size_t options;
  };
  std::vector<decision> path_;
  std::size_t at_ = 0;
  std::size_t most_;
  std::size_t preemptions_ = 0;
};

/// The scheduler: one runs at a time.
class scheduler {
 public:
  static constexpr std::size_t max_threads = 4;

  /// Runs body(0) to body(threads - 1) to their ends. Returns who made each step, as digits; with
  /// an 'x' at the end if those that are left wait for each other, or make steps without end.
  static std::string run(std::size_t threads, const std::function<void(std::size_t)>& body,
                         strategy& order) {
    static scheduler one;
    one.start(threads, body, order);
    return one.trace_;
  }

  /// Before each access: maybe somebody else comes first. Outside run() nothing happens.
  static void step() noexcept {
    if (running_ != nullptr) running_->decide();
  }
  /// The number of the logical thread that runs; max_threads outside of run().
  static std::size_t current() noexcept {
    return running_ != nullptr ? running_->current_ : max_threads;
  }
  /// Goes on when wake() was called for the same address.
  static void wait_for(const void* what) noexcept {
    running_->threads_[running_->current_].waits = what;
    running_->decide();
  }
  static void wake(const void* what) noexcept {
    if (running_ == nullptr) return;
    for (logical& each : running_->threads_) each.waits = each.waits == what ? nullptr : each.waits;
  }

 private:
  struct logical {
    ucontext_t context;
    std::unique_ptr<unsigned char[]> stack;
    const void* waits = nullptr;
    bool ended = true;
  };
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  static constexpr std::size_t most_steps = 100000;

  void start(std::size_t threads, const std::function<void(std::size_t)>& body, strategy& order) {
    body_ = &body;
    order_ = &order;
    count_ = threads;
    trace_.clear();
    running_ = this;
    starting_ = true;
    for (current_ = 0; current_ < threads; ++current_) {
      logical& mine = threads_[current_];
      if (mine.stack == nullptr) mine.stack = std::make_unique<unsigned char[]>(stack_bytes);
      mine.waits = nullptr;
      mine.ended = false;
      getcontext(&mine.context);
      mine.context.uc_stack.ss_sp = mine.stack.get();
      mine.context.uc_stack.ss_size = stack_bytes;
      mine.context.uc_link = nullptr;
      makecontext(&mine.context, &scheduler::enter, 0);
      swapcontext(&home_, &mine.context);  // up to its first access
    }
    starting_ = false;
    current_ = max_threads;
    const std::size_t first = pick();
    if (first != max_threads) {
      current_ = first;
      swapcontext(&home_, &threads_[first].context);
    }
    running_ = nullptr;
  }

  static void enter() {
    scheduler& self = *running_;
    (*self.body_)(self.current_);
    self.threads_[self.current_].ended = true;
    if (self.starting_) setcontext(&self.home_);
    const std::size_t next = self.pick();
    if (next == max_threads) setcontext(&self.home_);
    self.current_ = next;
    setcontext(&self.threads_[next].context);
  }

  void decide() noexcept {
    logical& mine = threads_[current_];
    if (starting_) {
      swapcontext(&mine.context, &home_);
      return;
    }
    const std::size_t next = pick();
    if (next == current_) return;
    current_ = next;
    swapcontext(&mine.context, next == max_threads ? &home_ : &threads_[next].context);
  }

  /// max_threads if nobody can go on.
  std::size_t pick() {
    std::size_t able[max_threads];
    std::size_t count = 0;
    const auto runnable = [this](std::size_t i) {
      return !threads_[i].ended && threads_[i].waits == nullptr;
    };
    const bool may_go_on = current_ < max_threads && runnable(current_);
    if (may_go_on) able[count++] = current_;
    bool all_ended = true;
    for (std::size_t i = 0; i < count_; ++i) {
      all_ended = all_ended && threads_[i].ended;
      if (i != current_ && runnable(i)) able[count++] = i;
    }
    if (count == 0 || trace_.size() == most_steps) {
      if (!all_ended) trace_ += 'x';
      return max_threads;
    }
    const std::size_t next = count == 1 ? able[0] : able[order_->choose(count, may_go_on)];
    trace_ += static_cast<char>('0' + next);
    return next;
  }

  static inline scheduler* running_ = nullptr;
  logical threads_[max_threads];
  ucontext_t home_{};
  const std::function<void(std::size_t)>* body_ = nullptr;
  strategy* order_ = nullptr;
  std::size_t count_ = 0;
  std::size_t current_ = max_threads;
  std::string trace_;
  bool starting_ = false;
};

/// A lock between logical threads.
class lock {
 public:
  void take() noexcept {
    scheduler::step();
    while (held_) scheduler::wait_for(this);
    held_ = true;
  }
  void give_back() noexcept {
    scheduler::step();
    held_ = false;
    scheduler::wake(this);
  }

 private:
  bool held_ = false;
};

/// Takes the place of fabscope::word_access: a step before each access, and before each word of a
/// record.
struct stepping {
  template <class Word>
  static Word relaxed_load(const Word& word) noexcept {
    scheduler::step();
    return word;
  }
  template <class Word>
  static Word acquire_load(const Word& word) noexcept {
    return relaxed_load(word);
  }
  template <class Word>
  static void relaxed_store(Word& word, std::type_identity_t<Word> value) noexcept {
    scheduler::step();
    word = value;
  }
  template <class Word>
  static void release_store(Word& word, std::type_identity_t<Word> value) noexcept {
    relaxed_store(word, value);
  }
  /// Of a word with one writer: a load and a store.
  template <class Word>
  static void relaxed_add(Word& word, std::type_identity_t<Word> amount) noexcept {
    const Word old = relaxed_load(word);
    relaxed_store(word, static_cast<Word>(old + amount));
  }
  template <class Word>
  static void fetch_add(Word& word, std::type_identity_t<Word> amount) noexcept {
    scheduler::step();
    word = static_cast<Word>(word + amount);
  }
  template <class Word>
  static bool exchange_relaxed(Word& word, Word& expected,
                               std::type_identity_t<Word> wanted) noexcept {
    scheduler::step();
    if (word == expected) {
      word = wanted;
      return true;
    }
    expected = word;
    return false;
  }
  template <class Word>
  static bool exchange_acquire(Word& word, Word& expected,
                               std::type_identity_t<Word> wanted) noexcept {
    return exchange_relaxed(word, expected, wanted);
  }
  template <class Word>
  static bool exchange_release(Word& word, Word& expected,
                               std::type_identity_t<Word> wanted) noexcept {
    return exchange_relaxed(word, expected, wanted);
  }
  template <class Record>
  static void copy(Record& to, const Record& from) noexcept {
    static_assert(sizeof(Record) % 8 == 0);
    for (std::size_t at = 0; at < sizeof(Record); at += 8) {
      scheduler::step();
      std::memcpy(reinterpret_cast<char*>(&to) + at, reinterpret_cast<const char*>(&from) + at, 8);
    }
  }
};
static_assert(fabscope::word_accessor<stepping>);

/// What exploring gave.
struct finding {
  std::string wrong;         ///< empty: nothing was found
  std::uint64_t seed = 0;    ///< where it was found
  std::uint64_t orders = 0;  ///< how many were tried
  std::string trace;         ///< who made each step
  [[nodiscard]] bool ok() const { return wrong.empty(); }
  [[nodiscard]] std::string text() const {
    return wrong + "; FABSCOPE_SEED=" + std::to_string(seed) + ", order " + trace;
  }
};

/// Runs a new Model in one order. A model has `threads`, body(thread), and verdict(), which is
/// empty if all is well after the end.
template <class Model>
finding once(strategy& order) {
  finding out;
  out.orders = 1;
  const auto model = std::make_unique<Model>();
  out.trace = scheduler::run(
      Model::threads, [&model](std::size_t thread) { model->body(thread); }, order);
  out.wrong = out.trace.ends_with('x') ? std::string("some threads never end") : model->verdict();
  return out;
}

/// Seeds 1 to `seeds`, or only the one in the environment variable FABSCOPE_SEED.
template <class Model>
finding explore(std::uint64_t seeds) {
  const char* only = std::getenv("FABSCOPE_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only != nullptr ? first : seeds;
  finding out;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    seeded order(seed);
    finding one = once<Model>(order);
    one.seed = seed;
    one.orders = seed - first + 1;
    if (!one.ok() || seed == last) return one;
  }
  return out;
}

/// Every order with at most so many preemptions; gives up, which is wrong too, beyond `most`
/// orders.
template <class Model>
finding explore_all(std::size_t preemptions, std::uint64_t most) {
  exhaustive order(preemptions);
  std::uint64_t orders = 0;
  for (;;) {
    finding one = once<Model>(order);
    one.orders = ++orders;
    if (!one.ok() || !order.advance()) return one;
    if (orders == most) {
      one.wrong = "more orders than expected";
      return one;
    }
  }
}

}  // namespace interleaving
