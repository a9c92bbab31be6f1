// Needs of a run beside its step: memory by phase, checkpoints, SSD wear, and the validated case by
// which to judge its prediction.
#pragma once

#include <optional>
#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/phase_memory.hpp"

namespace sluice::planner {

struct RunNeeds {
  PhaseMemory phases = {};
  Bytes checkpoint{0};
  double checkpoint_a_parameter = 0;  ///< Bytes that a checkpoint takes per parameter.
  /// Wear of the SSD; none where no rating is known and no step writes.
  std::optional<SsdWear> wear = {};
  std::int64_t gpus = 1;  ///< Number of GPUs of the smallest host that the GPU is sold in.
  std::string nearest_case = {};
};

[[nodiscard]] RunNeeds run_needs(const Prediction& prediction, const Predictor& predictor,
                                 const RunConfig& config);

}  // namespace sluice::planner
