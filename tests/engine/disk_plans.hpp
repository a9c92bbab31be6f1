// Plans that use the disk, and jobs whose units have several pieces there.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/disk/disk_store.hpp"
#include "planner/plans/disk_state.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {

/// A plan in which units from number `first` on have their state on the disk, and their gradients
/// and weights in the given tiers.
inline planner::Plan disk_plan(const planner::Job& job, std::size_t first,
                               planner::Tier gradients = planner::Tier::host,
                               std::int64_t rounds = 2,
                               planner::Tier weights = planner::Tier::host) {
  planner::Plan plan = planner::uniform_plan(job, {}, rounds);
  for (std::size_t unit = first; unit < plan.units.size(); ++unit) {
    plan.units[unit].state = planner::Tier::disk;
    plan.units[unit].gradients = gradients;
    plan.units[unit].weights = weights;
  }
  plan.disk_buffer = planner::kDiskBlock;
  return plan;
}

/// A folder for the disk file, tested with each kind of disk I/O.
class OnDisk : public ::testing::TestWithParam<DiskIo> {
 protected:
  void SetUp() override {
    if (GetParam() == DiskIo::best && !has_io_uring()) {
      GTEST_SKIP() << "this build or system has no io_uring";
    }
  }
  [[nodiscard]] DiskPlace place() const { return {.folder = folder_.path(), .io = GetParam()}; }
  ScratchFolder folder_;
};

/// A job whose units have several pieces on the disk.
inline planner::Job pieced_job() {
  planner::Job job = small_jobs()[2].job;
  job.model.layers = 2;
  job.model.hidden = 256;
  job.model.intermediate = 512;
  job.model.head_dim = 64;
  return job;
}

/// A session together with the objects it refers to.
class DiskSession {
 public:
  DiskSession(const planner::Job& job, const planner::Plan& plan, const DiskPlace& place = {})
      : job_(job),
        tokens_(job_),
        plan_(plan),
        graph_(graph_of(job_, plan_)),
        session_(make_session(job_, graph_, plan_, tokens_, nullptr, place)) {}
  DiskSession(const DiskSession&) = delete;  // The session refers to the other members.
  DiskSession& operator=(const DiskSession&) = delete;

  Session* operator->() const { return session_.get(); }
  Session& operator*() const { return *session_; }
  [[nodiscard]] const planner::StepGraph& graph() const { return graph_; }

 private:
  planner::Job job_;
  RunTokens tokens_;
  planner::Plan plan_;
  planner::StepGraph graph_;
  std::unique_ptr<Session> session_;
};

/// Both kinds of disk I/O; disk_kind_name names them in test names.
inline auto disk_kinds() { return ::testing::Values(DiskIo::best, DiskIo::threads); }
inline std::string disk_kind_name(const ::testing::TestParamInfo<DiskIo>& kind) {
  return kind.param == DiskIo::best ? "ring" : "threads";
}

}  // namespace sluice::engine::test
