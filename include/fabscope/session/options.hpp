// SPDX-License-Identifier: Apache-2.0
// What a session does, as a plain struct and from FABSCOPE_ variables. Layer: session.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/core/descriptor.hpp>
#include <fabscope/session/env.hpp>
#include <fabscope/session/rank_list.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// How much is recorded. The numbers stand in the C table: they never change.
enum class level : std::uint32_t {
  off = 0,     ///< nothing: no thread, no file
  count = 1,   ///< sums and flight rings
  record = 2,  ///< and every scope and operation as a record
};

constexpr const char* to_string(level one) noexcept {
  switch (one) {
    case level::off: return "off";
    case level::count: return "count";
    case level::record: return "record";
  }
  return "unknown";
}

/// Renderings made at the end, as bits of options::outputs.
enum output : std::uint32_t {
  output_none = 0,
  output_report = 1,
  output_csv = 2,
  output_jsonl = 4,
  output_bin = 8,
  output_usual = output_report | output_csv | output_jsonl,
  output_all = output_usual | output_bin,
  output_by_level = 1U << 31,  ///< the usual ones when recording, else the report
};

/// Everything a session can be told. What is not set has the value that is written here.
struct FABSCOPE_VISIBLE options {
  level run_level = level::record;
  std::string directory;          ///< of the files; empty: ./fabscope.<job>, ./fabscope.out
  bool report_on_stderr = false;  ///< the text report goes there and not to a file
  std::uint32_t outputs = output_by_level;  ///< `output` bits
  std::uint32_t period_ms = 10;             ///< between two looks of the collector
  std::uint64_t max_mb = 64;  ///< files of this process, in 10^6 bytes; then stop and count
  std::string node_dir;       ///< where segments lie; empty: /dev/shm
  std::uint32_t file_mode = 0644;
  std::uint32_t ring_slots = 0;  ///< of 64 bytes, per thread; 0: 4096 to count, 16384 to record
  clock_choice clock = clock_choice::automatic;
  std::uint64_t ops_min_bytes = 0;  ///< smaller operations are counted but not logged
  std::string ops_ranks;            ///< "0-7,512": only these log operations; empty: all
  std::string ops_nic;              ///< part of a name, or a node id; comes before ops_ranks
  std::uint64_t ops_mb = 1024;      ///< memory of operations that wait to be written, in MiB
  /// Operations are logged where the ranks allow it, at a lower level too: that becomes `record`.
  bool ops_raise_level = false;
  const char* ops_ranks_variable = "FABSCOPE_OPS_RANKS";  ///< that set them, for lines about them
  const char* ops_nic_variable = "FABSCOPE_OPS_NIC";
  std::string timer_directory;   ///< of intercept_timer's files; empty: there are none
  bool timer_on_stderr = false;  ///< intercept_timer's report goes there
  std::string sys_root = "/sys";

  // Those that the compiler would make are visible as the type is, and larger than a few words.
  FABSCOPE_HIDDEN options() = default;
  FABSCOPE_HIDDEN options(const options&) = default;
  FABSCOPE_HIDDEN options(options&&) noexcept = default;
  FABSCOPE_HIDDEN options& operator=(const options&) = default;
  FABSCOPE_HIDDEN options& operator=(options&&) noexcept = default;
  FABSCOPE_HIDDEN ~options() = default;

  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint32_t wanted_ring_slots() const noexcept {
    if (ring_slots != 0) {
      return ring_slots;
    }
    return run_level == level::record ? 16384 : 4096;
  }

  /// `outputs` with output_by_level resolved.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint32_t wanted_outputs() const noexcept {
    if ((outputs & output_by_level) == 0) {
      return outputs;
    }
    return run_level == level::record ? output_usual : output_report;
  }
};

namespace detail {
/// True once the process had no stderr when its session began: what has number 2 later is a file
/// of the program's, and no place for lines.
inline constinit bool stderr_is_closed = false;
}  // namespace detail

/// Where lines for the user go. Each is one sentence that begins with "fabscope:", without a line
/// end.
struct FABSCOPE_VISIBLE diagnostics {
  void (*write)(void* context, const char* line) = nullptr;
  void* context = nullptr;

