// Rehearsals: execution of a step graph on a host that is too small for it. Every task runs at its
// true size and order, on values that mean nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/execution/executor.hpp"
#include "engine/ranks/thread_ranks.hpp"
#include "engine/rehearsal/window_values.hpp"
#include "engine/training/step_runner.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/layout/host_window.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Numbers of values of each floating-point class at the end of a rehearsal, which tell whether its
/// times are valid.
struct RehearsalValues {
  ValueCensus window;     ///< Values of the window that h2d copies and the CPU's optimizer read.
  ValueCensus gradients;  ///< Gradients as stored on the host.
  ValueCensus device;     ///< Weights and state that stay on the device.
  /// Why the rehearsal's times are invalid, or none: NaN or infinity anywhere, zeros or denormals
  /// in the window, a denormal gradient, or more than one denormal in 1000 on the device (real v
  /// has some, being squares of gradients near zero).
  [[nodiscard]] std::optional<std::string> fault() const;
};

/// Runs the true step graph on a host that is too small for its state. Owns everything that steps
/// need, as Session does, but has no training state: `window` takes the place of the host arena.
class Rehearsal {
 public:
  /// The host arena of each of `devices`, one for each rank of the graph, must have
  /// window.bytes(). What a rank keeps on the disk goes to a file at `place`, as large as the plan
  /// asks but at most half of the free space, where pieces of state then overlap. `tokens` and
  /// `observer` of the first rank (may be null) must outlive the rehearsal; `graph` and `window`
  /// need not.
  Rehearsal(const planner::Job& job, const planner::StepGraph& graph,
            const planner::HostWindow& window, std::vector<std::unique_ptr<Device>> devices,
            TokenSource& tokens, const StepRunner::LearningRate& learning_rate, Observer* observer,
            const DiskPlace& place = {});
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;  // Ranks refer to each other.
  Rehearsal& operator=(const Rehearsal&) = delete;

  using StepDone = std::function<void(std::int64_t step, const StepResult& result)>;
  /// Runs steps 1 to `last`; returns the last that ran. Call it once. Throws what tasks throw, and
  /// Diverged if loss or gradient are not finite.
  std::int64_t run_to(std::int64_t last, const StepDone& step_done);
  /// Prevents further steps from beginning. Call it from `step_done`.
  void request_stop();
  /// Counts, by floating-point class, the values that tasks of all ranks read from their windows,
  /// the gradients stored there and the state on the devices. Call it after `run_to`.
  [[nodiscard]] RehearsalValues values();
  /// The first rank's disk file; null if the plan uses no disk.
  [[nodiscard]] const DiskStore* disk() const;
  /// Bytes of a rank's arena up to the last one that tasks touch.
  [[nodiscard]] Bytes touched(planner::Arena arena) const;

 private:
  struct Rank;
  /// Counts values by floating-point class on all cores.
  static ValueCensus census_of(std::span<const std::byte> values, bool moments);
  void count(Rank& rank, RehearsalValues& found) const;
  [[nodiscard]] std::vector<RankLinks> links() const;

  planner::HostWindow window_;
  std::unique_ptr<ThreadRanks> threads_;  ///< What connects the ranks; null for one.
  std::unique_ptr<TokenSource> tokens_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace sluice::engine
