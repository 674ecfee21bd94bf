// SPDX-License-Identifier: Apache-2.0
// fabscope-exchange: endpoints exchange checked messages over libfabric, recorded by fabscope.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fabscope/fabric.hpp>
#include <fabscope/nic.hpp>
#include <fabscope/session.hpp>

#include "exchange_pattern.hpp"
#include "exchange_watchdog.hpp"

namespace {

using exchange::board;
using exchange::options;
using namespace fabscope::literals;

/// Our scopes' domain.
struct phase {
  static constexpr const char* name = "exchange";
};
using scope = fabscope::scope_in<phase>;

/// Makes the exchange's phases scopes, and its rounds steps.
struct observer {
  scope setup() { return scope{"setup"_name}; }
  fabscope::step round(unsigned number) { return fabscope::step{number}; }
  scope fill(std::uint64_t bytes) { return scope{"fill"_name, bytes}; }
  scope post(std::uint64_t bytes, std::size_t size) {
    return scope{"post"_name, bytes, static_cast<std::int64_t>(size)};
  }
  scope progress() { return scope{"progress"_name}; }
  scope meet() { return scope{"meet"_name}; }
  scope check(std::uint64_t bytes) { return scope{"check"_name, bytes}; }
  scope cancel(std::size_t receives) {
    return scope{"cancel"_name, 0, static_cast<std::int64_t>(receives)};
  }
  scope close(std::size_t outstanding) {
    return scope{"close"_name, 0, static_cast<std::int64_t>(outstanding)};
  }
};

/// Runs one endpoint's part; whoever fails stops the others.
template <class Part>
void guarded(board& shared, unsigned index, Part&& part) {
  try {
    part();
  } catch (const exchange::stopped&) {
  } catch (const std::exception& e) {
    shared.failed = true;
    std::fprintf(stderr, "fabscope-exchange: endpoint %u: %s\n", index, e.what());
  }
}

/// This process's endpoints, from `first` to before `last`, each in its thread.
int run_here(const options& o, board& shared, unsigned first, unsigned last) {
  exchange::owned<fi_info> info = exchange::find_provider(o);
  if (info == nullptr) {
    shared.failed = true;
    if (first == 0) {
      std::fprintf(stderr,
                   "fabscope-exchange: provider '%s' is not available here; available: %s\n",
                   o.provider.c_str(), exchange::available_providers().c_str());
    }
    return 1;
  }
  shared.directed = (info->caps & FI_DIRECTED_RECV) != 0;

  fabscope::session session;  // options from FABSCOPE_ variables; its end writes report and files
  fabscope::nic::start_with_fabric();
  observer phases;
  exchange::watchdog dog(shared, o.timeout);
  guarded(shared, first, [&] {
    exchange::opened fabric(std::move(info));
    fabscope::fabric::instrument(fabric.fabric.get());  // and all that is opened from it
    fabric.open_domain();
    std::vector<std::thread> threads;
    for (unsigned i = first; i < last; ++i) {
      threads.emplace_back([&, i] {
        ::pthread_setname_np(::pthread_self(), ("endpoint " + std::to_string(i)).c_str());
        guarded(shared, i, [&] {
          exchange::participant part(fabric, shared, i, o, phases);
          part.run();
          if (i == 0 && o.close_outstanding != 0) {
            exchange::close_with_receives_outstanding(fabric, shared, o, phases);
          }
        });
      });
    }
    for (std::thread& t : threads) t.join();
  });
  return dog.barked() ? 3 : shared.failed ? 1 : 0;
}

/// One process per endpoint.
int run_processes(const options& o, board& shared) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < o.endpoints; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("RANK", std::to_string(i).c_str(), 1);
      ::setenv("LOCAL_RANK", std::to_string(i).c_str(), 1);
      ::setenv("WORLD_SIZE", std::to_string(o.endpoints).c_str(), 1);
      std::exit(run_here(o, shared, i, i + 1));
    }
    if (child < 0) {
      std::perror("fabscope-exchange: fork");
      shared.failed = true;
      break;
    }
    children.push_back(child);
  }
  int worst = children.size() == o.endpoints ? 0 : 1;
  for (int patience = 50; !children.empty();) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, shared.failed ? WNOHANG : 0);
    if (child == 0) {
      // The others have had 5 s to notice that somebody gave up: what is left cannot.
      if (--patience == 0) {
        for (const pid_t stuck : children) ::kill(stuck, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    std::erase(children, child);
    int code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "fabscope-exchange: process %d ended by signal %d\n", child,
                   WTERMSIG(status));
      code = 1;
    }
    if (code != 0) shared.failed = true;
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const options o = exchange::parse(argc, argv);
  if (o.help) return std::fputs(exchange::help(), stdout) < 0 ? 1 : 0;
  if (!o.directory.empty()) ::setenv("FABSCOPE_DIR", o.directory.c_str(), 1);

  board& shared = exchange::make_board(o.endpoints);
  int status = o.processes ? run_processes(o, shared) : run_here(o, shared, 0, o.endpoints);
  if (shared.progress() != 0) exchange::print_summary(shared, o);
  if (shared.payload_wrong() && status == 0) status = 1;
  if (!o.reference.empty() && !exchange::write_reference(shared, o, o.reference)) {
    std::fprintf(stderr, "fabscope-exchange: --reference: %s: ", o.reference.c_str());
    std::perror(nullptr);
    if (status == 0) status = 1;
  }
  return status;
}
