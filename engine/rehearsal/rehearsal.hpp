// A step graph executed on a host that is too small for it: every task at its true size and order,
// on values that mean nothing.
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

/// What the values of a rehearsal had come to at its end.
struct RehearsalValues {
  ValueCensus window;     ///< What h2d copies and the CPU's optimizer read.
  ValueCensus gradients;  ///< As stored, on the host.
  ValueCensus device;     ///< Weights and state that stay on the device.
  /// What makes the times worthless, or nothing: NaN or infinity anywhere, zeros or denormals in
  /// the window, a denormal gradient, more than one denormal in 1000 on the device (real v has
  /// some, for they are squares of gradients near zero).
  [[nodiscard]] std::optional<std::string> fault() const;
};

/// Owns everything that running steps needs, as Session does, but for state: the host arena is
/// `window`.
class Rehearsal {
 public:
  /// `device`'s host arena has window.bytes(). What plans keep on the disk goes to and comes from a
  /// file at `place`, as large as the plan's or as half of what is free, in which pieces then share
  /// room. `tokens`, and `observer` (may be null), must outlive
  /// the rehearsal; `graph` and `window` need not.
  Rehearsal(const planner::Job& job, const planner::StepGraph& graph,
            const planner::HostWindow& window, std::unique_ptr<Device> device, TokenSource& tokens,
            StepRunner::LearningRate learning_rate, Observer* observer,
            const DiskPlace& place = {});

  using StepDone = std::function<void(std::int64_t step, const StepResult& result)>;
  /// Runs steps 1 to `last`, once; returns the last that ran. Throws what tasks throw, Diverged
  /// where loss or gradient stop being numbers.
  std::int64_t run_to(std::int64_t last, const StepDone& step_done);
  /// From `step_done`: no further step begins.
  void request_stop() { executor_.request_stop(); }
  /// Looks at all values that steps leave behind. After `run_to`.
  [[nodiscard]] RehearsalValues values();
  /// Null where the plan uses no disk.
  [[nodiscard]] const DiskStore* disk() const { return disk_.get(); }
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }

 private:
  /// What stays on the device between steps: high halves of weights, or a moment.
  struct Resident {
    std::byte* data;
    Bytes bytes;
    enum class Kind { halves, moment } kind;
  };
  void fill_device(const planner::StepGraph& graph, bool fp32_compute);
  /// On all cores.
  static ValueCensus census_of(std::span<const std::byte> values, Resident::Kind kind);

  planner::HostWindow window_;
  std::unique_ptr<Device> device_;
  Program program_;
  std::unique_ptr<DiskStore> disk_;
  std::unique_ptr<DeviceQueues> queues_;
  StepRunner runner_;
  std::vector<Resident> resident_;  ///< On the device, between steps.
  Executor executor_;               ///< Last: its lanes end before what they use.
};

}  // namespace sluice::engine
