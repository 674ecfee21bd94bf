// SPDX-License-Identifier: Apache-2.0
// The processor's own counter, whether it is fit to be a clock here, and the session's stamp.
// Layer: clock.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include <fabscope/clock/steady_clock.hpp>
#include <fabscope/core/config.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Which clock a session's ticks come from. The numbers stand in files: they never change.
enum class clock_kind : std::uint32_t { monotonic = 1, tsc = 2, cntvct = 3 };

/// What the user asks for: the best that is suitable, the counter in any case, or CLOCK_MONOTONIC.
enum class clock_choice : std::uint32_t { automatic, tsc, monotonic };

constexpr const char* to_string(clock_kind kind) noexcept {
  switch (kind) {
    case clock_kind::monotonic: return "monotonic";
    case clock_kind::tsc: return "tsc";
    case clock_kind::cntvct: return "cntvct";
  }
  return "unknown";
}

/// The counter that this architecture has, or monotonic where it has none.
#if defined(__x86_64__)
inline constexpr clock_kind counter_kind = clock_kind::tsc;
#elif defined(__aarch64__)
inline constexpr clock_kind counter_kind = clock_kind::cntvct;
#else
inline constexpr clock_kind counter_kind = clock_kind::monotonic;
#endif

/// Reads the counter. Units: ticks of counter_kind. Threads: any. Cost: one instruction, about 10
/// ns on x86. The read is not ordered against the loads and stores around it; it may move by a few
/// ns.
FABSCOPE_ALWAYS_INLINE std::uint64_t counter_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return monotonic_ns();
#endif
}

/// The counter as a clock type, for programs that know their machine.
struct FABSCOPE_VISIBLE counter_clock {
  FABSCOPE_HIDDEN static std::uint64_t now() noexcept { return counter_ticks(); }
};

/// The stamp of the hot path. Units: ticks of `kind`. Cost: one predictable branch and one clock
/// read. A kind that this architecture does not have reads CLOCK_MONOTONIC.
FABSCOPE_ALWAYS_INLINE std::uint64_t now_ticks(clock_kind kind) noexcept {
  if (kind == counter_kind) [[likely]] {
    return counter_ticks();
  }
  return monotonic_ns();
}

namespace detail {

/// True if the counter runs at one rate in every power state.
inline bool counter_is_invariant() noexcept {
#if defined(__x86_64__)
  // The instruction itself and not <cpuid.h>, which defines a hundred unprefixed macros.
  const auto cpuid = [](std::uint32_t leaf, std::uint32_t& edx) noexcept {
    std::uint32_t eax = leaf;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return eax;
  };
  std::uint32_t edx = 0;
  if (cpuid(0x80000000U, edx) < 0x80000007U) {
    return false;
  }
  cpuid(0x80000007U, edx);
  return (edx & (1U << 8)) != 0;  // "invariant TSC", AMD and Intel alike
#elif defined(__aarch64__)
  return true;  // by architecture
#else
  return false;
#endif
}

/// True if `<sys_root>/devices/system/clocksource/clocksource0/current_clocksource` holds `name`:
/// the kernel itself trusts the counter, and CLOCK_MONOTONIC is derived from it.
inline bool clocksource_is(const char* sys_root, const char* name) noexcept {
  static constexpr char tail[] = "/devices/system/clocksource/clocksource0/current_clocksource";
  char path[512];
  const std::size_t root_size = sys_root == nullptr ? 0 : std::strlen(sys_root);
  if (root_size == 0 || root_size + sizeof tail > sizeof path) {
    return false;
  }
  std::memcpy(path, sys_root, root_size);
  std::memcpy(path + root_size, tail, sizeof tail);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  char text[64];
  ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' ')) {
    --size;
  }
  const std::size_t name_size = std::strlen(name);
  return size >= 0 && static_cast<std::size_t>(size) == name_size &&
         std::memcmp(text, name, name_size) == 0;
}

}  // namespace detail

/// Chooses the session's clock, once, at its start: the counter if it is invariant and the kernel
/// keeps its own time by it, else CLOCK_MONOTONIC. `tsc` takes the counter unasked, on the user's
/// word. Errors: none; whatever cannot be read counts as unsuitable. Cost: one small file, a few
/// system calls.
inline clock_kind pick_clock(clock_choice choice = clock_choice::automatic,
                             const char* sys_root = "/sys") noexcept {
  if (choice == clock_choice::monotonic) {
    return clock_kind::monotonic;
  }
  if (choice == clock_choice::tsc) {
    return counter_kind;
  }
  const char* source = counter_kind == clock_kind::tsc ? "tsc" : "arch_sys_counter";
  const bool fit = counter_kind != clock_kind::monotonic && detail::counter_is_invariant() &&
                   detail::clocksource_is(sys_root, source);
  return fit ? counter_kind : clock_kind::monotonic;
}

FABSCOPE_NAMESPACE_END
