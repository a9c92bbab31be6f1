// Session that runs a plan on arenas and state of its own, to measure it: synthetic tokens,
// throw-away weights.
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

/// Measured steps of a plan, without tracing and with it.
struct Measurement {
  MeasuredRun untraced;  ///< Steps that ran without tracing.
  /// Steps that CUPTI traced; none without a collector, or where tracing costs too much.
  std::optional<MeasuredRun> traced;
  /// Cost of tracing; none without a collector that works.
  std::optional<cupti::TraceOverhead> overhead;
  std::string refusal;  ///< Why `traced` is none although there is a collector; else empty.

  [[nodiscard]] const MeasuredRun& to_fit() const { return traced ? *traced : untraced; }
};

/// Session that runs one plan to measure it, in bursts of steps between which other sessions may
/// run. It neither reads nor writes files of the user.
class MeasuringSession {
 public:
  /// Prepares the plan of `step`. Bursts may have at most `most_steps` steps. `collector`, if any,
  /// must outlive the session, and nothing else may use it while a burst runs; with several ranks
  /// there may be none. Of several ranks the first is measured. Throws
  /// Error(does_not_fit) where the plan exceeds a capacity, EnvironmentError where this build or
  /// this computer lacks the machine's backend.
  MeasuringSession(const planner::Predictor& predictor, const planner::PredictedStep& step,
                   std::int64_t most_steps, cupti::Collector* collector = nullptr);

  /// Runs a burst of `steps` steps (at least three) without tracing and returns them all. The first
  /// and the last lack a neighbour, so their times should not be used.
  [[nodiscard]] MeasuredRun run(std::int64_t steps);

  /// Runs a burst under the collector, which must be there, so that CUPTI times device tasks.
  /// Returns an Absence where CUPTI does not trace here. Throws EnvironmentError where records were
  /// lost or belong to no task (cupti::why_unfit).
  [[nodiscard]] std::variant<MeasuredRun, cupti::Absence> run_traced(std::int64_t steps);

  /// Runs an untraced burst of `steps` steps, and a traced one where there is a collector; while
  /// they leave open what tracing costs (cupti::is_undecided), up to two more of each, the last of
  /// which are returned. Tracing that does not work, or costs more than cupti::kMostTraceOverhead
  /// over all bursts, is left out with its reason; lost records throw as in run_traced().
  [[nodiscard]] Measurement measure(std::int64_t steps);

  /// Recorder of the last burst, for traces; its spans are the engine's own, never CUPTI's.
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
