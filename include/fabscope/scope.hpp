// SPDX-License-Identifier: Apache-2.0
// For every translation unit that is to be measured: scopes, phases, steps, records of one's own.
// Light: no thread, no file, no third party. One translation unit includes fabscope/session.hpp
// too.
#pragma once

// IWYU pragma: begin_exports
#include <fabscope/scope/attribute.hpp>
#include <fabscope/scope/basic_scope.hpp>
#include <fabscope/scope/chained.hpp>
#include <fabscope/scope/detached.hpp>
#include <fabscope/scope/emit.hpp>
#include <fabscope/scope/step.hpp>
// IWYU pragma: end_exports
