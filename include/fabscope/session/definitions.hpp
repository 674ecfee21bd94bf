// SPDX-License-Identifier: Apache-2.0
// What a session does, apart from what callers of session.hpp have to see. Part of session.hpp;
// where FABSCOPE_SEPARATE_SESSION is defined, for one file of each module. Layer: session.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/clock/clock_map.hpp>
#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/session/engine.hpp>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/operation_options.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/session/outputs.hpp>
#include <fabscope/session/owner.hpp>
#include <fabscope/session/report_definitions.hpp>
#include <fabscope/session/separate.hpp>
#include <fabscope/session/session.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

FABSCOPE_SESSION_INLINE engine::engine(const options& chosen, const identity& who, engine* earlier)
    : options_(chosen), identity_(who), earlier_(earlier) {}

/// The first N - 1 bytes of a file, without its last newline.
template <std::size_t N>
void read_start(const char* path, char (&to)[N]) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t size = ::read(fd, to, N - 1);
  ::close(fd);
  to[size > 0 ? size : 0] = '\0';
  if (size > 0 && to[size - 1] == '\n') to[size - 1] = '\0';
}

FABSCOPE_SESSION_INLINE errc engine::start(std::uint32_t number, std::uint32_t* mask) {
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

FABSCOPE_SESSION_INLINE void engine::stop() {
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

FABSCOPE_SESSION_INLINE void engine::write_last() {
  outputs_->write_report(segment_.descriptor(), collector_, final_totals_, segment_.why_volatile());
  {
    const lock_guard reading(reading_);
    collector_.detach_all();
  }
  segment_.remove();
  segment_.detach();
}

FABSCOPE_SESSION_INLINE void engine::flush() {
  const lock_guard reading(reading_);
  tick_clients();
  if (reads_records()) collector_.drain();
  note_clock();
  collector_.flush();
}

FABSCOPE_SESSION_INLINE bool engine::attach(std::unique_ptr<bound_sink> sink) {
  const lock_guard reading(reading_);
  if (ended_) return false;
  collector_.attach(std::move(sink));
  return true;
}

FABSCOPE_SESSION_INLINE std::uint32_t engine::type(const fabscope_type& type) {
  const lock_guard control(control_);
  return ended_ ? 0 : segment_.add_type(type);
}

FABSCOPE_SESSION_INLINE std::uint32_t engine::label(std::string_view text) {
  const lock_guard control(control_);
  return ended_ ? 0 : segment_.add_label(text);
}

FABSCOPE_SESSION_INLINE fabscope_thread* engine::thread() {
  const lock_guard control(control_);
  return ended_ ? nullptr : threads_.attach();
}

FABSCOPE_SESSION_INLINE void* engine::memory(fabscope_thread* thread, const void* key,
                                             std::uint32_t type, std::uint32_t count) {
  const lock_guard control(control_);
  return ended_ ? nullptr : threads_.memory(thread, key, type, count);
}

FABSCOPE_SESSION_INLINE bool engine::client(const fabscope_client& client) {
  const lock_guard control(control_);
  if (ended_ || client.size < sizeof(fabscope_client)) return false;
  clients_.push_back(client);
  return true;
}

FABSCOPE_SESSION_INLINE std::uint64_t engine::to_ns(std::uint64_t ticks) const noexcept {
  return map_->to_ns(ticks);
}

FABSCOPE_SESSION_INLINE void engine::thread_ended(fabscope_thread* thread) noexcept {
  threads_.detach(thread);
}

FABSCOPE_SESSION_INLINE void engine::abandon() noexcept { segment_.detach(); }

FABSCOPE_SESSION_INLINE record_totals engine::totals() noexcept {
  const lock_guard reading(reading_);
  return ended_ ? final_totals_ : collector_.totals(!reads_records());
}

FABSCOPE_SESSION_INLINE std::string engine::node_directory() const {
  return options_.node_dir.empty() ? std::string("/dev/shm") : options_.node_dir;
}

FABSCOPE_SESSION_INLINE std::string engine::run_directory_name() const {
  if (!options_.directory.empty()) return options_.directory;
  return std::string("./fabscope.") + (identity_.job[0] != '\0' ? identity_.job : "out");
}

FABSCOPE_SESSION_INLINE std::string engine::segment_name() const {
  return std::string("fabscope.") + identity_.host + ".p" + std::to_string(identity_.pid) + ".seg";
}

FABSCOPE_SESSION_INLINE void engine::describe_process(segment_format::header& head) const noexcept {
  head.pid = identity_.pid;
  head.process_start = process_start();
  std::snprintf(head.library_version, sizeof head.library_version, "%s", FABSCOPE_VERSION_STRING);
  std::snprintf(head.host, sizeof head.host, "%s", identity_.host);
  std::snprintf(head.job, sizeof head.job, "%s", identity_.job);
  std::snprintf(head.launcher, sizeof head.launcher, "%s", identity_.launcher);
  read_start("/proc/self/cmdline", head.command);
  for (std::size_t i = 0; i + 1 < sizeof head.command; ++i) {
    if (head.command[i] == '\0' && head.command[i + 1] != '\0') head.command[i] = ' ';
  }
  read_start("/proc/sys/kernel/random/boot_id", head.boot_id);
  head.rank = identity_.rank;
  head.local_rank = identity_.local_rank;
  head.size = identity_.size;
}

FABSCOPE_SESSION_INLINE std::uint64_t engine::process_start() noexcept {
  char text[1024] = {};
  read_start("/proc/self/stat", text);
  const char* at = std::strrchr(text, ')');  // the name before it may contain blanks
  std::uint64_t start = 0;
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  if (at != nullptr) std::sscanf(at, "%lu", &start);
  return start;
}

FABSCOPE_SESSION_INLINE std::vector<fabscope_client> engine::clients() {
  const lock_guard control(control_);
  return clients_;
}

FABSCOPE_SESSION_INLINE void engine::tick_clients() {
  for (const fabscope_client& client : clients()) client.tick(client.self);
}

FABSCOPE_SESSION_INLINE void engine::note_clock() noexcept {
  map_->refresh();
  segment_format::header& head = segment_.base().head;
  const clock_snapshot now = take_snapshot(static_cast<clock_kind>(head.clock));
  relaxed_store(head.latest.ticks, now.ticks);
  relaxed_store(head.latest.monotonic_ns, now.monotonic_ns);
  relaxed_store(head.latest.boottime_ns, now.boottime_ns);
  relaxed_store(head.latest.realtime_ns, now.realtime_ns);
}

FABSCOPE_SESSION_INLINE bool engine::start_thread() noexcept {
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

FABSCOPE_SESSION_INLINE void engine::stop_thread() noexcept {
  {
    const lock_guard sleeping(sleep_);
    stopping_ = true;
    ::pthread_cond_signal(&wake_);
  }
  ::pthread_join(thread_, nullptr);
}

FABSCOPE_SESSION_INLINE void engine::run() {
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

FABSCOPE_SESSION_INLINE std::uint32_t engine::drain_and_work() noexcept {
  const std::uint64_t until = monotonic_ns() + std::uint64_t{options_.period_ms} * 1000000;
  std::uint32_t fullest = 0;
  for (bool more = true; more; more = more && monotonic_ns() < until) {
    const std::uint32_t fill = collector_.drain();
    if (fill > fullest) fullest = fill;
    if (fill < 16) more = collector_.work();
  }
  return fullest;
}

FABSCOPE_SESSION_INLINE std::uint32_t engine::period_work(std::uint64_t& next_flush) {
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

FABSCOPE_SESSION_INLINE bool engine::wait(std::uint64_t ns) noexcept {
  const std::uint64_t until = monotonic_ns() + ns;
  const timespec deadline{static_cast<time_t>(until / 1000000000),
                          static_cast<long>(until % 1000000000)};
  const lock_guard sleeping(sleep_);
  while (!stopping_) {
    if (::pthread_cond_timedwait(&wake_, &sleep_, &deadline) != 0) break;
  }
  return stopping_;
}

}  // namespace detail

FABSCOPE_SESSION_INLINE options options_from_environment(options defaults) {
  apply_environment(defaults, environment::of_process(), diagnostics::on_stderr());
  return defaults;
}

FABSCOPE_SESSION_INLINE const fabscope_table* session::start_for_process(
    const fabscope_start& how) {
  const detail::lock_guard starting(detail::owner_lock);
  if (detail::current_engine() != nullptr) return &detail::owner_table;
  options chosen;
  chosen.run_level = static_cast<level>(how.level);
  chosen = options_from_environment(chosen);
  if (chosen.run_level == level::off) return nullptr;
  // Nobody owns this object: the exit handler finishes the session.
  [[gnu::used]] static constinit session* unowned = nullptr;  // leak checkers see it
  delete unowned;                                             // of a session that has ended
  unowned = new session(chosen, already_locked{});
  return unowned->status_ == errc::ok ? &detail::owner_table : nullptr;
}

FABSCOPE_SESSION_INLINE errc session::start(const options& chosen) {
  std::string warning;
  once_per_process();
  const identity who = read_identity(environment::of_process(), &warning);
  if (!warning.empty()) diagnostics::on_stderr().say("fabscope: " + warning);
  options settled = chosen;
  detail::settle_operations(settled, who, diagnostics::on_stderr());
  auto* made = new detail::engine(settled, who, detail::all_engines);
  detail::all_engines = made;
  const std::uint32_t number = detail::next_session_number();
  if (const errc failed = made->start(number, &detail::owner_mask); failed != errc::ok) {
    diagnostics::on_stderr().say(std::string("fabscope: no session: ") + to_string(failed));
    return failed;
  }
  engine_ = made;
  detail::owner_table.clock = made->memory_file().base().head.clock;
  detail::owner_table.level = static_cast<std::uint32_t>(settled.run_level);
  __atomic_store_n(&detail::running_engine, made, __ATOMIC_RELEASE);
  __atomic_store_n(&detail::owner_mask, full_mask(number), __ATOMIC_RELEASE);
  detail::announce(&detail::owner_table, &detail::owner_mask, number);
  return errc::ok;
}

FABSCOPE_SESSION_INLINE void session::once_per_process() {
  if (detail::once_per_process_done) return;
  detail::once_per_process_done = true;
  detail::stderr_is_closed = ::fcntl(STDERR_FILENO, F_GETFD) < 0;
  detail::pin_module();
  ::pthread_key_create(&detail::thread_end_key, &detail::on_thread_end);
  ::pthread_atfork(nullptr, nullptr, &detail::after_fork_in_child);
  std::atexit([] {
    if (detail::engine* left = detail::current_engine()) finish(left);
  });
}

FABSCOPE_SESSION_INLINE void session::finish(detail::engine* which) noexcept {
  if (detail::current_engine() != which) return;  // before the lock: a forked child may not take it
  const detail::lock_guard ending(detail::owner_lock);
  if (detail::current_engine() != which) return;
  which->stop();
  __atomic_store_n(&detail::running_engine, static_cast<detail::engine*>(nullptr),
                   __ATOMIC_RELEASE);
  detail::announce(nullptr, &detail::mask_off, which->number());
  which->write_last();
}

FABSCOPE_NAMESPACE_END
