// SPDX-License-Identifier: Apache-2.0
// Everything of the fabric adapter: for one translation unit of a program. Layer: fabric.
#pragma once

// IWYU pragma: begin_exports
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/instrument.hpp>
#include <fabscope/fabric/interpose.hpp>
#include <fabscope/fabric/timing.hpp>
// IWYU pragma: end_exports
