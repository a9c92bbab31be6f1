// Time that padding a vocabulary to a multiple of 64 saves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

struct PaddedVocabulary {
  std::int64_t tokens = 0, padded = 0;  ///< The model's vocabulary, and the next multiple of 64.
  Seconds step{0};                      ///< Predicted step with the padded one and the same plan.
  double gain = 0;  ///< Share of the step that padding would save; 0 where it would save nothing.
  RatioInterval ratio = {};  ///< The padded step over the step.
};

/// Predicts the step of `step`'s plan with a padded vocabulary; none where the vocabulary is a
/// multiple of 64 already.
[[nodiscard]] std::optional<PaddedVocabulary> try_padded_vocabulary(const Request& request,
                                                                    const PredictedStep& step);

/// One line of text, without its end.
[[nodiscard]] std::string to_text(const PaddedVocabulary& padding);

}  // namespace sluice::planner