  FABSCOPE_HIDDEN void say(const std::string& line) const {
    if (write != nullptr) {
      write(context, line.c_str());
    }
  }

  /// To file descriptor 2, each line in one system call, without raising a signal.
  FABSCOPE_HIDDEN static diagnostics on_stderr() noexcept {
    return {[](void*, const char* line) {
              const std::string whole = std::string(line) + "\n";
              if (!detail::stderr_is_closed) {
                write_all(STDERR_FILENO, whole.data(), whole.size());
              }
            },
            nullptr};
  }
};

namespace detail {

/// Sets the option from a text that is not empty; false if the text is not allowed.
using option_setter = bool (*)(options&, std::string_view);

struct option_variable {
  std::string_view name;
  const char* allowed = nullptr;
  option_setter set = nullptr;      ///< null: another part of the library reads it
  const char* beaten_by = nullptr;  ///< of an old tool: not used where this one is set
};

/// Reads a whole number within limits into a member.
template <auto Member, std::uint64_t Least, std::uint64_t Most>
bool set_number(options& to, std::string_view text) {
  const auto value = parse_number(text);
  if (!value || *value < Least || *value > Most) {
    return false;
  }
  using member = std::remove_reference_t<decltype(to.*Member)>;
  to.*Member = static_cast<member>(*value);
  return true;
}

inline bool set_level(options& to, std::string_view text) {
  for (const level one : {level::off, level::count, level::record}) {
    if (trim(text) != to_string(one)) {
      continue;
    }
    to.run_level = one;
    return true;
  }
  return false;
}

inline bool set_directory(options& to, std::string_view text) {
  to.report_on_stderr = text == "-" || text == "stderr";
  to.directory = to.report_on_stderr ? std::string_view{} : text;
  return true;
}

inline bool set_outputs(options& to, std::string_view text) {
  std::uint32_t bits = 0;
  bool none = false;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view one = trim(text.substr(0, comma));
    more = comma != text.npos;
    if (more) {
      text.remove_prefix(comma + 1);
    }
    if (one == "report") {
      bits |= output_report;
    } else if (one == "csv") {
      bits |= output_csv;
    } else if (one == "jsonl") {
      bits |= output_jsonl;
    } else if (one == "bin") {
      bits |= output_bin;
    } else if (one == "all") {
      bits |= output_all;
    } else if (one == "none") {
      none = true;
    } else {
      return false;
    }
  }
  if (none && bits != 0) {
    return false;
  }
  to.outputs = bits;
  return true;
}

template <auto Member>
bool set_existing_directory(options& to, std::string_view text) {
  const std::string path(text);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return false;
  }
  to.*Member = path;
  return true;
}

inline bool set_file_mode(options& to, std::string_view text) {
  const auto mode = parse_number(text, 8);
  if (!mode || *mode > 0777 || (*mode & 0600) != 0600) {
    return false;
  }
  to.file_mode = static_cast<std::uint32_t>(*mode);
  return true;
}

inline bool set_ring_slots(options& to, std::string_view text) {
  const auto slots = parse_number(text);
  if (!slots || *slots < 64 || *slots > 1048576 || (*slots & (*slots - 1)) != 0) {
    return false;
  }
  to.ring_slots = static_cast<std::uint32_t>(*slots);
  return true;
}

inline bool set_clock(options& to, std::string_view text) {
  text = trim(text);
  if (text == "auto") {
    to.clock = clock_choice::automatic;
  } else if (text == "tsc") {
    to.clock = clock_choice::tsc;
  } else if (text == "monotonic") {
    to.clock = clock_choice::monotonic;
  } else {
    return false;
  }
  return true;
}

template <bool Old>
bool set_ranks(options& to, std::string_view text) {
  if (!for_each_rank_range(text, [](std::uint64_t, std::uint64_t) noexcept {})) {
    return false;
  }
  to.ops_ranks = text;
  to.ops_ranks_variable = Old ? "INTERCEPT_TIMER_OPS_RANKS" : "FABSCOPE_OPS_RANKS";
  return true;
}

