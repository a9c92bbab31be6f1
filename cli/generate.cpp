// `sluice generate MODEL|RUNDIR --prompt TEXT`: prints text that continues a prompt, as it is
// generated.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/forward/chat_prompt.hpp"
#include "cli/forward/forward_subject.hpp"
#include "cli/forward/generate_request.hpp"
#include "cli/forward/generated.hpp"
#include "cli/forward/generation_plan.hpp"
#include "cli/forward/talk.hpp"
#include "cli/forward/turn_ends.hpp"
#include "cli/shown/prediction_table.hpp"
#include "engine/backends/backend.hpp"
#include "engine/datasets/open_text.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

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
    planner::RunConfig data = subject.data_config();
    if (const auto date = subject.request().value("--date")) data.date_string = *date;
    // A run's date is the one that it trained with.
    if (subject.facts() == nullptr) engine::fix_date(data);
    const engine::ChatTemplate chat = open_chat(subject.model_folder(), data);
    subject.tell_of_template(chat.sources());
    asked.no_special = true;  // The template writes them.
    const auto end = chat.turn_end() ? tokenizer->find(*chat.turn_end()) : std::nullopt;
    if (end && !asked.ignore_end) ends.push_back(*end);
    if (asked.talk) return talk({subject, asked, chat, *tokenizer, ends});
    asked.prompt = chat.render_prompt(conversation_of(asked));
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
  engine::ForwardSession session(planner::ForwardGoal::next_token, plan.prompt_part.graph,
                                 std::move(device), generation);
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
