// Time that padding a vocabulary to a multiple of 64 saves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// What padding the model's vocabulary to a multiple of 64 tokens would save of the step.
struct PaddedVocabulary {
  std::int64_t tokens = 0, padded = 0;  ///< The model's vocabulary, and the next multiple of 64.
  Seconds step{0};  ///< Predicted step of the same plan with the padded vocabulary.
  double gain = 0;  ///< Share of the step that padding would save; 0 where it would save nothing.
  /// Ratio of the step with the padded vocabulary to that without, with its interval.
  RatioInterval ratio = {};
};

/// Predicts the plan of `step` with the vocabulary padded to a multiple of 64; none where it is one
/// already.
[[nodiscard]] std::optional<PaddedVocabulary> try_padded_vocabulary(const Request& request,
                                                                    const PredictedStep& step);

/// The result in words, one line without a line break at its end.
[[nodiscard]] std::string to_text(const PaddedVocabulary& padding);

}  // namespace sluice::planner
