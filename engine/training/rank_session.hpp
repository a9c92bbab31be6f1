// What one rank of a session owns.
#pragma once

#include <memory>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/executor.hpp"
#include "engine/ranks/rank_links.hpp"
#include "engine/training/evaluation.hpp"
#include "engine/training/step_runner.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// One rank of a session: its device with the program bound to it, and the lanes that run it.
struct RankSession {
  /// `links` are those of the rank, without any for a single one; they, `tokens` and `observer`
  /// (may be null) must outlive this object. `shared`: the memory that the ranks of the host share;
  /// null where the graph has none.
  RankSession(const planner::Job& job, const planner::StepGraph& graph,
              std::unique_ptr<Device> device, TokenSource& tokens,
              const StepRunner::LearningRate& learning_rate, Observer* observer,
              const DiskPlace& place, const RankLinks& links,
              const std::shared_ptr<SharedArena>& shared = nullptr);
  RankSession(const RankSession&) = delete;  // Members point at each other.
  RankSession& operator=(const RankSession&) = delete;

  /// Runs steps `begin` to `end`, counted by the program; see Executor::run.
  std::int64_t run(std::int64_t begin, std::int64_t end,
                   const std::function<void(std::int64_t step)>& step_done);
  void request_stop();

  RankLinks links;
  std::unique_ptr<Device> device;
  Program program;
  std::unique_ptr<DiskStore> disk;  ///< Disk file; null if no state lies on the disk.
  RankEvaluation evaluation;
  std::unique_ptr<DeviceQueues> queues;
  StepRunner runner;
  /// Declared last, because the executor's lanes must end before the members that they use are
  /// destroyed.
  Executor executor;
};

}  // namespace sluice::engine
