// SPDX-License-Identifier: Apache-2.0
// What is a sink and what is none.
#include <cstdint>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/null_sink.hpp>
#include <fabscope/sink/operations_csv.hpp>
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

}  // namespace

template class fs::tee_sink<archetypes::sink, archetypes::sink>;
