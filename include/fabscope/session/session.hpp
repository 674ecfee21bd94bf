// SPDX-License-Identifier: Apache-2.0
// The process's session. Where FABSCOPE_SEPARATE_SESSION is defined for all files of a module, its
// larger functions are only declared here, and one file that includes session/definitions.hpp
// compiles them. Layer: session.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <fabscope/event/collective_record.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/session/owner.hpp>
#include <fabscope/session/segment_view.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The default options with FABSCOPE_ variables over them. Bad values give one line each on stderr.
options options_from_environment(options defaults = {});

/// Records what this process's scopes, steps and adapters see, from construction to finish().
///
/// A process has one session. Where one runs already (another copy of the library started it, in a
/// preloaded library for example), this object joins it: recording works, and files are written
/// when that one ends. Every copy of the library, in any version, records into the same session.
/// Threads: one constructs and destroys; the others record.
/// Errors: never throws and never ends the program; what is wrong is said once on stderr, and
/// status() is not ok.  Cost: one thread that wakes up every `period_ms`, and a segment of
/// node-local memory.
class FABSCOPE_VISIBLE session {
 public:
  /// Options from the environment.
  FABSCOPE_HIDDEN session() : session(options_from_environment()) {}

  /// Exactly these options; where another copy of the library comes first in link order, that one
  /// runs the session, with this level and otherwise options from the environment.
  FABSCOPE_HIDDEN explicit session(const options& chosen) {
    if (chosen.run_level == level::off) return;
    const fabscope_table* running = detail::find_session();
    if (running == nullptr && detail::first_owner() != &detail::anchor) {
      running = detail::ensure_session(static_cast<std::uint32_t>(chosen.run_level), "session");
    }
    if (running == nullptr) {
      const detail::lock_guard starting(detail::owner_lock);
      status_ = start(chosen);
      return;
    }
    joined_ = running != &detail::owner_table;
    // In the child of a fork the parent's table is there and nothing runs behind it.
    if (session_number(__atomic_load_n(running->mask, __ATOMIC_ACQUIRE)) == 0) {
      status_ = errc::unavailable;
      return;
    }
    if (!joined_) engine_ = detail::current_engine();
  }

  FABSCOPE_HIDDEN ~session() { finish(); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// ok while this session, or the one it joined, can record.
  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return status_; }
  /// True if another copy of the library runs the process's session.
  [[nodiscard]] FABSCOPE_HIDDEN bool joined() const noexcept { return joined_; }

  /// Gives records to a sink of the user's until the session ends; the sink must live until then.
  /// It gets the library's records, and those of the types in `Records`, as far as it consumes
  /// them. Errors: unavailable if there is no session here: off, failed, ended, or run by another
  /// copy.
  template <event_record... Records, event_sink Sink>
  FABSCOPE_HIDDEN errc add_sink(Sink& sink) {
    return attach<detail::typed_sink<Sink, Records..., scope_record, step_record, attribute_record,
                                     operation_record, collective_record>,
                  Sink, Records...>(sink);
  }
  /// The same with a sink that the session owns, and destroys when it has ended.
  template <event_record... Records, class Sink>
    requires(event_sink<Sink> && !std::is_reference_v<Sink> && !std::is_const_v<Sink>)
  FABSCOPE_HIDDEN errc add_sink(Sink&& sink) {
    return attach<detail::owned_sink<Sink, Records..., scope_record, step_record, attribute_record,
                                     operation_record, collective_record>,
                  Sink, Records...>(std::move(sink));
  }

  /// Switches recording off and on again.  Threads: any.  Cost of what is off: docs/overhead.md.
  FABSCOPE_HIDDEN void enable(bool on) noexcept {
    if (engine_ == nullptr || detail::current_engine() != engine_) return;
    __atomic_store_n(&detail::owner_mask,
                     on ? full_mask(engine_->number()) : engine_->number() << 16, __ATOMIC_RELEASE);
  }

  /// Everything recorded before the call is with the sinks after it.  Threads: any.
  FABSCOPE_HIDDEN void flush() noexcept {
    if (engine_ != nullptr && detail::current_engine() == engine_) engine_->flush();
  }

  /// Numbers of records so far; exact when nobody records.
  [[nodiscard]] FABSCOPE_HIDDEN record_totals totals() const noexcept {
    return engine_ == nullptr ? record_totals{} : engine_->totals();
  }

  /// This process's segment, live: rows of sums, labels, clocks (session/segment_view.hpp).
  /// Threads: any.  Errors: unavailable if there is no session here, as for add_sink.
  [[nodiscard]] FABSCOPE_HIDDEN result<segment_view> view() const noexcept {
    if (engine_ == nullptr || detail::current_engine() != engine_) return errc::unavailable;
    return segment_view::map(engine_->memory_file().descriptor());
  }

  /// Path of the text report, once written; empty if there is none.
  [[nodiscard]] FABSCOPE_HIDDEN std::string report_path() const {
    return engine_ == nullptr ? std::string() : engine_->directory().path_of("report.txt");
  }
  /// Directory of this process's files.
  [[nodiscard]] FABSCOPE_HIDDEN std::string directory() const {
    return engine_ == nullptr ? std::string() : engine_->directory().directory();
  }

  /// Ends the session and writes its files. Later calls do nothing. In the child of a fork it does
  /// nothing.
  FABSCOPE_HIDDEN void finish() noexcept {
    if (engine_ != nullptr) finish(engine_);
  }

  /// For the C table: starts the session that stays until the process ends.
  FABSCOPE_HIDDEN static const fabscope_table* start_for_process(const fabscope_start& how);

 private:
  template <class Binding, class Sink, event_record... Records, class Given>
  FABSCOPE_HIDDEN errc attach(Given&& sink) {
    static_assert(
        consumes_any<Sink, record_types<Records..., scope_record, step_record, attribute_record,
                                        operation_record, collective_record>>,
        "this sink consumes none of the record types: give it a member "
        "consume(std::span<const R>, const fabscope::sink_context&) noexcept for one of them, or "
        "name your own types in add_sink<my_record>(sink)");
    if (engine_ == nullptr) return errc::unavailable;
    const bool kept = engine_->attach(std::make_unique<Binding>(std::forward<Given>(sink)));
    return kept ? errc::ok : errc::unavailable;
  }

  struct already_locked {};
  FABSCOPE_HIDDEN session(const options& chosen, already_locked) { status_ = start(chosen); }

  FABSCOPE_HIDDEN static constexpr std::uint32_t full_mask(std::uint32_t number) noexcept {
    return number << 16 | recording_scopes | recording_fabric | recording_collectives;
  }

  FABSCOPE_HIDDEN errc start(const options& chosen);

  FABSCOPE_HIDDEN static void once_per_process();

  FABSCOPE_HIDDEN static void finish(detail::engine* which) noexcept;

  detail::engine* engine_ = nullptr;
  errc status_ = errc::ok;
  bool joined_ = false;
};

namespace detail {
/// What the anchor of this module leads to.
[[gnu::used]] inline const fabscope_table* start_here(const fabscope_start* how) {
  return session::start_for_process(*how);
}
}  // namespace detail

FABSCOPE_NAMESPACE_END

#ifndef FABSCOPE_SEPARATE_SESSION
#include <fabscope/session/definitions.hpp>  // IWYU pragma: export
#endif
