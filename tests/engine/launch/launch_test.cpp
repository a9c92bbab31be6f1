// What launchers' variables say: rank, number of ranks and meeting place, or one line of refusal.
#include "engine/launch/launch.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/launch/contact.hpp"
#include "engine/launch/host_list.hpp"
#include "sim/error.hpp"

namespace sluice::engine::test {
namespace {

using Values = std::map<std::string, std::string>;

std::optional<Launch> found(const Values& values, const LaunchWords& words = {}) {
  return find_launch(words, [&](const std::string& name) -> std::optional<std::string> {
    const auto value = values.find(name);
    return value == values.end() ? std::nullopt : std::optional(value->second);
  });
}

std::string refusal(const Values& values, const LaunchWords& words = {}) {
  try {
    (void)found(values, words);
  } catch (const BadRequest& refused) {
    return refused.what();
  }
  return "accepted";
}

const Values kPlain{{"SLUICE_RANK", "1"}, {"SLUICE_SIZE", "4"}, {"SLUICE_ADDRESS", "a:7000"}};
const Values kSlurm{{"SLURM_PROCID", "3"},       {"SLURM_STEP_NUM_TASKS", "8"},
                    {"SLURM_NTASKS", "8"},       {"SLURM_STEP_NODELIST", "gpu[03-04]"},
                    {"SLURM_JOB_ID", "100"},     {"SLURM_STEP_ID", "2"},
                    {"SLURMD_NODENAME", "gpu03"}};
const Values kTorchrun{{"TORCHELASTIC_RUN_ID", "x"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                       {"RANK", "2"},
                       {"WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "node0"},
                       {"MASTER_PORT", "29500"}};
const Values kOpenMpi{{"OMPI_COMM_WORLD_RANK", "0"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"PMIX_NAMESPACE", "77"}};

Values with(Values values, const Values& more) {
  for (const auto& [name, value] : more) values[name] = value;
  return values;
}

TEST(Launch, IsNoneWhereNobodyStartedSeveralProcesses) {
  EXPECT_FALSE(found({}));
  EXPECT_FALSE(found({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}))
      << "a batch script itself is one process";
  EXPECT_FALSE(found(with(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}})));
  EXPECT_FALSE(found(kPlain, {.launch = "none"}));
}

TEST(Launch, IsWhatPlainVariablesSay) {
  const auto launch = found(kPlain);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->world, (World{1, 4}));
  EXPECT_EQ(launch->place, MeetingPlace(FirstRankAddress{"a", 7000}));
  const auto kubeflow =
      found({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "m"}, {"MASTER_PORT", "9"}});
  ASSERT_TRUE(kubeflow);
  EXPECT_EQ(kubeflow->place, MeetingPlace(FirstRankAddress{"m", 9}));
}

TEST(Launch, IsTorchrunsWithTheStoreOfItsAgentWhereThereIsOne) {
  EXPECT_EQ(found(kTorchrun)->place, MeetingPlace(AgentStore{"node0", 29500}));
  const auto own = found(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}));
  EXPECT_EQ(own->place, MeetingPlace(FirstRankAddress{"node0", 29500}));
}

TEST(Launch, IsSlurmsAtTheFirstHostOfTheStep) {
  const auto launch = found(kSlurm);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->by, Launcher::slurm);
  EXPECT_EQ(launch->world, (World{3, 8}));
  EXPECT_EQ(launch->host, "gpu03");
  // 15000 + (31 * 100 + 2) % 15000.
  EXPECT_EQ(launch->place, MeetingPlace(FirstRankAddress{"gpu03", 18102}));
}

TEST(Launch, IsOfTheInnermostLauncher) {
  EXPECT_EQ(found(with(kSlurm, kTorchrun))->by, Launcher::torchrun);
  EXPECT_EQ(found(with(kSlurm, kOpenMpi))->by, Launcher::open_mpi);
  EXPECT_EQ(found(with(kSlurm, kTorchrun), {.launch = "slurm"})->by, Launcher::slurm);
  EXPECT_EQ(found(with(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}}))->by, Launcher::slurm);
}

TEST(Launch, OfOpenMpiMeetsInAFolderOfOneHostAndAsksForAPlaceOnSeveral) {
  EXPECT_TRUE(std::holds_alternative<SharedFolder>(found(kOpenMpi)->place));
  const Values several = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  EXPECT_EQ(refusal(several),
            "launch: mpirun does not say on which host the first rank is: pass -x "
            "SLUICE_ADDRESS=HOST:PORT of it, or --rendezvous file:///SHARED/FOLDER");
  EXPECT_EQ(found(several, {.rendezvous = "file:///shared/x"})->place,
            MeetingPlace(SharedFolder{"/shared/x"}));
  EXPECT_EQ(found(with(several, {{"SLUICE_ADDRESS", "b:1"}}))->place,
            MeetingPlace(FirstRankAddress{"b", 1}));
}

TEST(Launch, IsRefusedInALineWhereItContradictsItself) {
  EXPECT_EQ(refusal(with(kTorchrun, kPlain)),
            "launch: SLUICE_RANK says rank 1 of 4 and RANK says rank 2 of 4: unset one of them, or "
            "choose by --launch");
  EXPECT_EQ(refusal(kPlain, {.rendezvous = "tcp://b:2"}),
            "launch: --rendezvous tcp://b:2 and SLUICE_ADDRESS a:7000 name two meeting places: "
            "give one");
  EXPECT_EQ(refusal({{"SLUICE_RANK", "1"}}),
            "launch: SLUICE_RANK is set and SLUICE_SIZE is not: set both, or neither");
  EXPECT_EQ(refusal(with(kPlain, {{"SLUICE_RANK", "4"}})),
            "launch: SLUICE_RANK is 4 and SLUICE_SIZE is 4: ranks count from 0, so give a smaller "
            "rank");
  EXPECT_EQ(refusal(with(kPlain, {{"SLUICE_RANK", "x"}})),
            "launch: SLUICE_RANK is \"x\": set it to a whole number from 0 on");
  EXPECT_EQ(refusal({}, {.launch = "slurm"}),
            "launch: --launch slurm is asked for and its variables are not set: start the program "
            "by it, or leave --launch out");
  EXPECT_EQ(refusal({}, {.launch = "pbs"}),
            "launch: --launch is \"pbs\": write auto, none, variables, torchrun, slurm, mpirun or "
            "hydra");
  EXPECT_EQ(refusal({}, {.rendezvous = "file:///x"}),
            "launch: --rendezvous file:///x is given and no rank: set SLUICE_RANK and SLUICE_SIZE, "
            "or start the program by a launcher");
  EXPECT_EQ(refusal(kPlain, {.rendezvous = "/x"}).find("launch: --rendezvous"), 0U);
}

TEST(HostList, BeginsWithTheFirstNumberOfEachRange) {
  EXPECT_EQ(first_host("login"), "login");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("gpu[03-05,7],login"), "gpu03");
  EXPECT_EQ(first_host("r[1-2]n[09,11]"), "r1n09");
  for (const char* bad : {"", "a[", "a[]"}) EXPECT_THROW((void)first_host(bad), BadRequest) << bad;
}

TEST(Contact, ComesBackFromItsText) {
  const Contact contact{"7-8", 1234, {"10.0.0.1", "127.0.0.1"}};
  EXPECT_EQ(read_contact(contact_text(contact)), contact);
  for (const char* bad : {"", "x", "sluice-contact-1 7"}) EXPECT_FALSE(read_contact(bad)) << bad;
}

}  // namespace
}  // namespace sluice::engine::test
