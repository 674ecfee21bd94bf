// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <fabscope/session/identity.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

struct reading {
  fabscope::identity who;
  std::string warning;
};

reading read(std::initializer_list<const char*> variables) {
  std::vector<const char*> entries(variables);
  entries.push_back(nullptr);
  reading result;
  result.who = fabscope::read_identity(fabscope::environment(entries.data()), &result.warning);
  return result;
}

void check(const reading& got, const char* launcher, int rank, int local_rank, int size,
           int local_size, const char* job) {
  CHECK(std::string(got.who.launcher) == launcher);
  CHECK(got.who.rank == rank);
  CHECK(got.who.local_rank == local_rank);
  CHECK(got.who.size == size);
  CHECK(got.who.local_size == local_size);
  CHECK(std::string(got.who.job) == job);
  CHECK(got.warning == "");
}

}  // namespace

TEST_CASE("session.identity: nobody started it") {
  const reading got = read({});
  check(got, "", -1, -1, -1, -1, "");
  CHECK(got.who.pid == ::getpid());
  CHECK(std::string(got.who.host) != "");
  CHECK(std::string(got.who.host).find_first_of("./ ") == std::string::npos);
}

TEST_CASE("session.identity: each launcher's own variables") {
  check(read({"RANK=5", "LOCAL_RANK=1", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4",
              "TORCHELASTIC_RUN_ID=run7"}),
        "torchrun", 5, 1, 8, 4, "run7");
  check(read({"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
              "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_MCA_ess_base_jobid=4021420033"}),
        "openmpi", 3, 1, 4, 2, "4021420033");
  check(read({"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_NODE_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
              "PMIX_NAMESPACE=prterun-n1-77@1"}),
        "openmpi", 3, 1, 4, -1, "prterun-n1-77_1");
  check(read({"PMI_RANK=6", "MPI_LOCALRANKID=2", "PMI_SIZE=8", "MPI_LOCALNRANKS=4", "PMI_JOBID=j"}),
        "hydra", 6, 2, 8, 4, "j");
  check(read({"MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_LOCAL_RANK=0", "MV2_COMM_WORLD_SIZE=2",
              "MV2_COMM_WORLD_LOCAL_SIZE=1"}),
        "mvapich", 1, 0, 2, 1, "");
  check(read({"MVP_COMM_WORLD_RANK=1", "MVP_COMM_WORLD_LOCAL_RANK=0", "MVP_COMM_WORLD_SIZE=2",
              "MVP_COMM_WORLD_LOCAL_SIZE=1"}),
        "mvapich", 1, 0, 2, 1, "");
  check(read({"PALS_RANKID=9", "PALS_LOCAL_RANKID=1", "PMI_SIZE=16", "PALS_LOCAL_SIZE=8",
              "PALS_APID=a-1"}),
        "pals", 9, 1, 16, 8, "a-1");
  check(read({"MPT_RANK=2", "MPT_LRANK=0"}), "mpt", 2, 0, -1, -1, "");
  check(read({"FLUX_TASK_RANK=7", "FLUX_TASK_LOCAL_ID=3", "FLUX_JOB_SIZE=8", "FLUX_JOB_NNODES=2",
              "FLUX_JOB_ID=ABC"}),
        "flux", 7, 3, 8, 4, "ABC");
  check(read({"JSM_NAMESPACE_RANK=4", "JSM_NAMESPACE_LOCAL_RANK=0", "JSM_NAMESPACE_SIZE=6",
              "JSM_NAMESPACE_LOCAL_SIZE=2", "LSB_JOBID=33"}),
        "jsm", 4, 0, 6, 2, "33");
  check(read({"PMIX_RANK=2", "PMIX_NAMESPACE=ns"}), "pmix", 2, -1, -1, -1, "ns");
  check(read({"SLURM_PROCID=5", "SLURM_LOCALID=1", "SLURM_NTASKS=8", "SLURM_NODEID=1",
              "SLURM_TASKS_PER_NODE=4(x2)", "SLURM_JOB_ID=123", "SLURM_STEP_ID=0"}),
        "slurm", 5, 1, 8, 4, "123.0");
}

