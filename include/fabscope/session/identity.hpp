// SPDX-License-Identifier: Apache-2.0
// Who this process is among its job's: rank, local rank, sizes, job, host. Layer: session.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fabscope/session/env.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A number that the environment does not tell is -1, a text empty. Texts are fit for file names.
struct FABSCOPE_VISIBLE identity {
  int rank = -1;
  int local_rank = -1;
  int size = -1;
  int local_size = -1;
  int pid = 0;
  char job[64] = {};
  char host[64] = {};      ///< up to the first dot
  char launcher[16] = {};  ///< whose variables were used; empty if nobody's
};

namespace detail {

/// Copies what may stand in a file name ([A-Za-z0-9_.-], no dot first) and '_' for the rest.
template <std::size_t N>
void copy_file_name(char (&to)[N], std::string_view from) noexcept {
  std::size_t size = 0;
  for (const char c : from) {
    if (size + 1 == N) {
      break;
    }
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || (c == '.' && size > 0);
    to[size++] = plain ? c : '_';
  }
  to[size] = '\0';
}

/// Up to two names for one fact; the first that is set counts.
struct variable {
  const char* name = nullptr;
  const char* other = nullptr;
};

struct launcher {
  const char* name;
  variable rank;
  variable local_rank;
  variable size;
  variable local_size;
  variable job;
  const char* marks[4] = {};  ///< one of them must be set
  bool needs_local_rank = true;
  bool needs_size = true;
};

// Innermost first: what runs inside an allocation or another launcher inherits the outer one's
// variables, so Slurm comes last. PALS sets Hydra's names too, so it comes before.
inline constexpr launcher launchers[] = {
    {"torchrun",
     {"RANK"},
     {"LOCAL_RANK"},
     {"WORLD_SIZE"},
     {"LOCAL_WORLD_SIZE"},
     {"TORCHELASTIC_RUN_ID"}},
    {"openmpi",
     {"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}},
    {"pals",
     {"PALS_RANKID", "PMI_RANK"},
     {"PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"},
     {"PALS_SIZE", "PMI_SIZE"},
     {"PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE"},
     {"PALS_APID", "PBS_JOBID"},
     {"PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_APID"},
     true,
     false},
    {"hydra", {"PMI_RANK"}, {"MPI_LOCALRANKID"}, {"PMI_SIZE"}, {"MPI_LOCALNRANKS"}, {"PMI_JOBID"}},
    {"mvapich",
     {"MV2_COMM_WORLD_RANK", "MVP_COMM_WORLD_RANK"},
     {"MV2_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK"},
     {"MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE"},
     {"MV2_COMM_WORLD_LOCAL_SIZE", "MVP_COMM_WORLD_LOCAL_SIZE"},
     {}},
    {"mpt", {"MPT_RANK"}, {"MPT_LRANK"}, {}, {}, {}, {}, true, false},
    {"flux", {"FLUX_TASK_RANK"}, {"FLUX_TASK_LOCAL_ID"}, {"FLUX_JOB_SIZE"}, {}, {"FLUX_JOB_ID"}},
    {"jsm",
     {"JSM_NAMESPACE_RANK"},
     {"JSM_NAMESPACE_LOCAL_RANK"},
     {"JSM_NAMESPACE_SIZE"},
     {"JSM_NAMESPACE_LOCAL_SIZE"},
     {"LSB_JOBID"}},
    {"pmix", {"PMIX_RANK"}, {}, {}, {}, {"PMIX_NAMESPACE"}, {}, false, false},
    {"slurm",
     {"SLURM_PROCID"},
     {"SLURM_LOCALID"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     {},
     {"SLURM_JOB_ID"},
     {"SLURM_STEP_ID"},
     true,
     false},
};

class identity_reader {
 public:
  explicit identity_reader(const environment& env) noexcept : env_(env) {}

  /// Takes a launcher's word if it is complete and makes sense.
  bool take(const launcher& from, identity& to) {
    if (!marked(from) || !about_this_process(from)) {
      return false;
    }
    if (!is_set(from.rank) || (from.needs_local_rank && !is_set(from.local_rank)) ||
        (from.needs_size && !is_set(from.size))) {
      return false;
    }
    sound_ = true;
    identity found = to;
    found.rank = number(from, from.rank);
    found.local_rank = number(from, from.local_rank);
    found.size = number(from, from.size);
    found.local_size = number(from, from.local_size);
    if (from.local_size.name == nullptr) {
      found.local_size = local_size(from, found.size);
    }
    below(from, from.rank, found.rank, from.size, found.size);
    below(from, from.local_rank, found.local_rank, from.local_size, found.local_size);
    if (!sound_) {
      return false;
    }
    copy_file_name(found.launcher, from.name);
    const std::string name = job(from);
    copy_file_name(found.job, name);
    to = found;
    return true;
  }

  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }

  /// The job's name where no launcher gives one: the batch system's.
  [[nodiscard]] std::string batch_job() const {
    for (const char* name :
         {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID"}) {
      if (const char* value = env_.get_filled(name)) {
        return value;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] bool is(const launcher& one, std::string_view name) const {
    return one.name == name;
  }

  [[nodiscard]] const char* name_of(const variable& one) const noexcept {
    if (one.name != nullptr && env_.get_filled(one.name) != nullptr) {
      return one.name;
    }
    if (one.other != nullptr && env_.get_filled(one.other) != nullptr) {
      return one.other;
    }
    return nullptr;
  }
  [[nodiscard]] bool is_set(const variable& one) const noexcept { return name_of(one) != nullptr; }

  [[nodiscard]] bool marked(const launcher& one) const noexcept {
    if (one.marks[0] == nullptr) {
      return true;
    }
    for (const char* mark : one.marks) {
      if (mark != nullptr && env_.get_filled(mark) != nullptr) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool about_this_process(const launcher& one) const {
    if (is(one, "pmix")) {
      // Slurm's own PMIx server says less than Slurm's variables do.
      const char* space = env_.get_filled("PMIX_NAMESPACE");
      const bool by_slurm = space != nullptr && std::strncmp(space, "slurm.", 6) == 0;
      return !by_slurm || env_.get_filled("SLURM_PROCID") == nullptr ||
             env_.get_filled("SLURM_LOCALID") == nullptr;
    }
    if (is(one, "slurm")) {
      // The highest numbers are no steps of tasks: the batch script, the shell of salloc.
      const auto step = parse_number(env_.get_filled("SLURM_STEP_ID"), 10);
      return !step || *step < 0xfffffff0U;
    }
    return true;
  }

  void complain(const launcher& from, const char* name) {
    sound_ = false;
    if (!warning_.empty()) {
      return;
    }
    warning_ = std::string(name) + ": '" + std::string(env_.get(name)).substr(0, 40) +
               "' makes no sense; the variables of " + from.name + " are not used";
    for (char& c : warning_) {
      c = c < ' ' || c == '\x7f' ? '?' : c;
    }
  }

  int number(const launcher& from, const variable& one) {
    const char* name = name_of(one);
    if (name == nullptr) {
      return -1;
    }
    const auto value = parse_number(env_.get(name), 10);
    if (value && *value <= 0x7fffffffU) {
      return static_cast<int>(*value);
    }
    complain(from, name);
    return -1;
  }

  void below(const launcher& from, const variable& number, int a, const variable& limit, int b) {
    if (b < 0 || a < b || limit.name == nullptr) {
      return;
    }
    complain(from, name_of(number));
  }

  /// For launchers that tell it in a way of their own; -1 if this does not work out.
  [[nodiscard]] int local_size(const launcher& from, int size) const {
    if (is(from, "flux")) {
      const char* text = env_.get_filled("FLUX_JOB_NNODES");
      const auto nodes = parse_number(text == nullptr ? "" : text, 10);
      if (!nodes || *nodes == 0 || size < 0 || static_cast<unsigned>(size) % *nodes != 0) {
        return -1;
      }
      return static_cast<int>(static_cast<unsigned>(size) / *nodes);
    }
    if (is(from, "slurm")) {
      const char* node = env_.get_filled("SLURM_NODEID");
      const char* list = env_.get_filled("SLURM_STEP_TASKS_PER_NODE");
      if (list == nullptr) {
        list = env_.get_filled("SLURM_TASKS_PER_NODE");
      }
      const auto index = parse_number(node == nullptr ? "" : node, 10);
      return index && list != nullptr ? tasks_of_node(list, *index) : -1;
    }
    return -1;
  }

  /// Slurm writes "4(x3),2": four tasks on each of three nodes, two on the fourth.
  static int tasks_of_node(std::string_view list, std::uint64_t node) noexcept {
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      std::string_view one = list.substr(0, comma);
      list = comma == list.npos ? std::string_view{} : list.substr(comma + 1);
      std::uint64_t nodes = 1;
      const std::size_t times = one.find("(x");
      if (times != one.npos) {
        if (one.back() != ')') {
          return -1;
        }
        const auto many = parse_number(one.substr(times + 2, one.size() - times - 3), 10);
        if (!many) {
          return -1;
        }
        nodes = *many;
        one = one.substr(0, times);
      }
      const auto tasks = parse_number(one, 10);
      if (!tasks || *tasks > 0x7fffffffU) {
        return -1;
      }
      if (node < nodes) {
        return static_cast<int>(*tasks);
      }
      node -= nodes;
    }
    return -1;
  }

  [[nodiscard]] std::string job(const launcher& from) const {
    const char* name = name_of(from.job);
    if (name == nullptr) {
      return batch_job();
    }
    std::string value = env_.get(name);
    if (is(from, "torchrun") && value == "none") {
      return batch_job();
    }  // torchrun's default
    if (is(from, "slurm")) {
      value += std::string(".") + env_.get_filled("SLURM_STEP_ID");
    }
    return value;
  }

  const environment& env_;
  std::string warning_;
  bool sound_ = true;
};

}  // namespace detail

/// Reads the variables of the first launcher that set all it should: torchrun, Open MPI, PALS,
/// Hydra, MVAPICH, MPT, Flux, JSM, PMIx, Slurm. One with a value that makes no sense is skipped,
/// and the first such value is put into `warning` as a sentence without "fabscope:". Threads: none
/// may change the environment meanwhile. Source: the documentation of the launchers.
inline identity read_identity(const environment& env, std::string* warning = nullptr) {
  identity who;
  who.pid = static_cast<int>(::getpid());
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') {
    std::strcpy(host, "unknown");
  }
  const std::string_view whole = host;
  detail::copy_file_name(who.host, whole.substr(0, whole.find('.')));
  detail::identity_reader reader(env);
  bool known = false;
  for (const detail::launcher& one : detail::launchers) {
    known = known || reader.take(one, who);
  }
  if (!known) {
    detail::copy_file_name(who.job, reader.batch_job());
  }
  if (warning != nullptr) {
    *warning = reader.warning();
  }
  return who;
}

FABSCOPE_NAMESPACE_END
