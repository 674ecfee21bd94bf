// SPDX-License-Identifier: Apache-2.0
// Reads the counters on a grid of time and puts the samples into a ring. Layer: nic.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/steady_clock.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/nic/cadence.hpp>
#include <fabscope/nic/node_lock.hpp>
#include <fabscope/nic/sweep.hpp>
#include <fabscope/stats/nic_rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// Two threads: one reads in every period, the other one, once a second, what may block (the retry
/// handler's file system, ethtool). The session's collector is neither of them: a read that hangs
/// keeps nobody but the thread that waits for it. Never freed while a thread may still run.
class sampler {
 public:
  sampler(sweep&& what, std::vector<node_lock>&& locks, lock_holder me, std::uint64_t period_ns,
          clock_kind clock)
      : sweep_(std::move(what)),
        locks_(std::move(locks)),
        me_(std::move(me)),
        period_(period_ns),
        clock_(clock),
        values_(sweep_.columns().size() + 1),
        states_(values_.size(), sample_state::absent),
        slow_values_(values_.size()),
        slow_states_(values_.size(), sample_state::absent),
        slow_fresh_(values_.size(), 0),
        slow_work_values_(values_.size()),
        slow_work_states_(values_.size(), sample_state::absent),
        owned_(locks_.size(), 0),
        taken_over_(locks_.size(), 0) {}
  sampler(const sampler&) = delete;
  sampler& operator=(const sampler&) = delete;
  ~sampler() = default;

  /// False: no memory, no thread.
  bool start(nic_block_row* blocks, std::size_t count, nic_sampler_row* row) noexcept {
    row_ = row;
    wake_ = above_standard_streams(::eventfd(0, EFD_CLOEXEC));
    if (wake_ < 0 || !ring_.start(blocks, count, sweep_.columns().size())) return false;
    relaxed_store(row_->period_ns, period_);
    relaxed_store(row_->columns, std::uint64_t{sweep_.columns().size()});
    release_store(row_->used, row_in_use);
    pthread_condattr_t monotonic;
    ::pthread_condattr_init(&monotonic);
    ::pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    ::pthread_cond_init(&ended_, &monotonic);
    ::pthread_condattr_destroy(&monotonic);
    take_locks();
    if (!run_thread([](void* self) -> void* {
          static_cast<sampler*>(self)->run();
          return nullptr;
        })) {
      return false;
    }
    if (sweep_.has_slow()) {
      run_thread([](void* self) -> void* {
        static_cast<sampler*>(self)->run_slow();
        return nullptr;
      });
    }
    return true;
  }

