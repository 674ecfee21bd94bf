// SPDX-License-Identifier: Apache-2.0
// A sink of any type as the collector sees it: one indirect call per batch. Layer: session.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fabscope/event/adapt.hpp>
#include <fabscope/session/segment_format.hpp>
#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Finds fields of a registered type by name, for layout_adapter. A field that does not lie in the
/// type's bytes (a damaged segment) is not there.
template <class T>
auto field_finder(const segment_format::type_entry& type) noexcept {
  return [&type](std::string_view name) {
    typename layout_adapter<T>::foreign_field found;
    for (std::uint32_t i = 0; i < type.field_count && i < segment_format::max_fields; ++i) {
      const segment_format::field_entry& field = type.fields[i];
      if (name != entry_text(field.name)) continue;
      const std::size_t bytes = size_of(static_cast<field_type>(field.type)) * field.count;
      if (field.offset + bytes > type.bytes) continue;
      found = {field.offset, field.count, static_cast<field_type>(field.type)};
    }
    return found;
  };
}

/// Takes raw records of one registered type to one overload of one sink.
class record_route {
 public:
  virtual ~record_route() = default;
  /// `packed` holds `count` records of the registered type, one behind the other.
  virtual void deliver(const unsigned char* packed, std::size_t count,
                       const sink_context& about) noexcept = 0;
};

template <class Sink, event_record Record>
class typed_route final : public record_route {
 public:
  typed_route(Sink& sink, const segment_format::type_entry& type) noexcept
      : sink_(sink), adapter_(type.bytes, field_finder<Record>(type)) {}

  void deliver(const unsigned char* packed, std::size_t count,
               const sink_context& about) noexcept override {
    if (adapter_.exact()) {
      sink_.consume(std::span<const Record>(reinterpret_cast<const Record*>(packed), count), about);
      return;
    }
    converted_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      converted_.push_back(adapter_.convert(packed + i * adapter_.foreign_bytes()));
    }
    sink_.consume(std::span<const Record>(converted_), about);
  }

 private:
  Sink& sink_;
  layout_adapter<Record> adapter_;
  std::vector<Record> converted_;
};

/// One attached sink with its routes, made when a type is first seen.
class bound_sink {
 public:
  virtual ~bound_sink() = default;
  /// The route for records of this registered type; null if the sink does not take them.
  virtual record_route* route(std::uint32_t number, const segment_format::type_entry& type) = 0;
  virtual void flush(const sink_context& about) noexcept = 0;
  virtual void finish(const sink_context& about) noexcept = 0;
  virtual bool work(const sink_context& about) noexcept = 0;
  [[nodiscard]] virtual errc status() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t lost_total() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t filtered_total() const noexcept = 0;

  std::uint64_t offered = 0;  ///< records of types that it takes
  std::uint64_t skipped = 0;  ///< read, but of other types, or before it was attached
};

template <class Sink, event_record... Records>
class typed_sink : public bound_sink {
 public:
  explicit typed_sink(Sink& sink) noexcept : sink_(sink), routes_(segment_format::max_types + 1) {}
  typed_sink(const typed_sink&) = delete;
  typed_sink& operator=(const typed_sink&) = delete;
  ~typed_sink() override {
    for (const entry& e : routes_) delete e.route;
  }

  record_route* route(std::uint32_t number, const segment_format::type_entry& type) override {
    entry& e = routes_[number];
    if (!e.asked) {
      e.asked = true;
      (try_one<Records>(e, type) || ...);
    }
    return e.route;
  }
  void flush(const sink_context& about) noexcept override { sink_.flush(about); }
  void finish(const sink_context& about) noexcept override { finish_of(sink_, about); }
  bool work(const sink_context& about) noexcept override { return work_of(sink_, about); }
  [[nodiscard]] errc status() const noexcept override { return status_of(sink_); }
  [[nodiscard]] std::uint64_t lost_total() const noexcept override { return lost_by(sink_); }
  [[nodiscard]] std::uint64_t filtered_total() const noexcept override {
    return filtered_by(sink_);
  }

 private:
  struct entry {
    record_route* route = nullptr;
    bool asked = false;
  };

  template <class Record>
  bool try_one(entry& e, const segment_format::type_entry& type) {
    if constexpr (consumes<Sink, Record>) {
      if (entry_text(type.name) == Record::type_name && takes<Record>(sink_)) {
        e.route = new typed_route<Sink, Record>(sink_, type);
        return true;
      }
    }
    return false;
  }

  Sink& sink_;
  std::vector<entry> routes_;
};

template <class Sink>
struct sink_holder {
  Sink held;
};
/// The same for a sink that nobody else has.
template <class Sink, event_record... Records>
class owned_sink final : sink_holder<Sink>, public typed_sink<Sink, Records...> {
 public:
  explicit owned_sink(Sink&& sink)
      : sink_holder<Sink>{std::move(sink)}, typed_sink<Sink, Records...>(this->held) {}
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
