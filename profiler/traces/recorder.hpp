// Recorder of measured traces: an observer that keeps the task events of chosen steps in memory
// that it allocates before the run starts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/execution/observer.hpp"
#include "planner/graph/step_graph.hpp"
#include "sim/simulate.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// Steps `first` to `first + count - 1` of a run, counted from 1.
struct StepRange {
  std::int64_t first = 1;
  std::int64_t count = 3;
};

/// Observer that records the spans of tasks in a range of steps, without locks, since lanes write
/// disjoint slots. It may be read only after the run (or the executor's `run`) has returned.
class Recorder final : public engine::Observer {
 public:
  /// Start and end of one task; instants are on the run's clock.
  using Span = sim::Timeline::Span;

  /// Records `steps` of a run of `graph`. `stops` are the steps after which the run stands still
  /// for something else (an evaluation, a save).
  Recorder(const planner::StepGraph& graph, StepRange steps, std::vector<std::int64_t> stops = {});
  void task_ran(const engine::TaskEvent& event) override;

  [[nodiscard]] StepRange steps() const { return steps_; }
  [[nodiscard]] std::size_t tasks_per_step() const { return tasks_per_step_; }
  [[nodiscard]] const std::vector<std::int64_t>& stops() const { return stops_; }
  /// Whether the span of every task of step `step` was recorded.
  [[nodiscard]] bool has(std::int64_t step) const;
  /// Spans of the tasks of step `step`, in the order of the step graph's. Throws std::logic_error
  /// unless has(step).
  [[nodiscard]] std::vector<Span> spans(std::int64_t step) const;
  /// Forgets everything and records `steps` from now on, which may not be more steps than before.
  void restart(StepRange steps);

 private:
  struct Slot {
    Instant start;
    Instant end;
    bool written = false;
  };
  [[nodiscard]] std::size_t slot_of(std::int64_t step) const {
    return static_cast<std::size_t>(step - steps_.first) * tasks_per_step_;
  }
  std::size_t tasks_per_step_;
  StepRange steps_;
  std::vector<std::int64_t> stops_;
  std::vector<Slot> slots_;
};

/// Spans of `count` steps from step `first` on, one for each task in the order of a step graph's
/// first `count` steps. Their clock starts with the first span, and leaves out the pause after a
/// step in the recorder's stops: the longest time between that step and the next in which no lane
/// works.
[[nodiscard]] std::vector<Recorder::Span> recorded_steps(const Recorder& recorder,
                                                         std::int64_t first, std::int64_t count);

/// Spans of the three steps from step `first` on, one for each task of a step graph.
[[nodiscard]] inline std::vector<Recorder::Span> three_steps(const Recorder& recorder,
                                                             std::int64_t first) {
  return recorded_steps(recorder, first, 3);
}

/// A trace of `graph` with `spans`, one for each of the graph's first tasks (whole steps) or for
/// all. Where `source` is the device's (event, cupti), tasks that only the CPU can run get `clock`.
[[nodiscard]] sim::Trace trace_of(const planner::StepGraph& graph,
                                  const std::vector<Recorder::Span>& spans, sim::SpanSource source);

/// Whether a GPU may run tasks of this lane by itself; those of the other lanes always run on the
/// CPU.
[[nodiscard]] constexpr bool is_device_lane(planner::LaneKind lane) {
  return lane == planner::LaneKind::compute || lane == planner::LaneKind::h2d ||
         lane == planner::LaneKind::d2h;
}

}  // namespace sluice::profiler
