// SPDX-License-Identifier: Apache-2.0
// The library's version: the only place it is written. Layer: core.
#pragma once

#define FABSCOPE_VERSION_MAJOR 0
#define FABSCOPE_VERSION_MINOR 1
#define FABSCOPE_VERSION_PATCH 0

#define FABSCOPE_DETAIL_JOIN(a, b, c) v##a##_##b##_##c
#define FABSCOPE_DETAIL_EXPAND(a, b, c) FABSCOPE_DETAIL_JOIN(a, b, c)
#define FABSCOPE_DETAIL_TEXT(a) #a
#define FABSCOPE_DETAIL_STRING(a) FABSCOPE_DETAIL_TEXT(a)

/// The inline namespace of this version, for example v0_1_0.
#define FABSCOPE_VERSION_NAMESPACE \
  FABSCOPE_DETAIL_EXPAND(FABSCOPE_VERSION_MAJOR, FABSCOPE_VERSION_MINOR, FABSCOPE_VERSION_PATCH)

/// The version as text, for example "0.1.0".
#define FABSCOPE_VERSION_STRING                                                  \
  FABSCOPE_DETAIL_STRING(FABSCOPE_VERSION_MAJOR)                                 \
  "." FABSCOPE_DETAIL_STRING(FABSCOPE_VERSION_MINOR) "." FABSCOPE_DETAIL_STRING( \
      FABSCOPE_VERSION_PATCH)

/// Opens `namespace fabscope` with the full version as a hidden inline namespace, so that two
/// copies of the library in one process never share a C++ symbol.
#define FABSCOPE_NAMESPACE_BEGIN \
  namespace fabscope {           \
  inline namespace FABSCOPE_VERSION_NAMESPACE __attribute__((visibility("hidden"))) {
#define FABSCOPE_NAMESPACE_END \
  }                            \
  }

/// A type that users hold in types of their own is FABSCOPE_VISIBLE: g++ warns in their code about
/// a member whose type is hidden. Its member functions are FABSCOPE_HIDDEN or always inline, and
/// where the compiler's own copying is more than a few words it is declared and FABSCOPE_HIDDEN
/// too, so that a shared library built with fabscope exports nothing of it.
#if defined(__clang__)
#define FABSCOPE_VISIBLE
#else
#define FABSCOPE_VISIBLE [[gnu::visibility("default")]]
#endif
#define FABSCOPE_HIDDEN [[gnu::visibility("hidden")]]
