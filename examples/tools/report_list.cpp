// SPDX-License-Identifier: Apache-2.0
#include "report_list.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fabscope/session/report_table.hpp>
#include <string_view>
#include <vector>

namespace fs = fabscope;
using fs::detail::entry_text;
using fs::detail::word;

namespace {

std::string read_text(const std::string& path) {
  std::string out;
  if (std::FILE* file = std::fopen(path.c_str(), "re")) {
    char text[1024];
    out.assign(text, std::fread(text, 1, sizeof text, file));
    std::fclose(file);
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

/// Field 22 of /proc/<pid>/stat; 0 if there is no such process.
std::uint64_t start_of(std::int32_t pid) {
  const std::string text = read_text("/proc/" + std::to_string(pid) + "/stat");
  std::size_t at = text.rfind(')');  // the name before it may contain blanks
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

}  // namespace

bool is_running(const fs::segment_view& view) {
  const auto& head = view.head();
  const std::string boot = read_text("/proc/sys/kernel/random/boot_id");
  return head.pid > 0 && head.process_start != 0 && entry_text(head.boot_id) == boot &&
         start_of(head.pid) == head.process_start;
}

int list_segments() {
  const char* chosen = std::getenv("FABSCOPE_NODE_DIR");
  const std::string where = chosen != nullptr && *chosen != '\0' ? chosen : "/dev/shm";
  DIR* directory = ::opendir(where.c_str());
  if (directory == nullptr) {
    std::fprintf(stderr, "fabscope-report: %s: %s\n", where.c_str(), std::strerror(errno));
    return 1;
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name(entry->d_name);
    if (name.rfind("fabscope.", 0) == 0 && name.find(".seg") != name.npos) names.emplace_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());

  fs::detail::report_table table({"pid", "<process", "<command", "<segment"});
  for (const std::string& name : names) {
    const std::string path = where + "/" + name;
    const auto view = fs::segment_view::open(path.c_str());
    if (!view) continue;
    table.add({std::to_string(view->head().pid), is_running(*view) ? "runs" : "gone",
               word(entry_text(view->head().command)), word(path)});
  }
  if (table.empty()) {
    std::printf("no segments in %s\n", where.c_str());
    return 0;
  }
  std::string text;
  table.print(text);
  std::printf("%s\nfabscope-report SEGMENT renders one; fabscope-report --help says what else.\n",
              text.c_str());
  return 0;
}
