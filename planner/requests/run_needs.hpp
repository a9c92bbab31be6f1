// Needs of a run beside its step: memory by phase, checkpoints, SSD wear, and the validated case by
// which to judge its prediction.
#pragma once

#include <optional>
#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/phase_memory.hpp"

namespace sluice::planner {

/// What a run needs beside the time of its steps: memory by phase, checkpoints and wear of the SSD;
/// and how well predictions of its kind are validated.
struct RunNeeds {
  PhaseMemory phases = {};
  Bytes checkpoint{0};                ///< Bytes of one checkpoint.
  double checkpoint_a_parameter = 0;  ///< Bytes that a checkpoint takes per parameter.
  /// Wear of the SSDs; none where no rating is known and no step writes to the disk.
  std::optional<SsdWear> wear = {};
  std::int64_t devices = 1;       ///< Number of GPUs that share each step.
  std::int64_t gpus = 1;          ///< Number of GPUs of the smallest host that the GPU is sold in.
  std::string nearest_case = {};  ///< The validated case nearest to the run, in words.
};

/// The needs of the run `config`, whose step is `prediction` by `predictor`.
[[nodiscard]] RunNeeds run_needs(const Prediction& prediction, const Predictor& predictor,
                                 const RunConfig& config);

}  // namespace sluice::planner
