// SPDX-License-Identifier: Apache-2.0
// The least that a sink must be.
#pragma once

#include <fabscope/sink/context.hpp>
#include <span>
#include <support/archetypes/event.hpp>

namespace archetypes {

struct sink {
  void consume(std::span<const record>, const fabscope::sink_context&) noexcept {}
  void flush(const fabscope::sink_context&) noexcept {}
};

}  // namespace archetypes