TEST_CASE("session.identity: the innermost launcher wins") {
  // torchrun in an mpirun in a Slurm step.
  check(read({"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_STEP_ID=0", "SLURM_NTASKS=1",
              "SLURM_JOB_ID=9", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_LOCAL_RANK=0",
              "OMPI_COMM_WORLD_SIZE=2", "RANK=3", "LOCAL_RANK=3", "WORLD_SIZE=4"}),
        "torchrun", 3, 3, 4, -1, "9");
  check(read({"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_STEP_ID=0", "SLURM_NTASKS=1",
              "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}),
        "openmpi", 1, 1, 2, -1, "");
}

TEST_CASE("session.identity: PALS wins over Hydra's names, which it sets too") {
  check(read({"PMI_RANK=6", "MPI_LOCALRANKID=2", "PMI_SIZE=8", "MPI_LOCALNRANKS=4",
              "PMI_LOCAL_RANK=1", "PMI_LOCAL_SIZE=3", "PALS_APID=x"}),
        "pals", 6, 1, 8, 3, "x");
  // A PBS allocation alone is no PALS.
  check(read({"PMI_RANK=6", "MPI_LOCALRANKID=2", "PMI_SIZE=8", "PBS_JOBID=77.srv"}), "hydra", 6, 2,
        8, -1, "77.srv");
}

TEST_CASE("session.identity: an incomplete launcher is passed over") {
  check(read({"RANK=5", "WORLD_SIZE=8"}), "", -1, -1, -1, -1, "");  // somebody's own RANK
  // srun with PMI2 sets Hydra's rank and size.
  check(read({"PMI_RANK=1", "PMI_SIZE=2", "SLURM_PROCID=1", "SLURM_LOCALID=0", "SLURM_NTASKS=2",
              "SLURM_JOB_ID=5", "SLURM_STEP_ID=3"}),
        "slurm", 1, 0, 2, -1, "5.3");
  // srun with PMIx.
  check(read({"PMIX_RANK=1", "PMIX_NAMESPACE=slurm.pmix.5.3", "SLURM_PROCID=1", "SLURM_LOCALID=0",
              "SLURM_NTASKS=2", "SLURM_JOB_ID=5", "SLURM_STEP_ID=3"}),
        "slurm", 1, 0, 2, -1, "5.3");
  check(read({"RANK=", "LOCAL_RANK=1", "WORLD_SIZE=8", "PMIX_RANK=4"}), "pmix", 4, -1, -1, -1, "");
}

TEST_CASE("session.identity: a shell in a Slurm allocation is no rank, but it has a job") {
  check(read({"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=64", "SLURM_JOB_ID=123"}), "", -1,
        -1, -1, -1, "123");
  check(read({"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=64", "SLURM_JOB_ID=123",
              "SLURM_STEP_ID=4294967290"}),
        "", -1, -1, -1, -1, "123");
}

TEST_CASE("session.identity: Slurm's tasks per node") {
  const auto local_size = [](const char* list, const char* node) {
    return read({"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_STEP_ID=0", list, node})
        .who.local_size;
  };
  CHECK(local_size("SLURM_TASKS_PER_NODE=4(x3),2", "SLURM_NODEID=2") == 4);
  CHECK(local_size("SLURM_TASKS_PER_NODE=4(x3),2", "SLURM_NODEID=3") == 2);
  CHECK(local_size("SLURM_TASKS_PER_NODE=4(x3),2", "SLURM_NODEID=4") == -1);
  CHECK(local_size("SLURM_TASKS_PER_NODE=1,2(x2),7", "SLURM_NODEID=3") == 7);
  CHECK(local_size("SLURM_TASKS_PER_NODE=4(x", "SLURM_NODEID=0") == -1);
  CHECK(local_size("SLURM_TASKS_PER_NODE=4(x)", "SLURM_NODEID=0") == -1);
  CHECK(local_size("SLURM_TASKS_PER_NODE=,", "SLURM_NODEID=0") == -1);
  CHECK(local_size("SLURM_TASKS_PER_NODE=4", "SLURM_NODEID=x") == -1);
}

TEST_CASE("session.identity: a value that makes no sense takes its launcher out, with a warning") {
  const auto fallen = [](std::initializer_list<const char*> torch) {
    std::vector<const char*> entries(torch);
    for (const char* more : {"PMIX_RANK=4", static_cast<const char*>(nullptr)}) {
      entries.push_back(more);
    }
    reading got;
    got.who = fabscope::read_identity(fabscope::environment(entries.data()), &got.warning);
    CHECK(std::string(got.who.launcher) == "pmix");
    CHECK(got.who.rank == 4);
    CHECK(got.who.local_rank == -1);  // nothing is left of the other's
    return got.warning;
  };
  CHECK(fallen({"RANK=5x", "LOCAL_RANK=1", "WORLD_SIZE=8"}) ==
        "RANK: '5x' makes no sense; the variables of torchrun are not used");
  CHECK(fallen({"RANK=-1", "LOCAL_RANK=1", "WORLD_SIZE=8"}).find("RANK: '-1'") == 0);
  CHECK(fallen({"RANK=5", "LOCAL_RANK=9999999999", "WORLD_SIZE=8"})
            .find("LOCAL_RANK: '9999999999'") == 0);
  CHECK(fallen({"RANK=8", "LOCAL_RANK=1", "WORLD_SIZE=8"}).find("RANK: '8'") == 0);
  CHECK(fallen({"RANK=5", "LOCAL_RANK=4", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4"})
            .find("LOCAL_RANK: '4'") == 0);
  CHECK(fallen({"RANK=\x1b[31m", "LOCAL_RANK=4", "WORLD_SIZE=8"}).find('\x1b') ==
        std::string::npos);
}

TEST_CASE("session.identity: a job's name is fit for a file's") {
  const std::string endless(200, 'j');
  const std::string run = "TORCHELASTIC_RUN_ID=" + endless;
  CHECK(std::string(read({"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=1", run.c_str()}).who.job) ==
        endless.substr(0, 63));
  CHECK(std::string(read({"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=../a b/c"})
                        .who.job) == "_._a_b_c");
  CHECK(std::string(
            read({"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=none"}).who.job) ==
        "");
}
