// SPDX-License-Identifier: Apache-2.0
// The process's session as the owning copy runs it, behind the frozen C table. Layer: session.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fabscope/clock/clock_map.hpp>
#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/scope/port.hpp>
#include <fabscope/session/collector.hpp>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/session/outputs.hpp>
#include <fabscope/session/run_directory.hpp>
#include <fabscope/session/segment.hpp>
#include <fabscope/session/thread_registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// A pthread mutex for the length of a block.
class lock_guard {
 public:
  explicit lock_guard(pthread_mutex_t& mutex) noexcept : mutex_(mutex) {
    ::pthread_mutex_lock(&mutex_);
  }
  ~lock_guard() { ::pthread_mutex_unlock(&mutex_); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

/// Everything a session has. Never freed: a thread may still hold a pointer into it when it has
/// ended. Two locks, taken in this order: `reading_` while records are read and clients called,
/// `control_` while tables change. The hot path takes neither.
class engine {
 public:
  engine(const options& chosen, const identity& who, engine* earlier)
      : options_(chosen), identity_(who), earlier_(earlier) {}

  /// Makes the segment and starts the collector thread. Errors: no memory for a segment or no
  /// thread.
  errc start(std::uint32_t number, std::uint32_t* mask) {
    number_ = number;
    mask_ = mask;
    const errc made = segment_.create(node_directory(), segment_name());
    if (made != errc::ok) return made;
    segment_format::header& head = segment_.base().head;
    map_ = std::make_unique<clock_map>(head.clock_map);
    const clock_kind kind = map_->start(pick_clock(options_.clock, options_.sys_root.c_str()));
    head.clock = static_cast<std::uint32_t>(kind);
    head.level = static_cast<std::uint32_t>(options_.run_level);
    describe_process(head);
    head.begin = head.latest = take_snapshot(kind);
    threads_.start(segment_, options_.wanted_ring_slots());
    directory_.start(run_directory_name(), identity_.host, identity_.rank, identity_.pid,
                     static_cast<mode_t>(options_.file_mode));
    about_ = std::make_unique<sink_context>(sink_context::source{
        this,
        [](void* self, std::uint64_t ticks) {
          return static_cast<engine*>(self)->map_->to_ns(ticks);
        },
        [](void* self, std::uint32_t label) {
          return static_cast<engine*>(self)->segment_.label(label);
        },
        [](void* self, std::uint32_t thread) {
          return relaxed_load(static_cast<engine*>(self)->segment_.base().threads[thread].tid);
        },
        head.begin.monotonic_ns, head.begin.realtime_ns});
    collector_.start(segment_, *about_);
    outputs_ = std::make_unique<outputs>(options_, identity_, directory_);
    outputs_->attach_to(collector_);
    release_store(head.state, static_cast<std::uint32_t>(segment_format::state::live));
    return start_thread() ? errc::ok : errc::no_space;
  }

  /// Ends recording, reads what is left and lets the sinks write their last words.
  void stop() {
    __atomic_store_n(mask_, 0U, __ATOMIC_RELEASE);
    stop_thread();
    const lock_guard reading(reading_);
    for (const fabscope_client& client : clients()) {
      client.tick(client.self);
      client.finish(client.self);
    }
    {
      const lock_guard control(control_);
      ended_ = true;
    }
    if (reads_records()) collector_.drain();
    note_clock();
    collector_.flush();
    collector_.finish();
    final_totals_ = collector_.totals(!reads_records());
    release_store(segment_.base().head.state,
                  static_cast<std::uint32_t>(segment_format::state::finished));
  }

  /// After stop() and after every copy was told: writes the report and gives the segment's memory
  /// back. Whoever still writes does so in private memory.
  void write_last() {
    outputs_->write_report(segment_.descriptor(), collector_, final_totals_,
                           segment_.why_volatile());
    {
      const lock_guard reading(reading_);
      collector_.detach_all();
    }
    segment_.remove();
    segment_.detach();
  }

  void flush() {
    const lock_guard reading(reading_);
    tick_clients();
    if (reads_records()) collector_.drain();
    note_clock();
    collector_.flush();
  }

  /// False after the end.
  bool attach(std::unique_ptr<bound_sink> sink) {
    const lock_guard reading(reading_);
    if (ended_) return false;
    collector_.attach(std::move(sink));
    return true;
  }

  // What the C table offers.
  std::uint32_t type(const fabscope_type& type) {
    const lock_guard control(control_);
    return ended_ ? 0 : segment_.add_type(type);
  }
  std::uint32_t label(std::string_view text) {
    const lock_guard control(control_);
    return ended_ ? 0 : segment_.add_label(text);
  }
  fabscope_thread* thread() {
    const lock_guard control(control_);
    return ended_ ? nullptr : threads_.attach();
  }
  void* memory(fabscope_thread* thread, const void* key, std::uint32_t type, std::uint32_t count) {
    const lock_guard control(control_);
    return ended_ ? nullptr : threads_.memory(thread, key, type, count);
  }
  bool client(const fabscope_client& client) {
    const lock_guard control(control_);
    if (ended_ || client.size < sizeof(fabscope_client)) return false;
    clients_.push_back(client);
    return true;
  }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return map_->to_ns(ticks); }

  /// The calling thread, which attached before, ends.
  void thread_ended(fabscope_thread* thread) noexcept { threads_.detach(thread); }

  /// After fork, in the child: no lock may be taken and no thread is there.
  void abandon() noexcept { segment_.detach(); }

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] const options& settings() const noexcept { return options_; }
  [[nodiscard]] const identity& who() const noexcept { return identity_; }
  [[nodiscard]] run_directory& directory() noexcept { return directory_; }
  [[nodiscard]] segment& memory_file() noexcept { return segment_; }
  [[nodiscard]] const collector& records() const noexcept { return collector_; }
  [[nodiscard]] record_totals totals() noexcept {
    const lock_guard reading(reading_);
    return ended_ ? final_totals_ : collector_.totals(!reads_records());
  }
  [[nodiscard]] int pid() const noexcept { return identity_.pid; }

