// State, gradients and weights on the disk: the same bits as in memory, and damage that is noticed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <set>

#include "engine/disk/disk_store.hpp"
#include "engine/state_snapshot.hpp"
#include "sim/error.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/planner/disk_jobs.hpp"

namespace sluice::engine {
namespace {

using planner::Tier;

constexpr std::int64_t kDiskSteps = 3;
constexpr std::int64_t kManySteps = 12;

/// The state of units from `first` on is on the disk, and where `gradients` wait there or `weights`
/// live there, too, those.
planner::Plan disk_plan(const planner::Job& job, std::size_t first, Tier gradients = Tier::host,
                        std::int64_t rounds = 2, Tier weights = Tier::host) {
  planner::Plan plan = planner::uniform_plan(job, {}, rounds);
  for (std::size_t unit = first; unit < plan.units.size(); ++unit) {
    plan.units[unit].state = Tier::disk;
    plan.units[unit].gradients = gradients;
    plan.units[unit].weights = weights;
  }
  plan.disk_buffer = planner::kDiskBlock;
  return plan;
}

/// Units of several pieces.
planner::Job pieced_job() {
  planner::Job job = test::small_jobs()[2].job;
  job.model.layers = 2;
  job.model.hidden = 256;
  job.model.intermediate = 512;
  job.model.head_dim = 64;
  return job;
}

/// The file that `session` keeps, for whoever would damage it.
class Tampered {
 public:
  explicit Tampered(const Session& session)
      : descriptor_(open(("/proc/self/fd/" + std::to_string(session.disk()->descriptor())).c_str(),
                         O_RDWR | O_CLOEXEC)) {}
  ~Tampered() { close(descriptor_); }
  Tampered(const Tampered&) = delete;
  Tampered& operator=(const Tampered&) = delete;

  void flip_bit(off_t at) const {
    std::array<unsigned char, 1> byte{};
    ASSERT_EQ(pread(descriptor_, byte.data(), 1, at), 1);
    byte[0] ^= 4U;
    ASSERT_EQ(pwrite(descriptor_, byte.data(), 1, at), 1);
    ASSERT_EQ(fsync(descriptor_), 0);
  }
  void cut_to(off_t bytes) const { ASSERT_EQ(ftruncate(descriptor_, bytes), 0); }

