// The plan of a generation: how many tokens a pass takes, and where weights lie.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "planner/predictions/predict.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/forward_search.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// Predictions of two passes of a generation: the prompt's last part, and a token in the middle of
/// the generated ones.
struct GenerationPlan {
  planner::Job job;
  planner::ForwardPrediction prompt_part;
  Seconds token{0};
  std::int64_t parts = 0;  ///< Number of passes of the prompt.
};

/// Sets the sizes of a run to one sequence that holds so many tokens, prompt and new ones.
void set_sizes(planner::RunConfig& config, std::int64_t tokens);

/// Plans a generation of up to `more` tokens behind a prompt of `prompt` tokens, in the largest
/// parts that fit. Infeasible, with what would fit, if not even single tokens do.
[[nodiscard]] std::variant<GenerationPlan, planner::Infeasible> plan_generation(
    const planner::Predictor& predictor, std::int64_t prompt, std::int64_t more);

/// Plan of the generation that is about to begin, as JSON and as text.
[[nodiscard]] sim::Json plan_json(const GenerationPlan& plan, std::int64_t prompt,
                                  std::int64_t more);
[[nodiscard]] std::string plan_text(const GenerationPlan& plan,
                                    const planner::ResolvedMachine& machine, std::int64_t prompt,
                                    std::int64_t more);

}  // namespace sluice::cli