 private:
  [[nodiscard]] bool reads_records() const noexcept { return options_.run_level >= level::record; }

  std::string node_directory() const {
    return options_.node_dir.empty() ? std::string("/dev/shm") : options_.node_dir;
  }
  std::string run_directory_name() const {
    if (!options_.directory.empty()) return options_.directory;
    return std::string("./fabscope.") + (identity_.job[0] != '\0' ? identity_.job : "out");
  }
  std::string segment_name() const {
    return std::string("fabscope.") + identity_.host + ".p" + std::to_string(identity_.pid) +
           ".seg";
  }

  void describe_process(segment_format::header& head) const noexcept {
    head.pid = identity_.pid;
    head.process_start = process_start();
    std::snprintf(head.library_version, sizeof head.library_version, "%s", FABSCOPE_VERSION_STRING);
    std::snprintf(head.host, sizeof head.host, "%s", identity_.host);
    std::snprintf(head.job, sizeof head.job, "%s", identity_.job);
    std::snprintf(head.launcher, sizeof head.launcher, "%s", identity_.launcher);
    read_file("/proc/self/cmdline", head.command);
    for (std::size_t i = 0; i + 1 < sizeof head.command; ++i) {
      if (head.command[i] == '\0' && head.command[i + 1] != '\0') head.command[i] = ' ';
    }
    read_file("/proc/sys/kernel/random/boot_id", head.boot_id);
    head.rank = identity_.rank;
    head.local_rank = identity_.local_rank;
    head.size = identity_.size;
  }

