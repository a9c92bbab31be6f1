// Predictions that were made before a run and compared with it afterwards; they tell how far to
// trust a similar prediction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

struct ValidatedCase {
  std::string name;  ///< Name of the case's row in the folder of results that `source` cites.
  std::string gpu, architecture, model;
  /// Number of the model's parameters, of tokens of a sequence, and of tokens of a step.
  std::int64_t parameters = 0, seq_len = 0, tokens = 0;
  /// Tokens per second that were measured and that had been predicted.
  double measured = 0, predicted = 0;
  std::string source;
  /// Error of the prediction, relative to it: positive where the run was faster than predicted.
  [[nodiscard]] double error() const { return measured / predicted - 1; }
};

[[nodiscard]] const std::vector<ValidatedCase>& validated_cases();

/// The validated case most like `job` on `machine`: the one with the smallest product of ratios
/// (larger over smaller) of parameters, tokens a step and sequence length, times 8 where the
/// architecture differs.
[[nodiscard]] const ValidatedCase& nearest_case(const Job& job, const MachineProfile& machine);

/// One line on the case `found`, such as "qwen2.5-7b on h200, 32768 tokens a step: measured 10.3 %
/// fewer tokens/s than predicted".
[[nodiscard]] std::string to_text(const ValidatedCase& found);

}  // namespace sluice::planner
