// Predictions that were made before a run and then held against it: how far to trust one like them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

struct ValidatedCase {
  std::string name;  ///< The row's name in the folder of results that `source` cites.
  std::string gpu, architecture, model;
  std::int64_t parameters = 0, seq_len = 0, tokens = 0;  ///< Tokens of a step.
  double measured = 0, predicted = 0;                    ///< Tokens/s.
  std::string source;
  /// Positive where the run was faster than predicted.
  [[nodiscard]] double error() const { return measured / predicted - 1; }
};

[[nodiscard]] const std::vector<ValidatedCase>& validated_cases();

/// The case most like the job on the machine: another architecture counts as a factor of 8, and
/// parameters, tokens a step and sequence length by their ratios.
[[nodiscard]] const ValidatedCase& nearest_case(const Job& job, const MachineProfile& machine);

/// "qwen2.5-7b on h200, 32768 tokens a step: measured 10.3 % fewer tokens/s
/// than predicted".
[[nodiscard]] std::string to_text(const ValidatedCase& found);

}  // namespace sluice::planner
