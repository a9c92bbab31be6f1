#include "profiler/study/study_bursts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "planner/layout/memory.hpp"
#include "planner/requests/choose_plan.hpp"
#include "profiler/sensors/driver_memory.hpp"
#include "profiler/study/recording.hpp"
#include "profiler/tuning/measuring_session.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

Error does_not_fit(const StudyRun& run, planner::Tier tier, Bytes short_by) {
  return {ExitCode::does_not_fit,
          run.name + ": " + to_string(tier) + " is short by " + planner::format_bytes(short_by)};
}

planner::PredictedStep planned_now(const StudyRun& run, const planner::Request& request) {
  auto found = choose_plan(request, {.executable = true, .remedies = false});
  if (const auto* none = std::get_if<planner::Infeasible>(&found)) {
    throw does_not_fit(run, none->tier, none->short_by);
  }
  return std::move(std::get<planner::ChosenPlan>(found).step());
}

}  // namespace

PlannedRun StudyBursts::plan(const StudyRun& run, const planner::Request& request) const {
  if (!replays()) return {planned_now(run, request), {}};
  std::vector<MeasuredRun> recorded =
      read_recording(settings_.replay, run.name, planner::job_hash(request.job()));
  planner::PredictedStep step = request.predictor.predict(recorded.front().plan);
  return {std::move(step), std::move(recorded)};
}

bool StudyBursts::replay(StudiedRun& run, std::int64_t parts_to_come) {
  std::vector<MeasuredRun>& recorded = run.planned.recorded;
  const auto now = (std::ssize(recorded) + parts_to_come) / (parts_to_come + 1);  // Rounded up.
  run.bursts.insert(run.bursts.end(), recorded.begin(), recorded.begin() + now);
  recorded.erase(recorded.begin(), recorded.begin() + now);
  return now > 0;
}

bool StudyBursts::measure(StudiedRun& run, std::int64_t parts_to_come) {
  if (replays()) return replay(run, parts_to_come);
  const planner::Predictor& predictor = run.predictor;
  const PlannedRun& planned = run.planned;
  const planner::Prediction& prediction = planned.step.prediction;
  const Seconds each = to_seconds(prediction.step);
  std::int64_t steps = settings_.steps;
  if (settings_.burst.count() > 0) {
    steps = std::min(steps,
                     std::max<std::int64_t>(4, static_cast<std::int64_t>(settings_.burst / each)));
  }
  const auto before = static_cast<std::int64_t>(std::ceil(settings_.warm_up / each));
  MeasuringSession session(predictor, planned.step, before + steps);
  MeasuredRun& burst = run.bursts.emplace_back(session.run(before + steps));
  burst.steps.erase(burst.steps.begin(), burst.steps.begin() + before);
  // Everything is allocated before the first step, so any moment shows the most.
  const auto in_use = device_memory_in_use();
  if (in_use && hbm_before_) {
    const Bytes idle = std::max(Bytes(0), settings_.pin - planned.step.graph.layout.host_bytes);
    hbm_in_use_ = *in_use - *hbm_before_ - planner::page_table_bytes(predictor.machine(), idle);
  }
  if (!settings_.recording.empty()) {
    write_recording(settings_.recording, run.run->name, prediction.job_hash,
                    prediction.profile_hash, run.bursts);
  }
  return true;
}

std::optional<Bytes> StudyBursts::take_hbm_in_use() {
  return std::exchange(hbm_in_use_, std::nullopt);
}

}  // namespace sluice::profiler
