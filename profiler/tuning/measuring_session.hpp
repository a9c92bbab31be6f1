// A plan run on its own arenas and state, for measuring: synthetic tokens, throw-away weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "engine/training/session.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/cupti/task_tagging.hpp"
#include "profiler/cupti/trace_overhead.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// What a plan took, and what its costs are to be fitted to.
struct Measurement {
  MeasuredRun untraced;  ///< The steps as they always run.
  /// The same plan's steps under CUPTI, where there is a collector and it costs little enough.
  std::optional<MeasuredRun> traced;
  std::optional<cupti::TraceOverhead> overhead;  ///< Where there is a collector that works.
  std::string refusal;                           ///< Why `traced` is missing though there is one.

  [[nodiscard]] const MeasuredRun& to_fit() const { return traced ? *traced : untraced; }
};

/// Made once for a plan; may run several bursts of steps, between which other sessions run. No
/// file of the user's is read or written.
class MeasuringSession {
 public:
  /// At most `most_steps` a burst. `collector`, if any, must outlive the session, and be the only
  /// one that uses it while a burst runs. Throws Error(does_not_fit) where the plan exceeds a
  /// capacity, EnvironmentError where this build or this computer lacks the machine's backend.
  MeasuringSession(const planner::Predictor& predictor, const planner::PredictedStep& step,
                   std::int64_t most_steps, cupti::Collector* collector = nullptr);

  /// Runs `steps` steps (at least three) and returns them. The first and the last of a burst have
  /// no neighbour and are not looked at, whatever came before.
  [[nodiscard]] MeasuredRun run(std::int64_t steps);

  /// The same under the collector, which must be there; device tasks are timed by CUPTI. An Absence
  /// where CUPTI turns out not to trace here. Throws EnvironmentError where it does and records
  /// were lost or belong to no task (cupti::why_unfit).
  [[nodiscard]] std::variant<MeasuredRun, cupti::Absence> run_traced(std::int64_t steps);

  /// An untraced burst, and a traced one where there is a collector; while they leave open what
  /// tracing costs (cupti::is_undecided), up to two more of each, the last of which are returned.
  /// Tracing that does not work, or costs more than cupti::kMostTraceOverhead over all of them, is
  /// refused and said; lost records throw as run_traced does.
  [[nodiscard]] Measurement measure(std::int64_t steps);

  /// The last burst, for traces; its spans are the engine's own, never CUPTI's.
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }

 private:
  [[nodiscard]] engine::Observer* observer();
  void run_steps(std::int64_t steps);

  planner::StepGraph graph_;
  planner::Plan plan_;
  bool on_cuda_;
  bool staged_;
  engine::SyntheticTokens tokens_;
  Recorder recorder_;
  cupti::Collector* collector_;
  std::optional<cupti::TaskTagging> tagging_;
  engine::Session session_;
};

}  // namespace sluice::profiler
