// A plan run on its own arenas and state, for measuring: synthetic tokens, throw-away weights.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/session.hpp"
#include "planner/predict.hpp"
#include "profiler/measured_run.hpp"

namespace sluice::profiler {

/// Made once for a plan; may run several bursts of steps, between which other sessions run. No
/// file of the user's is read or written.
class MeasuringSession {
 public:
  /// At most `most_steps` a burst. Throws Error(does_not_fit) where the plan exceeds a capacity.
  MeasuringSession(const planner::Predictor& predictor, const planner::PredictedStep& step,
                   std::int64_t most_steps);

  /// Runs `steps` steps (at least three) and returns them. The first and the last of a burst have
  /// no neighbour and are not looked at, whatever came before.
  [[nodiscard]] MeasuredRun run(std::int64_t steps);

  /// The last burst, for traces.
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }

 private:
  planner::Plan plan_;
  engine::SyntheticTokens tokens_;
  Recorder recorder_;
  engine::Session session_;
};

}  // namespace sluice::profiler
