// SPDX-License-Identifier: Apache-2.0
// What a sink is: typed overloads over batches. Layer: sink.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <fabscope/core/result.hpp>
#include <fabscope/event/attribute_record.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/sink/context.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// S takes batches of R. semantics: called by one thread at a time; records are in the order of one
/// thread; the batch is gone after the call.
template <class S, class R>
concept consumes = event_record<R> &&
    requires(S& sink, std::span<const R> batch, const sink_context& about) {
  { sink.consume(batch, about) }
  noexcept;
};

/// Can be attached to a session for the record types that it consumes.
/// Optional members, used when they are there:
///   `void finish(const sink_context&) noexcept`: the last call, for closing words;
///   `errc status() const noexcept`: the first error it met;
///   `std::uint64_t lost_total() const noexcept`: records that it took and could not write;
///   `std::uint64_t filtered_total() const noexcept`: records that it was not to write; grows in
///   consume() only;
///   `bool takes<R>() const noexcept`: false if it consumes R in name only.
///   `bool work(const sink_context&) noexcept`: called while there is nothing to consume, again and
///   again as long as it says that there is more to do; a slice of a fraction of a millisecond.
template <class S>
concept event_sink = requires(S& sink, const sink_context& about) {
  { sink.flush(about) }
  noexcept;
};

/// Record types as a list.
template <event_record... R>
struct record_types {};

/// The types that a sink is offered unless the user names others.
using library_records = record_types<scope_record, step_record, attribute_record, operation_record>;

/// True if S consumes at least one of the types: a sink that takes nothing is a mistake.
template <class S, class List>
inline constexpr bool consumes_any = false;
template <class S, class... R>
inline constexpr bool consumes_any<S, record_types<R...>> = (consumes<S, R> || ...);

namespace detail {

// The optional members of a sink, or what their absence means.
template <class Sink>
void finish_of(Sink& sink, const sink_context& about) noexcept {
  if constexpr (requires { sink.finish(about); }) sink.finish(about);
}
template <class Sink>
bool work_of(Sink& sink, const sink_context& about) noexcept {
  if constexpr (requires { sink.work(about); }) return sink.work(about);
  return false;
}
template <class Sink>
errc status_of(const Sink& sink) noexcept {
  if constexpr (requires { sink.status(); }) return sink.status();
  return errc::ok;
}
template <class Sink>
std::uint64_t lost_by(const Sink& sink) noexcept {
  if constexpr (requires { sink.lost_total(); }) return sink.lost_total();
  return 0;
}
template <class Sink>
std::uint64_t filtered_by(const Sink& sink) noexcept {
  if constexpr (requires { sink.filtered_total(); }) return sink.filtered_total();
  return 0;
}
template <event_record Record, class Sink>
bool takes(const Sink& sink) noexcept {
  if constexpr (!consumes<Sink, Record>) return false;
  if constexpr (requires { sink.template takes<Record>(); }) return sink.template takes<Record>();
  return true;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
