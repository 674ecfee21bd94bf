// SPDX-License-Identifier: Apache-2.0
// The process's session as the owning copy runs it, behind the frozen C table; what its members do
// stands in session/definitions.hpp. Layer: session.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/clock/clock_map.hpp>
#include <fabscope/session/collector.hpp>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/session/run_directory.hpp>
#include <fabscope/session/segment.hpp>
#include <fabscope/session/thread_registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

class outputs;

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
  engine(const options& chosen, const identity& who, engine* earlier);
  ~engine() = delete;

  /// Makes the segment and starts the collector thread. Errors: no memory for a segment or no
  /// thread.
  errc start(std::uint32_t number, std::uint32_t* mask);

  /// Ends recording, reads what is left and lets the sinks write their last words.
  void stop();

  /// After stop() and after every copy was told: writes the report and gives the segment's memory
  /// back. Whoever still writes does so in private memory.
  void write_last();

  void flush();

  /// False after the end.
  bool attach(std::unique_ptr<bound_sink> sink);

  // What the C table offers.
  std::uint32_t type(const fabscope_type& type);
  std::uint32_t label(std::string_view text);
  fabscope_thread* thread();
  void* memory(fabscope_thread* thread, const void* key, std::uint32_t type, std::uint32_t count);
  bool client(const fabscope_client& client);
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept;

  /// The calling thread, which attached before, ends.
  void thread_ended(fabscope_thread* thread) noexcept;

  /// After fork, in the child: no lock may be taken and no thread is there.
  void abandon() noexcept;

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] const options& settings() const noexcept { return options_; }
  [[nodiscard]] const identity& who() const noexcept { return identity_; }
  [[nodiscard]] run_directory& directory() noexcept { return directory_; }
  [[nodiscard]] segment& memory_file() noexcept { return segment_; }
  [[nodiscard]] const collector& records() const noexcept { return collector_; }
  [[nodiscard]] record_totals totals() noexcept;
  [[nodiscard]] int pid() const noexcept { return identity_.pid; }

 private:
  [[nodiscard]] bool reads_records() const noexcept { return options_.run_level >= level::record; }

  std::string node_directory() const;
  std::string run_directory_name() const;
  std::string segment_name() const;
  void describe_process(segment_format::header& head) const noexcept;
  static std::uint64_t process_start() noexcept;

  std::vector<fabscope_client> clients();
  void tick_clients();
  void note_clock() noexcept;
  bool start_thread() noexcept;
  void stop_thread() noexcept;
  void run();

  /// What sinks put off is done between looks at the rings, for at most a period.
  std::uint32_t drain_and_work() noexcept;

  std::uint32_t period_work(std::uint64_t& next_flush);

  /// True when the session ends.
  bool wait(std::uint64_t ns) noexcept;

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