  template <std::size_t N>
  static void read_file(const char* path, char (&to)[N]) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t size = ::read(fd, to, N - 1);
    ::close(fd);
    to[size > 0 ? size : 0] = '\0';
    if (size > 0 && to[size - 1] == '\n') to[size - 1] = '\0';
  }

  static std::uint64_t process_start() noexcept {
    char text[1024] = {};
    read_file("/proc/self/stat", text);
    const char* at = std::strrchr(text, ')');  // the name before it may contain blanks
    std::uint64_t start = 0;
    for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
    if (at != nullptr) std::sscanf(at, "%lu", &start);
    return start;
  }

  std::vector<fabscope_client> clients() {
    const lock_guard control(control_);
    return clients_;
  }
  void tick_clients() {
    for (const fabscope_client& client : clients()) client.tick(client.self);
  }

  void note_clock() noexcept {
    map_->refresh();
    segment_format::header& head = segment_.base().head;
    const clock_snapshot now = take_snapshot(static_cast<clock_kind>(head.clock));
    relaxed_store(head.latest.ticks, now.ticks);
    relaxed_store(head.latest.monotonic_ns, now.monotonic_ns);
    relaxed_store(head.latest.boottime_ns, now.boottime_ns);
    relaxed_store(head.latest.realtime_ns, now.realtime_ns);
  }

  bool start_thread() noexcept {
    pthread_condattr_t monotonic;
    ::pthread_condattr_init(&monotonic);
    ::pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    ::pthread_cond_init(&wake_, &monotonic);
    ::pthread_condattr_destroy(&monotonic);
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = ::pthread_create(
        &thread_, nullptr,
        [](void* self) -> void* {
          static_cast<engine*>(self)->run();
          return nullptr;
        },
        this);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return failed == 0;
  }

  void stop_thread() noexcept {
    {
      const lock_guard sleeping(sleep_);
      stopping_ = true;
      ::pthread_cond_signal(&wake_);
    }
    ::pthread_join(thread_, nullptr);
  }

  void run() {
    ::pthread_setname_np(::pthread_self(), "fabscope");
    // Every processor that the cpuset allows, not only those of the thread that started the
    // session.
    cpu_set_t everywhere;
    std::memset(&everywhere, 0xff, sizeof everywhere);
    ::sched_setaffinity(0, sizeof everywhere, &everywhere);
    const std::uint64_t usual = std::uint64_t{options_.period_ms} * 1000000;
    std::uint64_t period = usual;
    std::uint64_t next_flush = monotonic_ns() + flush_ns;
    while (!wait(period)) {
      const std::uint32_t fullest = period_work(next_flush);
      // Rings that fill fast are read more often, so that nothing is overwritten unread.
      if (fullest > 64)
        period = period / 4 > shortest_ns ? period / 4 : shortest_ns;
      else if (fullest < 16)
        period = period * 2 < usual ? period * 2 : usual;
    }
  }

  /// What sinks put off is done between looks at the rings, for at most a period.
  std::uint32_t drain_and_work() noexcept {
    const std::uint64_t until = monotonic_ns() + std::uint64_t{options_.period_ms} * 1000000;
    std::uint32_t fullest = 0;
    for (bool more = true; more; more = more && monotonic_ns() < until) {
      const std::uint32_t fill = collector_.drain();
      if (fill > fullest) fullest = fill;
      if (fill < 16) more = collector_.work();
    }
    return fullest;
  }

  std::uint32_t period_work(std::uint64_t& next_flush) {
    const lock_guard reading(reading_);
    tick_clients();
    const std::uint32_t fullest = reads_records() ? drain_and_work() : 0;
    note_clock();
    {
      const lock_guard control(control_);
      threads_.reclaim(reads_records());
    }
    if (monotonic_ns() >= next_flush) {
      collector_.flush();
      next_flush = monotonic_ns() + flush_ns;
    }
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    segment_format::header& head = segment_.base().head;
    relaxed_store(head.collector_cpu_ns, static_cast<std::uint64_t>(used.tv_sec) * 1000000000 +
                                             static_cast<std::uint64_t>(used.tv_nsec));
    relaxed_add(head.ticks_done, 1);
    return fullest;
  }

  /// True when the session ends.
  bool wait(std::uint64_t ns) noexcept {
    const std::uint64_t until = monotonic_ns() + ns;
    const timespec deadline{static_cast<time_t>(until / 1000000000),
                            static_cast<long>(until % 1000000000)};
    const lock_guard sleeping(sleep_);
    while (!stopping_) {
      if (::pthread_cond_timedwait(&wake_, &sleep_, &deadline) != 0) break;
    }
    return stopping_;
  }

  static constexpr std::uint64_t flush_ns = 1000000000;
  static constexpr std::uint64_t shortest_ns = 500000;

  options options_;
  identity identity_;
  [[maybe_unused]] engine* earlier_;  ///< keeps sessions that have ended reachable
  segment segment_;
  std::unique_ptr<clock_map> map_;
  std::unique_ptr<sink_context> about_;
  thread_registry threads_;
  collector collector_;
  run_directory directory_;
  std::unique_ptr<outputs> outputs_;
  std::vector<fabscope_client> clients_;
  record_totals final_totals_;
  std::uint32_t* mask_ = nullptr;
  std::uint32_t number_ = 0;
  bool ended_ = false;
  bool stopping_ = false;
  pthread_t thread_{};
  pthread_mutex_t reading_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t control_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t sleep_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_{};
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
