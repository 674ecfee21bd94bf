// SPDX-License-Identifier: Apache-2.0
// A sink in front of another that lets through what predicates want. Layer: sink.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Says of a record whether it is wanted, with or without the context (for names and times).
/// semantics: asked once per record; the same answer for the same record.
template <class P, class R>
concept record_predicate = event_record<R> &&
    (std::predicate<const P&, const R&> || std::predicate<const P&, const R&, const sink_context&>);

/// Hands to another sink the records that are wanted. Each predicate speaks for the record types
/// that it can be called with; records of other types all pass. An lvalue sink is referred to and
/// must outlive this one; an rvalue is owned.
///
///   fabscope::filter_sink slow(csv, [](const operation_record& r) noexcept { return r.error != 0;
///   });
///
/// Threads: one at a time.  Errors: those of the other sink. What is held back is counted in
/// filtered_total().  Cost: a call of the predicate per record; wanted neighbours go on as one
/// batch, nothing is copied.
template <class Sink, class... Predicates>
  requires(event_sink<std::remove_reference_t<Sink>> && sizeof...(Predicates) >= 1)
class FABSCOPE_VISIBLE filter_sink {
  using inner = std::remove_reference_t<Sink>;

 public:
  FABSCOPE_HIDDEN explicit filter_sink(Sink&& to, Predicates... wanted) noexcept
      : to_(std::forward<Sink>(to)), wanted_{std::move(wanted)...} {}

  template <event_record Record>
  requires consumes<inner, Record> FABSCOPE_HIDDEN void consume(
      std::span<const Record> batch, const sink_context& about) noexcept {
    if constexpr (!record_predicate<predicates, Record>) {
      to_.consume(batch, about.behind(filtered_));
    } else {
      for (std::size_t at = 0; at < batch.size();) {
        std::size_t end = at;
        while (end < batch.size() && wants(batch[end], about)) ++end;
        if (end > at) to_.consume(batch.subspan(at, end - at), about.behind(filtered_));
        if (end < batch.size()) ++filtered_;
        at = end + 1;
      }
    }
  }
  FABSCOPE_HIDDEN void flush(const sink_context& about) noexcept {
    to_.flush(about.behind(filtered_));
  }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    detail::finish_of(to_, about.behind(filtered_));
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return detail::status_of(to_); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return detail::lost_by(to_);
  }
  /// Held back here or not wanted by the other sink.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept {
    return filtered_ + detail::filtered_by(to_);
  }
  template <event_record Record>
  [[nodiscard]] FABSCOPE_HIDDEN bool takes() const noexcept {
    return detail::takes<Record>(static_cast<const inner&>(to_));
  }

 private:
  struct predicates : Predicates... {
    using Predicates::operator()...;
  };

  template <class Record>
  [[nodiscard]] FABSCOPE_HIDDEN bool wants(const Record& record,
                                           const sink_context& about) const noexcept {
    if constexpr (std::predicate<const predicates&, const Record&>) {
      static_assert(std::is_nothrow_invocable_v<const predicates&, const Record&>,
                    "a predicate of a filter is noexcept");
      return wanted_(record);
    } else {
      static_assert(
          std::is_nothrow_invocable_v<const predicates&, const Record&, const sink_context&>,
          "a predicate of a filter is noexcept");
      return wanted_(record, about);
    }
  }

  Sink to_;
  predicates wanted_;
  std::uint64_t filtered_ = 0;
};

template <class Sink, class... Predicates>
filter_sink(Sink&&, Predicates...) -> filter_sink<Sink, Predicates...>;

FABSCOPE_NAMESPACE_END