 private:
  int descriptor_;
};

std::string failure_of(Session& session, std::int64_t step) {
  try {
    session.run_to(step);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

class DiskState : public testing::TestWithParam<DiskIo> {
 protected:
  void SetUp() override {
    if (GetParam() == DiskIo::best && !has_io_uring()) {
      GTEST_SKIP() << "this build or system has no io_uring";
    }
  }
  [[nodiscard]] DiskPlace place() const { return {.folder = folder_.path(), .io = GetParam()}; }
  test::ScratchFolder folder_;
};

TEST_P(DiskState, AnyShareGivesTheBitsOfNone) {
  for (const auto& [name, job] : test::small_jobs()) {
    const std::size_t units = planner::unit_count(job.model);
    const auto none = test::run_plan(job, disk_plan(job, units), kDiskSteps);
    for (const std::size_t first : {units / 2, std::size_t{0}}) {
      EXPECT_EQ(test::run_plan(job, disk_plan(job, first), kDiskSteps, place()), none)
          << name << ", from unit " << first;
    }
    // A tied head's gradient waits where the embedding's does.
    for (const std::size_t first : {job.model.tied_head ? 0 : units / 2, std::size_t{0}}) {
      for (const std::int64_t rounds : {std::int64_t{1}, std::int64_t{2}, job.micro_batches()}) {
        const planner::Plan plan = disk_plan(job, first, Tier::disk, rounds);
        EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
            << name << ", gradients from unit " << first << " in " << rounds << " rounds";
      }
    }
    for (const std::size_t first : {units - 1, units / 2, std::size_t{0}}) {
      for (const std::int64_t rounds : {std::int64_t{1}, job.micro_batches()}) {
        const planner::Plan plan = disk_plan(job, first, Tier::host, rounds, Tier::disk);
        EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
            << name << ", weights from unit " << first << " in " << rounds << " rounds";
      }
    }
    const planner::Plan all = disk_plan(job, 0, Tier::disk, 2, Tier::disk);
    EXPECT_EQ(test::run_plan(job, all, kDiskSteps, place()), none) << name << ", everything";
  }
}

TEST_P(DiskState, AnyPlanWithAnyOfItsTensorsThereGivesTheSameBits) {
  constexpr std::uint64_t kPlans = 6;
  std::set<Tier> weights, gradients, state;
  for (const auto& [name, job] : test::small_jobs()) {
    const auto none = test::run_plan(job, disk_plan(job, planner::unit_count(job.model)), 2);
    for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
      const std::uint64_t units = seed == 0 ? ~0ull : (seed + 1) * 0x9E3779B97F4A7C15u;
      const planner::Plan plan = planner::test::random_disk_plan(job, seed, units);
      for (const planner::UnitPlan& unit : plan.units) {
        weights.insert(unit.weights);
        gradients.insert(unit.gradients);
        state.insert(unit.state);
      }
      EXPECT_EQ(test::run_plan(job, plan, 2, place()), none)
          << name << ", seed " << seed << ": " << test::describe(plan);
    }
  }
  for (const auto* tiers : {&weights, &gradients, &state}) EXPECT_EQ(tiers->size(), 3U);
}

TEST_P(DiskState, PiecesAndBuffersChangeNoBit) {
  const planner::Job job = pieced_job();
  const auto none = test::run_plan(job, disk_plan(job, planner::unit_count(job.model)), kDiskSteps);
  for (const std::int64_t buffers : {1, 2, 5}) {
    planner::Plan plan = disk_plan(job, 0);
    plan.disk_buffers = buffers;
    EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none) << buffers << " buffers";
    plan = disk_plan(job, 0, Tier::disk);
    plan.disk_buffers = buffers;
    EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
        << buffers << " buffers, gradients there";
    plan = disk_plan(job, 0, Tier::disk, 2, Tier::disk);
    plan.disk_buffers = buffers;
    plan.copy_chunk = Bytes(100'000);  // Does not divide a piece.
    EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
        << buffers << " buffers, weights there";
  }
}

TEST_P(DiskState, ARunGoesOnUnderAnotherShare) {
  const planner::Job job = pieced_job();
  const std::size_t units = planner::unit_count(job.model);
  test::RunTokens tokens(job);
  const auto plan_of = [&](std::size_t first) {
    return disk_plan(job, first, Tier::disk, 2, Tier::disk);
  };
  const auto session_of = [&](std::size_t first, const planner::StepGraph& graph) {
    return test::make_session(job, graph, plan_of(first), tokens, nullptr, place());
  };
  const planner::StepGraph on_disk = test::graph_of(job, plan_of(0));
  const planner::StepGraph in_memory = test::graph_of(job, plan_of(units));
  const auto whole = session_of(units, in_memory);
  whole->run_to(4);
  const auto disk = session_of(0, on_disk);
  disk->run_to(2);
  StateSnapshot snapshot(job.model, disk->state());
  snapshot.take(disk->state());
  const auto memory = session_of(units, in_memory);
  const LoadedState from{.source = snapshot, .moments = LoadedState::Moments::loaded};
  memory->state().load(from);
  memory->continue_after(2);
  memory->run_to(3);
  const auto back = session_of(0, on_disk);
  back->state().load({.source = memory->state(), .moments = LoadedState::Moments::loaded});
  back->continue_after(3);
  back->run_to(4);
  EXPECT_EQ(back->state().weights_sha256(), whole->state().weights_sha256());
  EXPECT_EQ(back->state().state_sha256(), whole->state().state_sha256());
}

TEST_P(DiskState, AFlippedBitEndsTheRunNamingUnitAndBlock) {
  const planner::Job job = pieced_job();
  test::RunTokens tokens(job);
  const planner::Plan plan = disk_plan(job, 1);
  const planner::StepGraph graph = test::graph_of(job, plan);
  const auto session = test::make_session(job, graph, plan, tokens, nullptr, place());
  session->run_to(2);
  const Tampered file(*session);
  // The second block of the first unit that is there.
  file.flip_bit(planner::kDiskBlock.count() + 12345);
  const std::string said = failure_of(*session, 4);
  EXPECT_NE(said.find("L0, block 1: comes back otherwise than step 2 wrote it"), said.npos) << said;
  EXPECT_EQ(said.find('\n'), said.npos);
}

TEST_P(DiskState, AFlippedBitOfWeightsIsNoticedBeforeAPassComputesWithThem) {
  planner::Job job = pieced_job();
  for (const planner::ComputeType compute :
       {planner::ComputeType::bf16, planner::ComputeType::fp32}) {
    job.compute = compute;
    test::RunTokens tokens(job);
    const planner::Plan plan = disk_plan(job, 0, Tier::host, 2, Tier::disk);
    const planner::StepGraph graph = test::graph_of(job, plan);
    const auto session = test::make_session(job, graph, plan, tokens, nullptr, place());
    session->run_to(2);
    for (const planner::Placement& placement : graph.layout.placements) {
      const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
      if (tensor.name != "weights.disk/L1") continue;
      Tampered(*session).flip_bit(placement.offset.count() + planner::kDiskBlock.count() + 7);
    }
    const std::string said = failure_of(*session, 4);
    EXPECT_NE(said.find("weights of L1, block 1: comes back otherwise than step 2 wrote it"),
              said.npos)
        << said;
    EXPECT_THROW((void)session->state().weights_sha256(), EnvironmentError);
  }
}

TEST_P(DiskState, AFileCutShortEndsTheRun) {
  const planner::Job job = pieced_job();
  test::RunTokens tokens(job);
  const planner::Plan plan = disk_plan(job, 0);
  const planner::StepGraph graph = test::graph_of(job, plan);
  const auto session = test::make_session(job, graph, plan, tokens, nullptr, place());
  session->run_to(1);
  Tampered(*session).cut_to(0);
  const std::string said = failure_of(*session, 2);
  EXPECT_NE(said.find("cannot be read: the file ends before it"), said.npos) << said;
}

/// While it lives, no file of the process may be written to behind `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(Bytes bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(bytes.count());
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_P(DiskState, WhatTheDiskDoesNotTakeIsKeptUntilTheStepIsWhole) {
  const planner::Job job = pieced_job();
  const std::size_t units = planner::unit_count(job.model);
  test::RunTokens tokens(job);
  for (const Tier gradients : {Tier::host, Tier::disk}) {
    const planner::Plan plan = disk_plan(job, 0, gradients, 2, gradients);
    const planner::StepGraph graph = test::graph_of(job, plan);
    const auto session = test::make_session(job, graph, plan, tokens, nullptr, place());
    session->run_to(1);
    EXPECT_EQ(session->disk_failure(), std::nullopt);
    {
      const std::int64_t blocks = graph.layout.disk_bytes.count() / planner::kDiskBlock.count();
      const FileSizeLimit limit(planner::kDiskBlock * (blocks / 2));
      session->run_to(kManySteps, [&](std::int64_t, const StepResult&) {
        if (session->disk_failure()) session->request_stop();
      });
    }
    const std::optional<std::string> why = session->disk_failure();
    ASSERT_TRUE(why.has_value());
    EXPECT_NE(why->find("cannot be written: File too large"), why->npos) << *why;
    EXPECT_LT(session->steps_done(), kManySteps);
    const planner::Plan in_memory = disk_plan(job, units);
    const planner::StepGraph other = test::graph_of(job, in_memory);
    const auto whole = test::make_session(job, other, in_memory, tokens);
    whole->run_to(session->steps_done());
    EXPECT_EQ(session->state().weights_sha256(), whole->state().weights_sha256());
    EXPECT_EQ(session->state().state_sha256(), whole->state().state_sha256());
  }
}

TEST_P(DiskState, DamageIsNoticedWhenAStateIsSaved) {
  const planner::Job job = pieced_job();
  test::RunTokens tokens(job);
  const planner::Plan plan = disk_plan(job, 0);
  const planner::StepGraph graph = test::graph_of(job, plan);
  const auto session = test::make_session(job, graph, plan, tokens, nullptr, place());
  session->run_to(1);
  Tampered(*session).flip_bit(777);
  StateSnapshot snapshot(job.model, session->state());
  EXPECT_THROW(snapshot.take(session->state()), EnvironmentError);
}

INSTANTIATE_TEST_SUITE_P(Io, DiskState, testing::Values(DiskIo::best, DiskIo::threads),
                         [](const auto& each) {
                           return each.param == DiskIo::best ? "ring" : "threads";
                         });

TEST(DiskStore, AFullDiskIsRefusedBeforeTheFirstStepAndLeavesNothing) {
  const planner::Job job = pieced_job();
  const planner::Plan plan = disk_plan(job, 0);
  planner::StepGraph graph = test::graph_of(job, plan);
  const test::ScratchFolder folder;
  graph.layout.disk_bytes = Bytes(1ll << 50);
  try {
    const DiskStore store(job.model, graph, {}, {.folder = folder.path()});
    FAIL() << "a petabyte was reserved";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("free"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THROW(DiskStore(job.model, graph, {}, {.folder = folder.path() / "none"}),
               EnvironmentError);
}

TEST(DiskStore, TheFileHasNoName) {
  const planner::Job job = pieced_job();
  const planner::StepGraph graph = test::graph_of(job, disk_plan(job, 0));
  const test::ScratchFolder folder;
  const DiskStore store(job.model, graph, {}, {.folder = folder.path()});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace sluice::engine
