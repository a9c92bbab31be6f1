#include "cli/forward/generation_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/forward/forward_subject.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::ForwardGoal;
using planner::ForwardPrediction;

/// Largest number of prompt tokens processed in one pass; fewer if these do not fit.
constexpr std::int64_t kPromptPart = 512;

/// Job of one sequence of `prompt` + `more` tokens, computed in parts of at most `most` tokens.
planner::Job sequence_job(planner::Job job, std::int64_t prompt, std::int64_t more,
                          std::int64_t most) {
  const std::int64_t part = std::min(prompt, most);
  job.sequence_chunk = part;
  job.seq_len = (prompt + more + part - 1) / part * part;
  return job;
}

/// Changes of a generation's job that make it need less memory: fewer new tokens, and the smallest
/// parts.
std::vector<planner::ForwardChange> shorter(const planner::Job& job, std::int64_t prompt,
                                            std::int64_t more) {
  std::vector<planner::ForwardChange> changes;
  for (std::int64_t fewer = more / 2; fewer >= 1; fewer /= 2) {
    planner::Remedy remedy;
    remedy.what = fmt::format("{} new tokens instead of {}", fewer, more);
    remedy.setting = fmt::format("--max-new-tokens {}", fewer);
    remedy.changes_bits = true;
    changes.push_back({std::move(remedy), sequence_job(job, prompt, fewer, 1)});
  }
  return changes;
}

Seconds prompt_time(const GenerationPlan& plan) {
  return static_cast<double>(plan.parts) * to_seconds(plan.prompt_part.pass);
}

}  // namespace

void set_sizes(planner::RunConfig& config, std::int64_t tokens) {
  config.seq_len = tokens;
  config.batch_size = config.micro_batch = config.devices = 1;
  config.groups = 1;
  config.packing = planner::Packing::stream;
  // Parts of a sequence are no whole blocks of FP8 operands.
  if (planner::is_fp8(config.compute)) config.compute = planner::ComputeType::bf16;
}

std::variant<GenerationPlan, planner::Infeasible> plan_generation(
    const planner::Predictor& predictor, std::int64_t prompt, std::int64_t more) {
  const auto request_of = [&predictor](const planner::Job& job) {
    return planner::ForwardRequest{job, ForwardGoal::next_token, predictor.machine(),
                                   predictor.costs()};
  };
  for (std::int64_t most = std::min(prompt, kPromptPart);; most = (most + 3) / 4) {
    planner::Job job = sequence_job(predictor.job(), prompt, more, most);
    auto found = planner::search_forward(request_of(job));
    if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
      if (most > 1) continue;
      infeasible->remedies = planner::forward_remedies(request_of(job), infeasible->memory,
                                                       shorter(job, prompt, more));
      return std::move(*infeasible);
    }
    GenerationPlan plan{.job = job, .prompt_part = std::move(std::get<ForwardPrediction>(found))};
    plan.parts = (prompt + most - 1) / most;
    job.sequence_chunk = 1;
    planner::ForwardPlan single = plan.prompt_part.plan;
    single.position = prompt + more / 2;
    plan.token = to_seconds(predict_forward(request_of(job), single).pass);
    return plan;
  }
}

sim::Json plan_json(const GenerationPlan& plan, std::int64_t prompt, std::int64_t more) {
  const planner::Job& job = plan.job;
  sim::Json out = {{"version", 1},
                   {"model", job.model.name},
                   {"parameters", parameter_count(job.model)},
                   {"compute", to_string(job.compute)},
                   {"prompt_tokens", prompt},
                   {"max_new_tokens", more},
                   {"predicted_prompt_s", prompt_time(plan).count()},
                   {"predicted_token_s", plan.token.count()}};
  out.update(forward_json(plan.prompt_part));
  return out;
}

std::string plan_text(const GenerationPlan& plan, const planner::ResolvedMachine& machine,
                      std::int64_t prompt, std::int64_t more) {
  return fmt::format("{} on {}: {} tokens of prompt, at most {} new ones\n", plan.job.model.name,
                     machine.profile.name, prompt, more) +
         forward_table(plan.prompt_part) +
         fmt::format("predicted    {} for the prompt, then {} a token\n",
                     planner::format_seconds(prompt_time(plan)),
                     planner::format_seconds(plan.token));
}

}  // namespace sluice::cli
