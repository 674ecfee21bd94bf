// SPDX-License-Identifier: Apache-2.0
#include <support/lttng.hpp>

#ifdef FABSCOPE_BENCH_LTTNG_LIBRARY

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

using loop = void (*)(std::size_t);
loop enabled_loop = nullptr;
loop disabled_loop = nullptr;

/// The script that owns the daemon: it lives until its standard input ends.
class daemon_owner {
 public:
  ~daemon_owner() {
    if (child_ <= 0) return;
    ::close(input_);
    std::string said;
    char text[256];
    for (ssize_t got; (got = ::read(output_, text, sizeof text)) > 0;)
      said.append(text, static_cast<std::size_t>(got));
    ::waitpid(child_, nullptr, 0);
    // The rings that were written into, as the daemon saw them.
    if (running_ && std::atol(said.c_str()) < 65536) {
      std::fprintf(stderr, "LTTng's session recorded nothing: its rows say nothing either (%s)\n",
                   said.c_str());
    }
    const std::string remove = "rm -rf '" + directory_ + "'";
    if (std::system(remove.c_str()) != 0) std::perror(directory_.c_str());
  }

  std::string start() {
    char name[] = "/tmp/fabscope-lttng-XXXXXX";
    if (::mkdtemp(name) == nullptr) return "no directory in /tmp";
    directory_ = name;
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) return "no pipe";
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(to[0], STDIN_FILENO);
      ::dup2(from[1], STDOUT_FILENO);
      ::execl("/bin/sh", "sh", FABSCOPE_BENCH_LTTNG_SCRIPT, name, static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    output_ = from[0];
    if (child_ < 0) return "no process";
    std::string line;
    for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) line += c;
    running_ = line == "ready";
    const std::string prefix = "not available: ";
    if (!running_) return line.rfind(prefix, 0) == 0 ? line.substr(prefix.size()) : "no answer";
    ::setenv("LTTNG_HOME", name, 1);
    void* library = ::dlopen(FABSCOPE_BENCH_LTTNG_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return ::dlerror();
    enabled_loop = reinterpret_cast<loop>(::dlsym(library, "fabscope_bench_lttng_enabled"));
    disabled_loop = reinterpret_cast<loop>(::dlsym(library, "fabscope_bench_lttng_disabled"));
    const auto ready = reinterpret_cast<int (*)()>(::dlsym(library, "fabscope_bench_lttng_ready"));
    for (int tries = 0; ready() == 0; ++tries) {
      if (tries == 100) return "the session daemon did not enable the tracepoints";
      ::usleep(20000);
    }
    return {};
  }

 private:
  std::string directory_;
  pid_t child_ = -1;
  int input_ = -1;
  int output_ = -1;
  bool running_ = false;
};

}  // namespace

const std::string& lttng::absent() {
  static daemon_owner daemon;
  static const std::string why = daemon.start();
  return why;
}
void lttng::enabled(std::size_t n) { enabled_loop(n); }
void lttng::disabled(std::size_t n) { disabled_loop(n); }

}  // namespace bench

#else

namespace bench {

const std::string& lttng::absent() {
  static const std::string why = "built without LTTng-UST (Debian: liblttng-ust-dev, lttng-tools)";
  return why;
}
void lttng::enabled(std::size_t) {}
void lttng::disabled(std::size_t) {}

}  // namespace bench

#endif