template <bool Old>
bool set_nic(options& to, std::string_view text) {
  text = trim(text);
  if (text.empty()) {
    return false;
  }
  to.ops_nic = text;
  to.ops_nic_variable = Old ? "INTERCEPT_TIMER_OPS_NIC" : "FABSCOPE_OPS_NIC";
  return true;
}

inline bool set_timer_directory(options& to, std::string_view text) {
  to.timer_on_stderr = text == "-" || text == "stderr";
  to.timer_directory = to.timer_on_stderr ? "." : text;
  return true;
}

inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 63;
inline constexpr std::uint64_t old_min_bytes = 65536;  ///< intercept_timer's default

/// Another part of the library reads the variable; here it is only looked at.
inline bool check_switch(options&, std::string_view text) {
  text = trim(text);
  return text == "0" || text == "1";
}

inline constexpr const char* ranks_allowed = "a list of ranks and ranges, for example 0-7,512";
inline constexpr const char* nic_allowed = "part of the name of a NIC, or a node id";

inline constexpr option_variable option_variables[] = {
    {"FABSCOPE", "off, count, record", set_level},
    {"FABSCOPE_DIR", "a directory, - or stderr", set_directory},
    {"FABSCOPE_OUTPUTS", "a comma-separated list of report, csv, jsonl, bin, all; or none alone",
     set_outputs},
    {"FABSCOPE_PERIOD_MS", "an integer from 1 to 60000", set_number<&options::period_ms, 1, 60000>},
    {"FABSCOPE_MAX_MB", "an integer from 1 to 1048576", set_number<&options::max_mb, 1, 1048576>},
    {"FABSCOPE_NODE_DIR", "an existing directory", set_existing_directory<&options::node_dir>},
    {"FABSCOPE_FILE_MODE", "an octal mode from 600 to 777 by which the owner can read and write",
     set_file_mode},
    {"FABSCOPE_RING_SLOTS", "a power of two from 64 to 1048576", set_ring_slots},
    {"FABSCOPE_CLOCK", "auto, tsc, monotonic", set_clock},
    {"FABSCOPE_OPS_MIN_BYTES", "an integer from 0 to 9223372036854775808",
     set_number<&options::ops_min_bytes, 0, most_bytes>},
    {"FABSCOPE_SYS_ROOT", "an existing directory", set_existing_directory<&options::sys_root>},
    {"FABSCOPE_OPS_RANKS", ranks_allowed, set_ranks<false>},
    {"FABSCOPE_OPS_NIC", nic_allowed, set_nic<false>},
    {"FABSCOPE_OPS_MB", "an integer from 1 to 1048576", set_number<&options::ops_mb, 1, 1048576>},
    {"FABSCOPE_CQ_GAPS", "0 or 1", check_switch},
    {"INTERCEPT_TIMER_DIR", "a directory, - or stderr", set_timer_directory, "FABSCOPE_DIR"},
    {"INTERCEPT_TIMER_OPS_RANKS", ranks_allowed, set_ranks<true>, "FABSCOPE_OPS_RANKS"},
    {"INTERCEPT_TIMER_OPS_NIC", nic_allowed, set_nic<true>, "FABSCOPE_OPS_NIC"},
    {"INTERCEPT_TIMER_OPS_MIN_BYTES", "an integer from 0 to 9223372036854775808",
     set_number<&options::ops_min_bytes, 0, most_bytes>, "FABSCOPE_OPS_MIN_BYTES"},
    {"INTERCEPT_TIMER_OPS_MB", "an integer from 1 to 1048576",
     set_number<&options::ops_mb, 1, 1048576>, "FABSCOPE_OPS_MB"},
    {"INTERCEPT_TIMER_CQGAP", nullptr, nullptr, "FABSCOPE_CQ_GAPS"},
    {"FABSCOPE_RUN_ROOT"},
    {"FABSCOPE_PROM_DIR"},
    {"FABSCOPE_NIC"},
    {"FABSCOPE_NIC_MS"},
    {"FABSCOPE_NIC_DEVICES"},
    {"FABSCOPE_NIC_COUNTERS"},
    {"FABSCOPE_NIC_MAX_MB"},
    {"FABSCOPE_NCCL_CHAIN"},
    {"FABSCOPE_NCCL_EVENTS"},
    {"FABSCOPE_CAPTURE"},
    {"FABSCOPE_STALL_SECONDS"},
    {"FABSCOPE_SIGNAL"},
};

