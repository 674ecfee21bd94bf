// SPDX-License-Identifier: Apache-2.0
// Everything of the NIC adapter: for one translation unit of a program. Layer: nic.
#pragma once

// IWYU pragma: begin_exports
#include <fabscope/nic/session_part.hpp>
#include <fabscope/nic/sweep.hpp>
// IWYU pragma: end_exports
