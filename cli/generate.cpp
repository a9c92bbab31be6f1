// `sluice generate MODEL|RUNDIR --prompt TEXT`: prints text that continues a prompt, as it is
// generated.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/forward/chat_prompt.hpp"
#include "cli/forward/forward_subject.hpp"
#include "cli/forward/generate_request.hpp"
#include "cli/forward/turn_ends.hpp"
#include "cli/shown/prediction_table.hpp"
#include "engine/backends/backend.hpp"
#include "engine/forward/generated_text.hpp"
#include "engine/forward/generation.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/utf8.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using planner::ForwardGoal;
using planner::ForwardPrediction;
using SteadyClock = std::chrono::steady_clock;

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

/// Predictions of two passes of a generation: the prompt's last part, and a token in the middle of
/// the generated ones.
struct GenerationPlan {
  planner::Job job;
  ForwardPrediction prompt_part;
  Seconds token{0};
  std::int64_t parts = 0;
};

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

engine::GeneratedText::Decode decoder_of(const engine::Tokenizer* tokenizer) {
  if (tokenizer != nullptr) {
    return [tokenizer](std::span<const std::int32_t> tokens) {
      return tokenizer->decode(tokens, engine::Tokenizer::Special::skipped);
    };
  }
  return [](std::span<const std::int32_t> tokens) {
    std::string bytes;
    bytes.reserve(tokens.size());
    for (const std::int32_t token : tokens) {
      if (token < 256) bytes.push_back(static_cast<char>(token));
    }
    return sim::with_replacements(bytes);
  };
}

/// Text that was generated, what ended it, and how long it took.
struct Generated {
  std::string text, ended_by;
  std::vector<std::int32_t> tokens;
  Seconds prompt_time{0}, took{0};
};

Generated generate(engine::Generation& generation, engine::ForwardSession& session,
                   engine::GeneratedText& text, bool show) {
  Generated result;
  const auto began = SteadyClock::now();
  const auto give_out = [&](const std::string& more) {
    if (!show || more.empty()) return;
    std::fputs(more.c_str(), stdout);
    std::fflush(stdout);
  };
  const bool ended = generation.run(session, [&](std::int32_t token) {
    if (text.tokens().empty()) result.prompt_time = SteadyClock::now() - began;
    give_out(text.add(token));
    return !text.stopped();
  });
  if (!text.stopped()) give_out(text.finish());
  if (show) give_out("\n");
  result.took = SteadyClock::now() - began;
  result.ended_by = text.stopped() ? "stop" : ended ? "end" : "length";
  result.text = text.text();
  result.tokens = text.tokens();
  return result;
}

double tokens_per_s(const Generated& result) {
  const auto more = static_cast<double>(std::max<std::int64_t>(0, std::ssize(result.tokens) - 1));
  const Seconds time = result.took - result.prompt_time;
  return time.count() > 0 ? more / time.count() : 0;
}

/// Warns where prompt and new tokens go beyond the positions that the model was made for.
void warn_of_positions(const planner::ModelShape& model, std::int64_t prompt, std::int64_t more) {
  const auto most = model.max_positions;
  if (!most || prompt + more <= *most) return;
  sim::warn(fmt::format(
      "the prompt's {} tokens and up to {} new ones go beyond the {} positions that the model was "
      "made for (max_position_embeddings): what it writes there means little; give a shorter "
      "prompt, or --max-new-tokens",
      prompt, more, *most));
}

/// Sets the sizes of a run to one sequence that holds the prompt and the new tokens.
void set_sizes(planner::RunConfig& config, std::int64_t tokens) {
  config.seq_len = tokens;
  config.batch_size = config.micro_batch = config.groups = 1;
  config.packing = planner::Packing::stream;
}

Seconds prompt_time(const GenerationPlan& plan) {
  return static_cast<double>(plan.parts) * to_seconds(plan.prompt_part.pass);
}