/// Number of letters to change, add or leave out to get from a to b; both are cut at 47 letters.
constexpr std::size_t edits(std::string_view a, std::string_view b) noexcept {
  constexpr std::size_t most = 47;
  a = a.substr(0, most);
  b = b.substr(0, most);
  std::size_t row[most + 1] = {};
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      const std::size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = change < shorter ? change : shorter;
    }
  }
  return row[b.size()];
}

/// What it means that a variable about the log of operations is set.
inline void ask_for_operations(options& to, const environment& env) {
  const auto any = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (env.get_filled(name) != nullptr) {
        return true;
      }
    }
    return false;
  };
  // Only values that were allowed count.
  const auto from_old_tool = [](const std::string& value, std::string_view variable) {
    return !value.empty() && variable.substr(0, 9) == "INTERCEPT";
  };
  const bool old = from_old_tool(to.ops_ranks, to.ops_ranks_variable) ||
                   from_old_tool(to.ops_nic, to.ops_nic_variable);
  const bool asked = !to.ops_ranks.empty() || !to.ops_nic.empty() ||
                     any({"FABSCOPE_OPS_MIN_BYTES", "FABSCOPE_OPS_MB"});
  if (old && !any({"FABSCOPE_OPS_MIN_BYTES", "INTERCEPT_TIMER_OPS_MIN_BYTES"})) {
    to.ops_min_bytes = old_min_bytes;
  }
  const bool csv = any({"FABSCOPE_OUTPUTS"}) && (to.outputs & output_by_level) == 0 &&
                   (to.outputs & output_csv) != 0;
  to.ops_raise_level = to.ops_raise_level || ((old || asked || csv) && !any({"FABSCOPE"}));
}

/// A text as it can stand in one line of a terminal: cut at 64 letters, no control characters.
inline std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 64));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
      c = '?';
    }
  }
  if (text.size() > 64) {
    shown += "...";
  }
  return shown;
}

}  // namespace detail

/// Puts what the variables say over what `to` holds. An empty variable counts as not set.
/// Errors: a value that is not allowed is left aside with one line; a FABSCOPE_ variable that
/// nobody knows gives one line with the nearest known name. Returns the number of lines.
inline int apply_environment(options& to, const environment& env, const diagnostics& user) {
  int lines = 0;
  for (const detail::option_variable& one : detail::option_variables) {
    const char* text = env.get_filled(one.name);
    if (one.set == nullptr || text == nullptr) {
      continue;
    }
    if (one.beaten_by != nullptr && env.get_filled(one.beaten_by) != nullptr) {
      continue;
    }
    if (one.set(to, text)) {
      continue;
    }
    user.say("fabscope: " + std::string(one.name) + ": '" + detail::printable(text) +
             "' is not allowed; allowed: " + one.allowed);
    ++lines;
  }
  detail::ask_for_operations(to, env);
  env.for_each([&](std::string_view name, const char*) {
    constexpr std::string_view prefix = "FABSCOPE_";
    if (name.substr(0, prefix.size()) != prefix) {
      return;
    }
    std::string_view nearest;
    std::size_t least = ~std::size_t{0};
    for (const detail::option_variable& one : detail::option_variables) {
      const std::size_t distance = detail::edits(name, one.name);
      if (distance >= least || one.beaten_by != nullptr) {
        continue;
      }
      least = distance;
      nearest = one.name;
    }
    if (name == nearest) {
      return;
    }
    user.say("fabscope: " + detail::printable(name) +
             ": there is no such variable; the nearest is " + std::string(nearest));
    ++lines;
  });
  return lines;
}

FABSCOPE_NAMESPACE_END