  /// Ends both threads, and waits for them at most this long. False if one hangs in a read: it is
  /// left alone, and touches nothing but this object and private memory.
  bool stop(std::uint64_t patience_ns) noexcept {
    const std::uint64_t one = 1;
    __atomic_store_n(&stopping_, true, __ATOMIC_RELEASE);
    if (wake_ >= 0 && ::write(wake_, &one, sizeof one) < 0) return false;
    const std::uint64_t until = monotonic_ns() + patience_ns;
    const timespec deadline{static_cast<time_t>(until / 1'000'000'000),
                            static_cast<long>(until % 1'000'000'000)};
    ::pthread_mutex_lock(&mutex_);
    while (running_ != 0 && ::pthread_cond_timedwait(&ended_, &mutex_, &deadline) == 0) {
    }
    const bool done = running_ == 0;
    ::pthread_mutex_unlock(&mutex_);
    if (!done) return false;
    for (node_lock& lock : locks_) lock.release();
    return true;
  }
  /// In the child of a fork.
  void forget_locks() noexcept {
    for (node_lock& lock : locks_) lock.forget();
  }

  [[nodiscard]] const sweep& counters() const noexcept { return sweep_; }
  [[nodiscard]] std::uint64_t period_ns() const noexcept { return period_; }
  [[nodiscard]] bool owns(std::size_t device) const noexcept {
    return acquire_load(owned_[device]) != 0;
  }
  [[nodiscard]] std::uint64_t taken_over(std::size_t device) const noexcept {
    return relaxed_load(taken_over_[device]);
  }
  [[nodiscard]] lock_holder holder(std::size_t device) const { return locks_[device].holder(); }

  /// One sample now. Threads: the sampler's; or, before start(), a test's.
  void sample(tick when) noexcept {
    take_locks();
    missed_ += when.missed;
    if (!owns_any_) {
      missed_ = 0;
      return;
    }
    const std::uint64_t begin_ns = monotonic_ns();
    const std::uint64_t begin = now_ticks(clock_);
    sweep_.read(begin_ns, false, values_.data(), states_.data());
    take_slow();
    const std::uint64_t end = now_ticks(clock_);
    const std::uint64_t sweep_ns = monotonic_ns() - begin_ns;
    ring_.add(begin, end, missed_, values_.data(), states_.data());
    if (row_->samples == 0) relaxed_store(row_->begin, begin);
    relaxed_store(row_->latest, begin);
    relaxed_add(row_->missed, missed_);
    relaxed_add(row_->sweep_ns, sweep_ns);
    relaxed_max(row_->sweep_max_ns, sweep_ns);
    count_one(row_->late[nic_sampler_row::scale::bucket_of(when.late_ns)]);
    if (last_begin_ns_ != 0) {
      count_one(row_->interval[nic_sampler_row::scale::bucket_of(begin_ns - last_begin_ns_)]);
    }
    last_begin_ns_ = begin_ns;
    missed_ = 0;
    release_store(row_->samples, row_->samples + 1);
  }

 private:
  void take_locks() noexcept {
    bool any = locks_.empty();
    for (std::size_t i = 0; i < locks_.size(); ++i) {
      if (owned_[i] == 0) {
        const bool first = !looked_;
        const bool mine = locks_[i].try_take(me_);
        sweep_.enable(i, mine);
        if (mine && !first) relaxed_store(taken_over_[i], taken_over_[i] + 1);
        release_store(owned_[i], std::uint64_t{mine ? 1U : 0U});
      }
      any = any || owned_[i] != 0;
    }
    looked_ = true;
    owns_any_ = any;
  }

  bool run_thread(void* (*body)(void*)) noexcept {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    ::pthread_attr_init(&detached);
    ::pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    ::pthread_mutex_lock(&mutex_);
    pthread_t thread{};
    const bool made = ::pthread_create(&thread, &detached, body, this) == 0;
    running_ += made ? 1 : 0;
    ::pthread_mutex_unlock(&mutex_);
    ::pthread_attr_destroy(&detached);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
  }

  void thread_ends() noexcept {
    ::pthread_mutex_lock(&mutex_);
    --running_;
    ::pthread_cond_signal(&ended_);
    ::pthread_mutex_unlock(&mutex_);
  }

  // True when the sampler is to end.
  bool wait_until(std::uint64_t ns) noexcept {
    for (;;) {
      if (__atomic_load_n(&stopping_, __ATOMIC_ACQUIRE)) return true;
      const std::uint64_t now = monotonic_ns();
      if (now >= ns) return false;
      const std::uint64_t left = ns - now;
      const timespec pause{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
      pollfd signal{wake_, POLLIN, 0};
      ::ppoll(&signal, 1, &pause, nullptr);
    }
  }

  static std::uint64_t own_cpu_ns() noexcept {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(used.tv_nsec);
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "fabscope-nic");
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // else every wake-up is 50 us late
    cadence when(monotonic_ns(), period_);
    std::uint64_t next_cpu = 0;
    while (!wait_until(when.due_ns())) {
      const std::uint64_t now = monotonic_ns();
      sample(when.take(now));
      if (now < next_cpu) continue;
      next_cpu = now + 100'000'000;
      relaxed_store(row_->cpu_ns, own_cpu_ns() + relaxed_load(slow_cpu_ns_));
    }
    if (owns_any_) sample({});  // the last values count
    relaxed_store(row_->cpu_ns, own_cpu_ns() + relaxed_load(slow_cpu_ns_));
    sweep_.close(false);
    thread_ends();
  }

  void run_slow() noexcept {
    ::pthread_setname_np(::pthread_self(), "fabscope-nic-s");
    const std::uint64_t period = period_ > slow_period_ns ? period_ : slow_period_ns;
    cadence when(monotonic_ns(), period);
    while (!wait_until(when.due_ns())) {
      const std::uint64_t now = monotonic_ns();
      (void)when.take(now);
      const std::size_t count = slow_values_.size();
      for (std::size_t i = 0; i < count; ++i) slow_work_states_[i] = sample_state::absent;
      sweep_.read(now, true, slow_work_values_.data(), slow_work_states_.data());
      ::pthread_mutex_lock(&slow_mutex_);
      for (std::size_t i = 0; i < count; ++i) {
        if (slow_work_states_[i] == sample_state::absent) continue;
        slow_values_[i] = slow_work_values_[i];
        slow_states_[i] = slow_work_states_[i];
        slow_fresh_[i] = 1;
      }
      ::pthread_mutex_unlock(&slow_mutex_);
      relaxed_store(slow_cpu_ns_, own_cpu_ns());
    }
    sweep_.close(true);
    thread_ends();
  }

  // A value is in the first sample after it was read, and absent in the others.
  void take_slow() noexcept {
    if (!sweep_.has_slow()) return;
    ::pthread_mutex_lock(&slow_mutex_);
    sweep_.for_each_column(true, [&](std::size_t i) noexcept {
      states_[i] = slow_fresh_[i] != 0 ? slow_states_[i] : sample_state::absent;
      if (states_[i] == sample_state::good) values_[i] = slow_values_[i];
      slow_fresh_[i] = 0;
    });
    ::pthread_mutex_unlock(&slow_mutex_);
  }

  static constexpr std::uint64_t slow_period_ns = sweep::retry_period_ns;

  sweep sweep_;
  std::vector<node_lock> locks_;  ///< one per device, or none: everything is this process's
  lock_holder me_;
  std::uint64_t period_;
  clock_kind clock_;
  sample_writer ring_;
  nic_sampler_row* row_ = nullptr;
  std::vector<std::uint64_t> values_;
  std::vector<sample_state> states_;
  std::vector<std::uint64_t> slow_values_;  ///< under slow_mutex_, as the two below
  std::vector<sample_state> slow_states_;
  std::vector<unsigned char> slow_fresh_;
  std::vector<std::uint64_t> slow_work_values_;
  std::vector<sample_state> slow_work_states_;
  std::vector<std::uint64_t> owned_;
  std::vector<std::uint64_t> taken_over_;
  std::uint64_t slow_cpu_ns_ = 0;
  std::uint64_t last_begin_ns_ = 0;
  std::uint64_t missed_ = 0;
  bool owns_any_ = false;
  bool looked_ = false;
  bool stopping_ = false;
  int running_ = 0;
  int wake_ = -1;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t slow_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t ended_{};
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
