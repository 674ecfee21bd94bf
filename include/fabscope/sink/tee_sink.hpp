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
/// lost_total() is the sum: a record that two sinks lost counts twice.
template <event_sink... Sinks>
  requires(sizeof...(Sinks) >= 1)
class FABSCOPE_VISIBLE tee_sink {
 public:
  FABSCOPE_HIDDEN explicit tee_sink(Sinks&... sinks) noexcept : sinks_(&sinks...) {}

  template <event_record Record>
    requires(consumes<Sinks, Record> || ...)
  FABSCOPE_HIDDEN void consume(std::span<const Record> batch, const sink_context& about) noexcept {
    each([&](auto& sink) noexcept {
      if constexpr (consumes<std::remove_reference_t<decltype(sink)>, Record>) {
        sink.consume(batch, about);
      }
    });
  }
  FABSCOPE_HIDDEN void flush(const sink_context& about) noexcept {
    each([&](auto& sink) noexcept { sink.flush(about); });
  }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    each([&](auto& sink) noexcept {
      if constexpr (requires { sink.finish(about); }) sink.finish(about);
    });
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept {
    errc first = errc::ok;
    each([&](const auto& sink) noexcept {
      if constexpr (requires { sink.status(); }) {
        if (first == errc::ok) first = sink.status();
      }
    });
    return first;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    std::uint64_t sum = 0;
    each([&](const auto& sink) noexcept {
      if constexpr (requires { sink.lost_total(); }) sum += sink.lost_total();
    });
    return sum;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept {
    std::uint64_t sum = 0;
    each([&](const auto& sink) noexcept {
      if constexpr (requires { sink.filtered_total(); }) sum += sink.filtered_total();
    });
    return sum;
  }

 private:
  template <class Function>
  FABSCOPE_HIDDEN void each(Function&& function) const noexcept {
    std::apply([&](auto*... sink) noexcept { (function(*sink), ...); }, sinks_);
  }

  std::tuple<Sinks*...> sinks_;
};

FABSCOPE_NAMESPACE_END
