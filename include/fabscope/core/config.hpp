// SPDX-License-Identifier: Apache-2.0
// Compiler and architecture facts. Layer: core.
#pragma once

#include <cstddef>

#include <fabscope/core/version.hpp>

#define FABSCOPE_NOINLINE __attribute__((noinline, cold))
#define FABSCOPE_ALWAYS_INLINE __attribute__((always_inline)) inline

FABSCOPE_NAMESPACE_BEGIN

/// Distance that keeps two variables out of one cache line. One fixed value per architecture: a
/// value that followed the compiler's tuning flags would give one class two layouts in two
/// translation units.
#if defined(__powerpc64__) || defined(__s390x__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

/// Tells the core that this is a spin-wait. Cost: about 20 ns on recent x86.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

FABSCOPE_NAMESPACE_END
