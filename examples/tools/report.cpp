// SPDX-License-Identifier: Apache-2.0
// fabscope-report: renders the segment of a process that runs or was killed, or a records.bin.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/replay.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/session/run_directory.hpp>
#include <fabscope/sink/binary_file.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report_list.hpp"
#include "report_records.hpp"

namespace fs = fabscope;

namespace {

constexpr const char* usage =
    "usage: fabscope-report [--records] [--csv] [--jsonl] [-o DIRECTORY] [--remove] [FILE...]\n"
    "  FILE: a segment, or a records.bin\n"
    "  without a file: lists those in FABSCOPE_NODE_DIR, else /dev/shm\n"
    "  --records  prints the records that the rings still hold, of any type\n"
    "  --csv      writes the operations among them as ops.csv\n"
    "  --jsonl    writes the scopes and steps among them as scopes.jsonl\n"
    "  -o DIR     writes ops.csv and scopes.jsonl into files there; without: to standard output\n"
    "  --remove   removes the segment afterwards, if its process is gone\n"
    "  with none of --records, --csv, --jsonl: prints the report\n";

struct choices {
  bool records = false;
  bool csv = false;
  bool jsonl = false;
  bool remove = false;
  std::string directory;
  std::vector<std::string> files;
  [[nodiscard]] bool report() const { return !records && !csv && !jsonl; }
};

/// Files in the chosen directory, or standard output.
struct destination {
  bool to_files;
  fs::detail::run_directory files;

  static int open(void* self, const char* kind) noexcept {
    auto* me = static_cast<destination*>(self);
    return me->to_files ? me->files.open(kind) : ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  }
};

/// Who recorded, and until when.
struct origin {
  const char* host;
  int rank;
  int pid;
  fs::clock_snapshot end;
};

/// `replay(sink)` gives a sink the records. False if something could not be written.
template <class Replay>
bool write_rows(const origin& who, const choices& chosen, Replay replay) {
  destination to{!chosen.directory.empty(), {}};
  to.files.start(chosen.directory, who.host, who.rank, who.pid, 0644);
  fs::file_sink_options options;
  options.opener = {&to, &destination::open};
  options.end = &who.end;
  options.host = who.host;
  options.rank = who.rank;
  options.pid = who.pid;
  bool good = true;
  if (chosen.csv) {
    fs::operations_csv_sink sink(options);
    replay(sink);
    good &= sink.status() == fs::errc::ok;
  }
  if (chosen.jsonl) {
    fs::scopes_jsonl_sink sink(options);
    replay(sink);
    good &= sink.status() == fs::errc::ok;
  }
  for (const auto& file : to.files.files()) std::printf("%s\n", file.path.c_str());
  return good;
}

bool write_rows(fs::segment_view& view, const choices& chosen) {
  const auto& head = view.head();
  char host[sizeof head.host] = {};
  fs::detail::copy_file_name(host, fs::detail::entry_text(head.host));
  return write_rows({host, head.rank, head.pid, head.latest}, chosen,
                    [&](auto& sink) { fs::replay(view, sink); });
}

/// A records.bin: its rows as CSV or JSON, else what is in it. Not its file: -1.
int render_binary(const std::string& path, const choices& chosen) {
  auto file = fs::binary_file::open(path.c_str());
  if (!file) return -1;
  const auto* end = file->end();
  if (chosen.report() || chosen.records) {
    const auto count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("%llu records of process %d on %s", count(file->records_total()), file->head().pid,
                file->host().c_str());
    if (end != nullptr)
      std::printf("; %llu lost, %llu filtered\n", count(end->lost), count(end->filtered));
    else
      std::printf("; the file has no end: its process was killed\n");
    for (const auto& type : file->types()) {
      if (type.name.empty()) continue;
      std::printf("  %s:", type.name.c_str());
      for (const auto& field : type.fields) std::printf(" %s", field.name.c_str());
      std::printf("\n");
    }
  }
  std::fflush(stdout);
  char host[64] = {};
  fs::detail::copy_file_name(host, file->host());
  fs::clock_snapshot until{};
  if (end != nullptr) until = {0, end->monotonic_ns, end->boottime_ns, end->realtime_ns};
  const bool good =
      write_rows({host, file->head().rank, file->head().pid, until}, chosen, [&](auto& sink) {
        file->replay<fs::scope_record, fs::step_record, fs::attribute_record, fs::operation_record>(
            sink);
      });
  return good ? 0 : 1;
}

int render(const std::string& path, const choices& chosen) {
  if (const int done = render_binary(path, chosen); done >= 0) return done;
  errno = 0;
  auto view = fs::segment_view::open(path.c_str());
  if (!view) {
    const char* why = view.error() == fs::errc::corrupt
                          ? "neither a segment nor a records.bin of this version"
                      : errno != 0 ? std::strerror(errno)
                                   : fs::to_string(view.error());
    std::fprintf(stderr, "fabscope-report: %s: %s\n", path.c_str(), why);
    return 1;
  }
  const bool running = is_running(*view);
  if (chosen.report()) {
    fs::report_extra extra;
    extra.notes.push_back(running ? "the process runs: figures are of this moment"
                                  : "the process is gone: this is what it left");
    std::fputs(fs::render_report(*view, extra).c_str(), stdout);
  }
  if (chosen.records) std::fputs(print_records(*view).c_str(), stdout);
  std::fflush(stdout);
  if (!write_rows(*view, chosen)) {
    std::fprintf(stderr, "fabscope-report: %s: rows could not be written\n", path.c_str());
    return 1;
  }
  if (chosen.remove && !running && ::unlink(path.c_str()) != 0) {
    std::fprintf(stderr, "fabscope-report: %s: %s\n", path.c_str(), std::strerror(errno));
    return 1;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  choices chosen;
  for (int i = 1; i < count; ++i) {
    const std::string_view one(arguments[i]);
    if (one == "--help" || one == "-h") return std::fputs(usage, stdout) < 0;
    if (one == "--records")
      chosen.records = true;
    else if (one == "--csv")
      chosen.csv = true;
    else if (one == "--jsonl")
      chosen.jsonl = true;
    else if (one == "--remove")
      chosen.remove = true;
    else if (one == "-o" && i + 1 < count)
      chosen.directory = arguments[++i];
    else if (one.empty() || one[0] == '-')
      return std::fputs(usage, stderr), 2;
    else
      chosen.files.emplace_back(one);
  }
  if (chosen.files.empty()) return list_segments();
  int status = 0;
  for (const std::string& path : chosen.files) {
    if (chosen.files.size() > 1) std::printf("\n#### %s\n", path.c_str());
    std::fflush(stdout);
    if (render(path, chosen) != 0) status = 1;
  }
  return status;
}
