// Rehearsals: execution of a step graph on a host that is too small for it. Every task runs at its
// true size and order, on values that mean nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/execution/executor.hpp"
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
  /// `device`'s host arena must have window.bytes(). What the plan keeps on the disk goes to a file
  /// at `place`, as large as the plan asks but at most half of the free space, where pieces of
  /// state then overlap. `tokens` and `observer` (may be null) must outlive the rehearsal; `graph`
  /// and `window` need not.
  Rehearsal(const planner::Job& job, const planner::StepGraph& graph,
            const planner::HostWindow& window, std::unique_ptr<Device> device, TokenSource& tokens,
            StepRunner::LearningRate learning_rate, Observer* observer,
            const DiskPlace& place = {});

  using StepDone = std::function<void(std::int64_t step, const StepResult& result)>;
  /// Runs steps 1 to `last`; returns the last that ran. Call it once. Throws what tasks throw, and
  /// Diverged if loss or gradient are not finite.
  std::int64_t run_to(std::int64_t last, const StepDone& step_done);
  /// Prevents further steps from beginning. Call it from `step_done`.
  void request_stop() { executor_.request_stop(); }
  /// Counts, by floating-point class, the values that tasks read from the window, the gradients
  /// stored there and the state on the device. Call it after `run_to`.
  [[nodiscard]] RehearsalValues values();
  /// The disk file; null if the plan uses no disk.
  [[nodiscard]] const DiskStore* disk() const { return disk_.get(); }
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }

 private:
  /// A tensor that stays on the device between steps: 16-bit high halves of weights, or an fp32
  /// moment of AdamW (m or v).
  struct Resident {
    std::byte* data;
    Bytes bytes;
    enum class Kind { halves, moment } kind;
  };
  void fill_device(const planner::StepGraph& graph, bool fp32_compute);
  /// Counts values by floating-point class on all cores.
  static ValueCensus census_of(std::span<const std::byte> values, Resident::Kind kind);

  planner::HostWindow window_;
  std::unique_ptr<Device> device_;
  Program program_;
  std::unique_ptr<DiskStore> disk_;
  std::unique_ptr<DeviceQueues> queues_;
  StepRunner runner_;
  std::vector<Resident> resident_;  ///< Tensors that stay on the device between steps.
  /// Declared last, because the executor's lanes must end before the members that they use are
  /// destroyed.
  Executor executor_;
};

}  // namespace sluice::engine
