// SPDX-License-Identifier: Apache-2.0
// What is a sink and what is none.
#include <cstdint>
#include <fabscope/sink/any_sink.hpp>
#include <fabscope/sink/binary_sink.hpp>
#include <fabscope/sink/filter_sink.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/null_sink.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/sampling_sink.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <fabscope/sink/tee_sink.hpp>
#include <span>
#include <support/archetypes/sink.hpp>

namespace fs = fabscope;

namespace {

using mine = archetypes::record;
using archetype = archetypes::sink;
struct not_a_record {
  std::uint64_t number;
};

struct may_throw : archetype {
  void consume(std::span<const mine>, const fs::sink_context&) {}
};
struct no_flush {
  void consume(std::span<const mine>, const fs::sink_context&) noexcept {}
};
struct throwing_flush : archetype {
  void flush(const fs::sink_context&) {}
};
struct takes_nothing {
  void flush(const fs::sink_context&) noexcept {}
};
struct old_style {
  void consume(const mine&) noexcept {}
  void flush(const fs::sink_context&) noexcept {}
};

static_assert(fs::event_sink<archetype> && fs::consumes<archetype, mine>);
static_assert(!fs::consumes<archetype, fs::scope_record>);
static_assert(fs::consumes<fs::binary_sink, mine> && fs::event_sink<fs::binary_sink>);
static_assert(!fs::consumes<fs::binary_sink, not_a_record>);
static_assert(!fs::event_sink<throwing_flush>, "nor when it is flushed");
static_assert(!fs::consumes<may_throw, mine>, "a sink must not throw");
static_assert(!fs::event_sink<no_flush>, "a sink can be flushed");
static_assert(!fs::consumes<old_style, mine>, "a sink takes batches");
static_assert(!fs::consumes<fs::null_sink, not_a_record>, "only records go to sinks");

static_assert(!fs::consumes_any<takes_nothing, fs::library_records>);
static_assert(!fs::consumes_any<archetype, fs::library_records>);
static_assert(fs::consumes_any<archetype, fs::record_types<fs::scope_record, mine>>);

static_assert(fs::event_sink<fs::null_sink> && fs::consumes<fs::null_sink, mine> &&
              fs::consumes<fs::null_sink, fs::operation_record>);

using memory = fs::memory_sink<fs::scope_record, mine>;
static_assert(fs::event_sink<memory> && fs::consumes<memory, mine> &&
              fs::consumes<memory, fs::scope_record> && !fs::consumes<memory, fs::step_record>);

static_assert(fs::event_sink<fs::operations_csv_sink> &&
              fs::consumes<fs::operations_csv_sink, fs::operation_record> &&
              !fs::consumes<fs::operations_csv_sink, fs::scope_record>);
static_assert(fs::event_sink<fs::scopes_jsonl_sink> &&
              fs::consumes<fs::scopes_jsonl_sink, fs::scope_record> &&
              fs::consumes<fs::scopes_jsonl_sink, fs::step_record> &&
              fs::consumes<fs::scopes_jsonl_sink, fs::attribute_record> &&
              !fs::consumes<fs::scopes_jsonl_sink, fs::operation_record>);

using tee = fs::tee_sink<fs::operations_csv_sink, memory>;
static_assert(fs::event_sink<tee> && fs::consumes<tee, fs::operation_record> &&
              fs::consumes<tee, mine> && !fs::consumes<tee, fs::step_record>);

// A filter and a sampler consume what the sink behind them consumes.
struct wants_mine {
  bool operator()(const mine&) const noexcept { return true; }
};
struct wants_by_name {
  bool operator()(const mine&, const fs::sink_context&) const noexcept { return true; }
};
struct wants_nothing_known {
  bool operator()(int) const noexcept { return true; }
};
static_assert(fs::record_predicate<wants_mine, mine> && fs::record_predicate<wants_by_name, mine>);
static_assert(!fs::record_predicate<wants_mine, fs::scope_record>);
static_assert(!fs::record_predicate<wants_nothing_known, mine>);
static_assert(!fs::record_predicate<wants_mine, not_a_record>, "only records are filtered");

using filter = fs::filter_sink<archetype&, wants_mine>;
static_assert(fs::event_sink<filter> && fs::consumes<filter, mine> &&
              !fs::consumes<filter, fs::scope_record>);
using sampler = fs::sampling_sink<archetype>;
static_assert(fs::event_sink<sampler> && fs::consumes<sampler, mine> &&
              !fs::consumes<sampler, fs::scope_record>);
template <class Sink>
concept can_be_filtered = requires {
  typename fs::filter_sink<Sink, wants_mine>;
};
template <class Sink>
concept can_be_sampled = requires {
  typename fs::sampling_sink<Sink>;
};
static_assert(can_be_filtered<archetype> && can_be_filtered<archetype&>);
static_assert(!can_be_filtered<no_flush> && !can_be_sampled<no_flush>);

// Erased: what it may be given is in its type, what it holds is not.
static_assert(fs::event_sink<fs::any_sink> && fs::consumes<fs::any_sink, fs::scope_record> &&
              !fs::consumes<fs::any_sink, mine>);
static_assert(fs::consumes<fs::basic_any_sink<mine>, mine>);
static_assert(std::is_constructible_v<fs::any_sink, fs::null_sink> &&
              std::is_constructible_v<fs::any_sink, memory>);
static_assert(!std::is_constructible_v<fs::any_sink, archetype>, "takes none of its records");
static_assert(!std::is_constructible_v<fs::any_sink, no_flush>);
static_assert(!std::is_copy_constructible_v<fs::any_sink> &&
              std::is_nothrow_move_constructible_v<fs::any_sink> &&
              std::is_nothrow_move_assignable_v<fs::any_sink>);

}  // namespace

template class fs::tee_sink<archetypes::sink, archetypes::sink>;
template class fs::filter_sink<archetypes::sink, wants_mine>;
template class fs::sampling_sink<archetypes::sink&>;
template class fs::basic_any_sink<archetypes::record>;
