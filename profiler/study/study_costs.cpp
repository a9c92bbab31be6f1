#include "profiler/study/study_costs.hpp"

#include <utility>

#include "engine/backends/backend.hpp"
#include "planner/costs/lane_boost.hpp"
#include "planner/requests/run_devices.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {

planner::Request StudyCosts::resolve(const StudyRun& run) {
  planner::Request request = [&run] {
    try {
      planner::require_one_device(run.config, "a study");
      return planner::resolve(run.config);
    } catch (const BadRequest& error) {
      throw BadRequest(run.name + ": " + error.what());
    }
  }();
  if (backend_ == Backend::needed) {
    engine::require_backend(request.predictor.machine().profile.device);
  }
  require_executable(request.predictor.job());
  const std::string& profile = request.predictor.machine().calibration_hash;
  if (!started_) {
    probed_ = planner::as_probed(run.config).profile;
    calibration_ =
        planner::rescaled(request.calibration, request.predictor.machine().profile, probed_);
    given_ = calibration_;
    profile_ = profile;
    started_ = true;
  } else if (profile != profile_) {
    throw BadRequest(run.name +
                     ": machine: all runs of a study are of one profile; limit it by "
                     "--hbm, --host and --threads");
  }
  return request;
}

planner::Calibration StudyCosts::calibration(const planner::Predictor& predictor) const {
  return planner::rescaled(calibration_, probed_, predictor.machine().profile);
}

planner::Request StudyCosts::known(const planner::Request& request) const {
  return request.with_calibration(calibration(request.predictor));
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
