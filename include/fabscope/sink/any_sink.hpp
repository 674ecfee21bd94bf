// SPDX-License-Identifier: Apache-2.0
// A sink whose type is chosen at run time. Layer: sink.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// What can be done with a sink of which only the address is known.
template <event_record... Records>
struct erased_sink {
  template <class Record>
  using consume_function = void (*)(void*, std::span<const Record>, const sink_context&) noexcept;
  template <class Record>
  struct taker {
    consume_function<Record> consume;  ///< null: it does not consume the type
    bool (*takes)(const void*) noexcept;
  };
  struct operations : taker<Records>... {
    void (*destroy)(void*) noexcept;
    void (*flush)(void*, const sink_context&) noexcept;
    void (*finish)(void*, const sink_context&) noexcept;
    errc (*status)(const void*) noexcept;
    std::uint64_t (*lost_total)(const void*) noexcept;
    std::uint64_t (*filtered_total)(const void*) noexcept;
  };

  template <class Sink, class Record>
  static constexpr taker<Record> taker_of() noexcept {
    taker<Record> out{};
    if constexpr (consumes<Sink, Record>) {
      out.consume = [](void* self, std::span<const Record> batch,
                       const sink_context& about) noexcept {
        static_cast<Sink*>(self)->consume(batch, about);
      };
    }
    out.takes = [](const void* self) noexcept {
      return detail::takes<Record>(*static_cast<const Sink*>(self));
    };
    return out;
  }
  template <class Sink>
  static constexpr operations of{
      taker_of<Sink, Records>()...,
      [](void* self) noexcept { delete static_cast<Sink*>(self); },
      [](void* self, const sink_context& about) noexcept {
        static_cast<Sink*>(self)->flush(about);
      },
      [](void* self, const sink_context& about) noexcept {
        finish_of(*static_cast<Sink*>(self), about);
      },
      [](const void* self) noexcept { return status_of(*static_cast<const Sink*>(self)); },
      [](const void* self) noexcept { return lost_by(*static_cast<const Sink*>(self)); },
      [](const void* self) noexcept { return filtered_by(*static_cast<const Sink*>(self)); }};
};

}  // namespace detail

/// Owns a sink of any type that consumes at least one of the records. Empty after it was moved
/// from: then it filters everything.
/// Threads: one at a time.  Cost: one indirect call per batch; one allocation when it is made.
template <event_record... Records>
  requires(sizeof...(Records) >= 1)
class FABSCOPE_VISIBLE basic_any_sink {
  using erased = detail::erased_sink<Records...>;

 public:
  template <class Sink>
    requires(!std::same_as<std::remove_cvref_t<Sink>, basic_any_sink> &&
             event_sink<std::decay_t<Sink>> &&
             consumes_any<std::decay_t<Sink>, record_types<Records...>> &&
             std::constructible_from<std::decay_t<Sink>, Sink>)
  FABSCOPE_HIDDEN basic_any_sink(Sink&& sink)
      : operations_(&erased::template of<std::decay_t<Sink>>),
        sink_(new std::decay_t<Sink>(std::forward<Sink>(sink))) {}
  /// Makes the sink in place, for one that cannot be moved.
  template <event_sink Sink, class... Arguments>
  requires consumes_any<Sink, record_types<Records...>> FABSCOPE_HIDDEN explicit basic_any_sink(
      std::in_place_type_t<Sink>, Arguments&&... arguments)
      : operations_(&erased::template of<Sink>),
        sink_(new Sink(std::forward<Arguments>(arguments)...)) {}

  FABSCOPE_HIDDEN basic_any_sink(basic_any_sink&& other) noexcept
      : operations_(other.operations_), sink_(std::exchange(other.sink_, nullptr)) {}
  FABSCOPE_HIDDEN basic_any_sink& operator=(basic_any_sink&& other) noexcept {
    std::swap(operations_, other.operations_);
    std::swap(sink_, other.sink_);
    return *this;
  }
  FABSCOPE_HIDDEN ~basic_any_sink() {
    if (sink_ != nullptr) operations_->destroy(sink_);
  }

  template <class Record>
    requires(std::same_as<Record, Records> || ...)
  FABSCOPE_HIDDEN void consume(std::span<const Record> batch, const sink_context& about) noexcept {
    const auto call = taker<Record>().consume;
    if (sink_ == nullptr || call == nullptr) {
      filtered_ += batch.size();
      return;
    }
    call(sink_, batch, about);
  }
  FABSCOPE_HIDDEN void flush(const sink_context& about) noexcept {
    if (sink_ != nullptr) operations_->flush(sink_, about);
  }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    if (sink_ != nullptr) operations_->finish(sink_, about);
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept {
    return sink_ == nullptr ? errc::ok : operations_->status(sink_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return sink_ == nullptr ? 0 : operations_->lost_total(sink_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept {
    return filtered_ + (sink_ == nullptr ? 0 : operations_->filtered_total(sink_));
  }
  /// Whether the sink inside takes them.
  template <class Record>
    requires(std::same_as<Record, Records> || ...)
  [[nodiscard]] FABSCOPE_HIDDEN bool takes() const noexcept {
    return sink_ != nullptr && taker<Record>().takes(sink_);
  }

 private:
  template <class Record>
  [[nodiscard]] FABSCOPE_HIDDEN const auto& taker() const noexcept {
    return static_cast<const typename erased::template taker<Record>&>(*operations_);
  }

  const typename erased::operations* operations_;
  void* sink_;
  std::uint64_t filtered_ = 0;
};

/// A sink of the library's records.
using any_sink = basic_any_sink<scope_record, step_record, attribute_record, operation_record>;

FABSCOPE_NAMESPACE_END
