// Errors of a disk are noticed before they have effects, and what it refuses to write is not lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "engine/disk/disk_store.hpp"
#include "engine/state/state_snapshot.hpp"
#include "sim/error.hpp"
#include "tests/engine/disk_plans.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine {
namespace {

using planner::Tier;
using test::disk_plan;
using test::DiskSession;
using test::pieced_job;

constexpr std::int64_t kManySteps = 12;

/// Access to the file of `session`, to damage it.
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

class DiskDamage : public test::OnDisk {};

TEST_P(DiskDamage, AFlippedBitEndsTheRunNamingUnitAndBlock) {
  const planner::Job job = pieced_job();
  const DiskSession session(job, disk_plan(job, 1), place());
  session->run_to(2);
  const Tampered file(*session);
  // The second block of the first unit on the disk.
  file.flip_bit(planner::kDiskBlock.count() + 12345);
  const std::string said = failure_of(*session, 4);
  EXPECT_NE(said.find("L0, block 1: comes back otherwise than step 2 wrote it"), said.npos) << said;
  EXPECT_EQ(said.find('\n'), said.npos);
}

TEST_P(DiskDamage, AFlippedBitOfWeightsIsNoticedBeforeAPassComputesWithThem) {
  planner::Job job = pieced_job();
  for (const planner::ComputeType compute :
       {planner::ComputeType::bf16, planner::ComputeType::fp32}) {
    job.compute = compute;
    const DiskSession session(job, disk_plan(job, 0, Tier::host, 2, Tier::disk), place());
    const planner::StepGraph& graph = session.graph();
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

TEST_P(DiskDamage, AFileCutShortEndsTheRun) {
  const planner::Job job = pieced_job();
  const DiskSession session(job, disk_plan(job, 0), place());
  session->run_to(1);
  Tampered(*session).cut_to(0);
  const std::string said = failure_of(*session, 2);
  EXPECT_NE(said.find("cannot be read: the file ends before it"), said.npos) << said;
}

/// While it lives, no file of the process can be written beyond `bytes`.
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

TEST_P(DiskDamage, WhatTheDiskDoesNotTakeIsKeptUntilTheStepIsWhole) {
  const planner::Job job = pieced_job();
  const std::size_t units = planner::unit_count(job.model);
  for (const Tier gradients : {Tier::host, Tier::disk}) {
    const DiskSession session(job, disk_plan(job, 0, gradients, 2, gradients), place());
    session->run_to(1);
    EXPECT_EQ(session->disk_failure(), std::nullopt);
    {
      const std::int64_t blocks =
          session.graph().layout.disk_bytes.count() / planner::kDiskBlock.count();
      const FileSizeLimit limit(planner::kDiskBlock * (blocks / 2));
      session->run_to(kManySteps, [&](std::int64_t, const StepResult&) {
        if (session->disk_failure()) session->request_stop();
      });
    }
    const std::optional<std::string> why = session->disk_failure();
    ASSERT_TRUE(why.has_value());
    EXPECT_NE(why->find("cannot be written: File too large"), why->npos) << *why;
    EXPECT_LT(session->steps_done(), kManySteps);
    const DiskSession whole(job, disk_plan(job, units));
    whole->run_to(session->steps_done());
    EXPECT_EQ(session->state().weights_sha256(), whole->state().weights_sha256());
    EXPECT_EQ(session->state().state_sha256(), whole->state().state_sha256());
  }
}

TEST_P(DiskDamage, DamageIsNoticedWhenAStateIsSaved) {
  const planner::Job job = pieced_job();
  const DiskSession session(job, disk_plan(job, 0), place());
  session->run_to(1);
  Tampered(*session).flip_bit(777);
  StateSnapshot snapshot(job.model, session->state());
  EXPECT_THROW(snapshot.take(session->state()), EnvironmentError);
}

INSTANTIATE_TEST_SUITE_P(Io, DiskDamage, test::disk_kinds(), test::disk_kind_name);

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
