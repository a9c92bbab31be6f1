#include "profiler/study/study_costs.hpp"

#include <utility>

#include "engine/backends/backend.hpp"
#include "planner/costs/lane_boost.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {

planner::RunPlanning StudyCosts::planning_of(const StudyRun& run) {
  planner::RunPlanning planning = [&run] {
    try {
      return planner::planning_of(run.config);
    } catch (const BadRequest& error) {
      throw BadRequest(run.name + ": " + error.what());
    }
  }();
  if (backend_ == Backend::needed) {
    engine::require_backend(planning.predictor.machine().profile.device);
  }
  require_executable(planning.predictor.job());
  const std::string& profile = planning.predictor.machine().calibration_hash;
  if (!started_) {
    probed_ = planner::as_probed(run.config).profile;
    calibration_ =
        planner::rescaled(planning.calibration, planning.predictor.machine().profile, probed_);
    given_ = calibration_;
    profile_ = profile;
    started_ = true;
  } else if (profile != profile_) {
    throw BadRequest(run.name +
                     ": machine: all runs of a study are of one profile; limit it by "
                     "--hbm, --host and --threads");
  }
  return planning;
}

planner::Calibration StudyCosts::calibration(const planner::Predictor& predictor) const {
  return planner::rescaled(calibration_, probed_, predictor.machine().profile);
}

planner::Predictor StudyCosts::predictor(const planner::RunPlanning& planning) const {
  const planner::Predictor& p = planning.predictor;
  return {p.job(), p.machine(), calibration(p), p.residency()};
}

void StudyCosts::learn(const planner::Predictor& predictor, const std::vector<MeasuredRun>& bursts,
                       bool interference) {
  const auto& profile = predictor.machine().profile;
  // Runs may be on changed machines: the kept calibration is for the probed one.
  planner::Calibration learnt =
      planner::rescaled(fit_calibration(predictor.job(), profile, calibration(predictor), bursts,
                                        {.boost = false, .interference = interference})
                            .calibration,
                        profile, probed_);
  // Values that several runs calibrated are merged, in whatever order.
  calibration_ = planner::merged(calibration_, std::move(learnt));
}

void StudyCosts::learn(const planner::Predictor& predictor,
                       const std::vector<MeasuredRun>& bursts) {
  learn(predictor, bursts, true);
}

void StudyCosts::learn_costs(const planner::Predictor& predictor,
                             const std::vector<MeasuredRun>& bursts) {
  learn(predictor, bursts, false);
}

bool StudyCosts::lacks_boost() const {
  return probed_.device == planner::DeviceKind::cuda && !planner::lane_boost(probed_, given_);
}

void StudyCosts::begin_anew(const std::optional<BoostFit>& boost,
                            const std::vector<TimedRun>& runs) {
  planner::Calibration known = given_;
  if (boost) add_boost(known, planner::profile_hash(probed_), *boost, "study");
  learn_interference(known, probed_, runs, "study");
  calibration_ = std::move(known);
}

}  // namespace sluice::profiler
