// SPDX-License-Identifier: Apache-2.0
// Several sinks as one. Layer: sink.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Hands each batch to every one of its sinks that consumes its type. The sinks belong to the
/// caller. Threads: one at a time.  Errors: status() is the first error in the order of the sinks;
/// lost_total() is the sum: a record that two sinks lost counts twice. filtered_total() is, of each
/// batch, what the sink filtered that filtered least.
template <event_sink... Sinks>
  requires(sizeof...(Sinks) >= 1)
class FABSCOPE_VISIBLE tee_sink {
 public:
  FABSCOPE_HIDDEN explicit tee_sink(Sinks&... sinks) noexcept : sinks_(&sinks...) {}

  template <event_record Record>
    requires(consumes<Sinks, Record> || ...)
  FABSCOPE_HIDDEN void consume(std::span<const Record> batch, const sink_context& about) noexcept {
    std::uint64_t least = batch.size();
    each([&](auto& sink) noexcept {
      if constexpr (consumes<std::remove_reference_t<decltype(sink)>, Record>) {
        if (!detail::takes<Record>(sink)) return;
        const std::uint64_t before = detail::filtered_by(sink);
        sink.consume(batch, about);
        const std::uint64_t filtered = detail::filtered_by(sink) - before;
        least = filtered < least ? filtered : least;
      }
    });
    filtered_ += least;
  }
  FABSCOPE_HIDDEN void flush(const sink_context& about) noexcept {
    each([&](auto& sink) noexcept { sink.flush(about); });
  }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    each([&](auto& sink) noexcept { detail::finish_of(sink, about); });
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept {
    errc first = errc::ok;
    each([&](const auto& sink) noexcept {
      if (first == errc::ok) first = detail::status_of(sink);
    });
    return first;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    std::uint64_t sum = 0;
    each([&](const auto& sink) noexcept { sum += detail::lost_by(sink); });
    return sum;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept { return filtered_; }
  template <event_record Record>
  [[nodiscard]] FABSCOPE_HIDDEN bool takes() const noexcept {
    bool any = false;
    each([&](const auto& sink) noexcept { any = any || detail::takes<Record>(sink); });
    return any;
  }

 private:
  template <class Function>
  FABSCOPE_HIDDEN void each(Function&& function) const noexcept {
    std::apply([&](auto*... sink) noexcept { (function(*sink), ...); }, sinks_);
  }

  std::tuple<Sinks*...> sinks_;
  std::uint64_t filtered_ = 0;
};

FABSCOPE_NAMESPACE_END