/// Plan of the generation that is about to begin, as JSON and as text.
sim::Json plan_json(const GenerationPlan& plan, std::int64_t prompt, std::int64_t more) {
  const planner::Job& job = plan.job;
  sim::Json out = {{"version", 1},
                   {"model", job.model.name},
                   {"parameters", parameter_count(job.model)},
                   {"compute", job.compute == planner::ComputeType::bf16 ? "bf16" : "fp32"},
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

sim::Json result_json(const Generated& result, const std::vector<std::int32_t>& prompt,
                      const std::string& weights_from) {
  return {{"weights_from", weights_from},
          {"prompt_ids", prompt},
          {"ids", result.tokens},
          {"new_tokens", result.tokens.size()},
          {"text", result.text},
          {"ended_by", result.ended_by},
          {"prompt_s", result.prompt_time.count()},
          {"seconds", result.took.count()},
          {"tokens_per_s", tokens_per_s(result)}};
}

std::string result_text(const Generated& result) {
  return fmt::format("{} tokens, ended by {}: {} for the first, then {:.2f} tokens/s\n",
                     result.tokens.size(), result.ended_by,
                     planner::format_seconds(result.prompt_time), tokens_per_s(result));
}

}  // namespace

int run_generate(const Arguments& arguments) {
  ForwardSubject subject(arguments, generate_verb());
  GenerateRequest asked = read_generate_request(subject.request());
  planner::RunConfig& config = subject.config();
  if (config.backend) engine::require_backend(*config.backend);
  const auto tokenizer = subject.open_tokenizer();
  std::vector<std::int32_t> ends;
  if (!asked.ignore_end) {
    ends = end_tokens(subject.model_folder());
    if (const engine::CheckpointFacts* facts = subject.facts()) {
      const std::vector<std::int32_t> turns = turn_ends(*facts, subject.model_folder());
      ends.insert(ends.end(), turns.begin(), turns.end());
    }
  }
  if (asked.chat) {
    const ChatPrompt chat = chat_prompt(asked, subject.model_folder(), subject.data_config());
    asked.prompt = chat.text;
    asked.no_special = true;  // The template writes them.
    const auto end = chat.turn_end ? tokenizer->find(*chat.turn_end) : std::nullopt;
    if (end && !asked.ignore_end) ends.push_back(*end);
  }
  const std::vector<std::int32_t> prompt = prompt_tokens(asked, tokenizer.get());
  const auto count = std::ssize(prompt);
  set_sizes(config, count + asked.new_tokens);
  const planner::Request planning = subject.resolve();
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  require_executable(planning.predictor.job());
  require_vocabulary(*std::ranges::max_element(prompt) + 1, planning.predictor.job().model.vocab);
  warn_of_positions(planning.predictor.job().model, count, asked.new_tokens);
  auto found = plan_generation(planning.predictor, count, asked.new_tokens);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
    return refuse_forward(*infeasible, asked.json);
  }
  const GenerationPlan& plan = std::get<GenerationPlan>(found);
  sim::Json out = plan_json(plan, count, asked.new_tokens);
  const std::string beginning = plan_text(plan, machine, count, asked.new_tokens);
  if (asked.dry_run) {
    cli::print(asked.json ? out.dump(2) + "\n" : beginning);
    return static_cast<int>(ExitCode::done);
  }
  if (asked.verbose) std::fputs(beginning.c_str(), stderr);

  auto device = subject.load(plan.job, machine, plan.prompt_part.graph);
  engine::Generation generation(
      plan.job, prompt,
      {.new_tokens = asked.new_tokens, .end_tokens = std::move(ends), .sampler = asked.sampler});
  engine::ForwardSession session(ForwardGoal::next_token, plan.prompt_part.graph, std::move(device),
                                 generation);
  engine::GeneratedText text(decoder_of(tokenizer.get()), asked.stops);
  const Generated result = generate(generation, session, text, !asked.json);
  if (asked.json) {
    out.update(result_json(result, prompt, subject.weights_from()));
    cli::print(out.dump(2) + "\n");
  } else if (asked.verbose) {
    std::fputs(result_text(result).c_str(), stderr);
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
