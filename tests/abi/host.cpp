// SPDX-License-Identifier: Apache-2.0
// Three versions of the library in one process: one owner, one set of files, every record right.
//
// host <plugin> own|preload: who asks for the session first. Exit status 0 if all is as it should
// be.
#include <dirent.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>

#ifdef HOST_HAS_SESSION
#include <fabscope/session.hpp>
#endif

#include "work.hpp"

void record_elsewhere();

namespace {

int failures = 0;

void expect(bool true_, const char* what) {
  if (true_) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

[[maybe_unused]] const std::map<std::string, unsigned> modules = {
    {"host", 0}, {"more", 1000}, {"preload", 2000}, {"plugin", 3000}};

#ifdef HOST_HAS_SESSION
/// Checks every record by its own contents.
struct checking_sink {
  std::map<std::string, std::set<std::uint64_t>> scopes;
  std::set<std::int64_t> steps;
  std::set<std::uint64_t> roots;
  std::size_t records = 0;

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const auto& r : batch) {
      ++records;
      scopes[std::string(about.label(r.name))].insert(r.bytes);
      expect(r.value == -static_cast<std::int64_t>(r.bytes), "value of a scope");
      expect(r.end >= r.header.ticks, "a scope ends after its begin");
      expect(about.label(r.domain) == "app", "domain of a scope");
    }
  }
  void consume(std::span<const fabscope::step_record> batch,
               const fabscope::sink_context&) noexcept {
    for (const auto& r : batch) {
      ++records;
      steps.insert(r.number);
      expect(r.end >= r.header.ticks, "a step ends after its begin");
    }
  }
  void consume(std::span<const probe_record> batch, const fabscope::sink_context&) noexcept {
    for (const auto& r : batch) {
      ++records;
      roots.insert(r.root);
      expect(r.square == std::uint64_t{r.root} * r.root, "fields of a probe");
    }
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

std::map<std::string, int> files_by_kind(const std::string& directory) {
  std::map<std::string, int> kinds;
  DIR* dir = ::opendir(directory.c_str());
  for (const dirent* e = dir == nullptr ? nullptr : ::readdir(dir); e != nullptr;
       e = ::readdir(dir)) {
    const std::string name = e->d_name;
    const std::size_t at = name.find(".p" + std::to_string(::getpid()) + ".");
    if (at != name.npos) ++kinds[name.substr(name.find('.', at + 1) + 1)];
  }
  if (dir != nullptr) ::closedir(dir);
  return kinds;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  using start_function = const char* (*)();
  using run_function = void (*)();
  const auto preload_start =
      reinterpret_cast<start_function>(::dlsym(RTLD_DEFAULT, "preload_start"));
  const auto preload_run = reinterpret_cast<run_function>(::dlsym(RTLD_DEFAULT, "preload_run"));
  if (preload_start == nullptr || preload_run == nullptr) return 3;

  std::string owner;
  if (std::strcmp(argv[2], "preload") == 0) owner = preload_start();
#ifdef HOST_HAS_SESSION
  fabscope::session session;
  checking_sink sink;
  expect(session.add_sink<probe_record>(sink) == fabscope::errc::ok, "the host owns the session");
  expect(!session.joined(), "the host's session is the process's");
  const std::string expected_owner = FABSCOPE_VERSION_STRING;
#else
  const std::string expected_owner = "0.2.0";  // the preloaded library comes next in link order
#endif

  void* plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 3;
  }
  const auto plugin_start = reinterpret_cast<start_function>(::dlsym(plugin, "plugin_start"));
  const auto plugin_run = reinterpret_cast<run_function>(::dlsym(plugin, "plugin_run"));
  expect(owner.empty() || owner == expected_owner, "the first copy in link order owns the session");
  expect(plugin_start() == expected_owner, "the plugin finds the same owner");
  expect(preload_start() == expected_owner, "the preloaded library finds the same owner");

  record_hundred<"host">(0);
  record_elsewhere();
  preload_run();
  std::thread(plugin_run).join();
  ::dlclose(plugin);  // a copy that owns nothing may be unloaded

#ifdef HOST_HAS_SESSION
  session.finish();
  const auto totals = session.totals();
  expect(sink.records == 1200 && totals.produced == 1200 && totals.written == 1200,
         "every record reached the sink");
  for (const auto& [name, first] : modules) {
    expect(sink.scopes[name].size() == 100, "hundred scopes of each module");
    expect(*sink.scopes[name].begin() == first && *sink.scopes[name].rbegin() == first + 99,
           "the right numbers in the scopes of each module");
    for (unsigned n = first; n < first + 100; ++n) {
      expect(sink.steps.count(-static_cast<std::int64_t>(n)) == 1, "number of a step");
      expect(sink.roots.count(n) == 1, "root of a probe");
    }
  }
  const auto kinds = files_by_kind(session.directory());
  expect(kinds.count("report.txt") == 1 && kinds.count("scopes.jsonl") == 1, "report and scopes");
  for (const auto& [kind, count] : kinds) expect(count == 1, "one set of files");
#endif
  std::printf("%s: %d failures\n", argv[2], failures);
  return failures == 0 ? 0 : 1;
}
