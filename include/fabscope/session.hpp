// SPDX-License-Identifier: Apache-2.0
// For one translation unit of a program: the session, its options, and who the process is.
#pragma once

// IWYU pragma: begin_exports
#include <fabscope/scope.hpp>
#include <fabscope/session/session.hpp>
// IWYU pragma: end_exports
