// SPDX-License-Identifier: Apache-2.0
// The text report: worst things first, rendered from a segment. Layer: session.
#pragma once

#include <string>

#include <fabscope/session/report_extra.hpp>
#include <fabscope/session/segment_view.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Renders what a process has left, or is leaving, in its segment. `extra` adds what only the
/// process knows. The same input gives the same text. Section titles are `== title ==`; below, a
/// row per line; columns are separated by blanks, and a name with a blank in it is a JSON string.
/// Lines that begin with # are remarks. Sections without a row are left out. Units: in the columns'
/// names; GB is 10^9 bytes; `unknown` where the input is missing, `-` where a figure would mean
/// nothing.
std::string render_report(const segment_view& view, const report_extra& extra = {});

FABSCOPE_NAMESPACE_END

#ifndef FABSCOPE_SEPARATE_SESSION
#include <fabscope/session/report_definitions.hpp>  // IWYU pragma: export
#endif
