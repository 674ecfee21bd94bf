// SPDX-License-Identifier: Apache-2.0
// What happens around the real calls: the operation policy, and one that does nothing.
// Layer: fabric.
#pragma once

#include <rdma/fi_eq.h>

#include <concepts>
#include <cstdint>

#include <fabscope/fabric/objects.hpp>
#include <fabscope/fabric/operations.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

/// One call of one of the five functions that read a completion queue.
struct poll {
  void* entries = nullptr;  ///< of the queue's format; with `is_error` one fi_cq_err_entry
  std::int64_t count = 0;   ///< what the call returned
  const fi_addr_t* sources = nullptr;
  std::uint64_t wait_begin = 0;  ///< with `may_wait`: what Policy::wait_begins gave
  bool may_wait = false;
  bool is_error = false;
};

/// Static functions that are called around the application's calls.
/// `enter` gives what the thread records into, or null: then the call passes straight through. A
/// thread's `depth` is not 0 while it is inside the provider, and then enter() has to give null and
/// nested() true: providers call themselves through the tables that we patched.
/// `issue` may put another context into the request. The policy then has to put the application's
/// back in `polled`, and in `restore`, which is called where `enter` gave null; `cancel` gets the
/// application's context and calls `real(context)`.
/// `passed` is a collective that was accepted. `counted` gives the value of a counter that was
/// read, or that it is known to have reached, and when a waiting call began, else 0. `may_sleep`
/// comes after a successful fi_trywait. `connecting` and `connected` enclose the making of a
/// connection; `control_begins` and `registered` a registration of memory (NIC, bytes, begin,
/// result). `opened` is called when an endpoint was hooked and again when its address is known;
/// `label` gives a number for a text of the registry, under its lock.
/// semantics: none of them calls libfabric, except cancel through `real`.
template <class P>
concept operation_policy = requires(typename P::thread& thread, endpoint& ep,
                                    completion_queue& queue, counter& count, request& call,
                                    const request& seen, typename P::attempt& attempt,
                                    const poll& result, std::int64_t returned,
                                    ssize_t (*real)(void*)) {
  { thread.depth } -> std::convertible_to<std::uint32_t>;
  { P::enter() }
  noexcept->std::same_as<typename P::thread*>;
  { P::nested() }
  noexcept->std::same_as<bool>;
  { P::issue(thread, ep, call) }
  noexcept->std::same_as<typename P::attempt>;
  { P::issued(thread, ep, seen, attempt, returned) }
  noexcept;
  { P::wait_begins(thread) }
  noexcept->std::same_as<std::uint64_t>;
  { P::polled(thread, queue, result) }
  noexcept;
  { P::restore(queue, result) }
  noexcept;
  { P::cancel(ep, static_cast<void*>(nullptr), real) } -> std::same_as<ssize_t>;
  { P::opened(ep) }
  noexcept;
  { P::label(std::uint32_t{}) }
  noexcept->std::same_as<std::uint32_t>;
  { P::closed(ep) }
  noexcept;
  { P::closed(queue) }
  noexcept;
  { P::passed(thread, ep, collective_call{}) }
  noexcept;
  { P::counted(thread, count, std::uint64_t{}, std::uint64_t{}) }
  noexcept;
  { P::closed(count) }
  noexcept;
  { P::may_sleep(thread, queue) }
  noexcept;
  { P::connecting(ep) }
  noexcept;
  { P::connected(ep) }
  noexcept;
  { P::control_begins() }
  noexcept->std::same_as<std::uint64_t>;
  { P::registered(std::uint32_t{}, std::uint64_t{}, std::uint64_t{}, int{}) }
  noexcept;
};

namespace detail {
/// The thread is inside the provider, however it gets out.
template <class Thread>
struct inside {
  explicit FABSCOPE_ALWAYS_INLINE inside(Thread& thread) noexcept : thread_(thread) {
    thread_.depth = 1;
  }
  FABSCOPE_ALWAYS_INLINE ~inside() { thread_.depth = 0; }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  Thread& thread_;
};
}  // namespace detail

/// Looks on and does nothing: a base for policies that need less than all.
struct passive_policy {
  struct thread {
    std::uint32_t depth;
  };
  struct attempt {};

  static thread* enter() noexcept { return here_.depth == 0 ? &here_ : nullptr; }
  static bool nested() noexcept { return here_.depth != 0; }
  static attempt issue(thread&, endpoint&, request&) noexcept { return {}; }
  static void issued(thread&, endpoint&, const request&, const attempt&, std::int64_t) noexcept {}
  static std::uint64_t wait_begins(thread&) noexcept { return 0; }
  static void polled(thread&, completion_queue&, const poll&) noexcept {}
  static void restore(completion_queue&, const poll&) noexcept {}
  template <class Real>
  static ssize_t cancel(endpoint&, void* context, Real&& real) {
    return real(context);
  }
  static void opened(endpoint&) noexcept {}
  static std::uint32_t label(std::uint32_t) noexcept { return 0; }
  static void closed(endpoint&) noexcept {}
  static void closed(completion_queue&) noexcept {}
  static void passed(thread&, endpoint&, collective_call) noexcept {}
  static void counted(thread&, counter&, std::uint64_t, std::uint64_t) noexcept {}
  static void closed(counter&) noexcept {}
  static void may_sleep(thread&, completion_queue&) noexcept {}
  static void connecting(endpoint&) noexcept {}
  static void connected(endpoint&) noexcept {}
  static std::uint64_t control_begins() noexcept { return 0; }
  static void registered(std::uint32_t, std::uint64_t, std::uint64_t, int) noexcept {}

 private:
  static inline thread_local constinit thread here_{};
};

}  // namespace fabric

FABSCOPE_NAMESPACE_END
