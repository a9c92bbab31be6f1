// `sluice eval MODEL|RUNDIR --data TEXT`: the perplexity of a text, by forward passes only.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/forward/evaluated.hpp"
#include "cli/forward/forward_subject.hpp"
#include "cli/shown/amount_bar.hpp"
#include "cli/shown/padding_text.hpp"
#include "cli/shown/prediction_table.hpp"
#include "engine/backends/backend.hpp"
#include "engine/forward/text_loss.hpp"
#include "profiler/training/train_request.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::ForwardGoal;
using SteadyClock = std::chrono::steady_clock;

ForwardVerb eval_verb() {
  using Takes = planner::VerbFlag::Takes;
  return {
      "eval",
      "sluice eval MODEL|RUNDIR --data TEXT [--stride N] [--dry-run] [--json] [run flags]",
      {{"--stride", Takes::value,
        "tokens from one window's start to the next one's (seq_len): less gives every token "
        "more before it"},
       {"--special-tokens", Takes::nothing, "add the tokenizer's special tokens around the text"},
       {"--dry-run", Takes::nothing, "show plan, memory and time, and read no weights"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/eval.schema.json)"}}};
}

/// Changes of the job that make an evaluation of the same text need less memory.
std::vector<planner::ForwardChange> smaller(const planner::Job& job) {
  std::vector<planner::ForwardChange> changes;
  const auto change = [&](const char* field, std::int64_t value, std::int64_t instead,
                          planner::Job smaller_job) {
    if (value >= instead) return;
    planner::Remedy remedy;
    remedy.what = fmt::format("{} {} instead of {}", field, value, instead);
    remedy.setting = fmt::format("{}={}", field, value);
    remedy.changes_bits = std::string_view(field) == "seq_len";
    changes.push_back({std::move(remedy), std::move(smaller_job)});
  };
  planner::Job fewer = job;
  fewer.loss_chunk = 64;
  change("loss_chunk", fewer.loss_chunk, std::min(job.loss_chunk, job.micro_tokens()), fewer);
  for (std::int64_t batch = job.batch_size / 2; batch >= job.micro_batch; batch /= 2) {
    planner::Job each = job;
    each.batch_size = batch / job.micro_batch * job.micro_batch;
    change("batch_size", each.batch_size, job.batch_size, each);
  }
  for (std::int64_t length = job.seq_len / 2; length >= 64; length /= 2) {
    planner::Job each = job;
    each.seq_len = length;
    change("seq_len", length, job.seq_len, each);
  }
  return changes;
}

sim::Json sizes_json(const planner::Job& job, const Evaluated& evaluated) {
  return {{"version", 1},
          {"model", job.model.name},
          {"parameters", parameter_count(job.model)},
          {"compute", to_string(job.compute)},
          {"seq_len", job.seq_len},
          {"stride", evaluated.stride},
          {"batch_size", job.batch_size},
          {"windows", evaluated.windows->count()},
          {"tokens", evaluated.tokens}};
}

/// Results of an evaluation as JSON.
sim::Json results_json(const engine::TextLoss& loss, const EvaluatedText& text, Seconds took) {
  const auto predicted = static_cast<double>(loss.predicted());
  const double mean = loss.nats() / predicted;
  sim::Json bits = nullptr;
  if (text.bytes > 0) bits = loss.nats() / std::numbers::ln2 / static_cast<double>(text.bytes);
  return {{"predicted_tokens", loss.predicted()},
          {"loss", mean},
          {"perplexity", std::exp(mean)},
          {"bits_per_byte", bits},
          {"seconds", took.count()},
          {"tokens_per_s", predicted / took.count()}};
}

/// Text about the evaluation that is about to begin.
std::string beginning_text(const planner::Request& planning, const planner::RunConfig& config,
                           const Evaluated& evaluated, const engine::TextLoss& loss,
                           const planner::ForwardPrediction& prediction) {
  const planner::Job& job = planning.predictor.job();
  const Seconds pass = to_seconds(prediction.pass);
  return fmt::format("{} ({} parameters) on {}: {} tokens of {} in {} windows of {}, {} a pass\n",
                     job.model.name,
                     planner::format_amount(static_cast<double>(parameter_count(job.model))),
                     planning.predictor.machine().profile.name, evaluated.tokens,
                     names_of(config.data), evaluated.windows->count(), job.seq_len,
                     job.batch_size) +
         forward_table(prediction) +
         fmt::format("predicted    {}: {} passes of {} (90 %: {} to {})\n",
                     planner::format_seconds(static_cast<double>(loss.passes()) * pass),
                     loss.passes(), planner::format_seconds(pass),
                     planner::format_seconds(prediction.pass_low),
                     planner::format_seconds(prediction.pass_high));
}

/// Line on the padding that packing a data set's documents saves; empty for a text, or if little.
std::string padding_line(const Evaluated& evaluated) {
  if (!evaluated.dataset) return "";
  const auto packed = profiler::notable_packing(*evaluated.dataset);
  return packed ? "padding      " + padding_text(*evaluated.dataset, *packed) + "\n" : "";
}

/// Runs all passes, showing a bar; returns the time they took.
Seconds evaluate(engine::ForwardSession& session, const engine::TextLoss& loss) {
  const auto began = SteadyClock::now();
  AmountBar bar("evaluating");
  session.run_to(loss.passes(), [&](std::int64_t pass) { bar.show(pass, loss.passes()); });
  return SteadyClock::now() - began;
}

void require_a_loss(const engine::TextLoss& loss, const planner::RunConfig& config,
                    const ForwardSubject& subject) {
  if (loss.predicted() == 0) {
    throw BadRequest("data: no token of " + names_of(config.data) + " is one to predict");
  }
  if (!std::isfinite(loss.nats())) {
    throw BadRequest("the loss is not a finite number: the weights of " + subject.weights_from() +
                     " are not usable");
  }
}

std::string results_text(const sim::Json& results, const std::string& weights_from) {
  std::string text = fmt::format(
      "weights of   {}\nloss         {:.6f} nats a token over {} tokens\nperplexity   {:.4f}\n",
      weights_from, results["loss"].get<double>(), results["predicted_tokens"].get<std::int64_t>(),
      results["perplexity"].get<double>());
  if (!results["bits_per_byte"].is_null()) {
    text += fmt::format("bits a byte  {:.4f}\n", results["bits_per_byte"].get<double>());
  }
  return text + fmt::format("took         {}: {:.0f} tokens/s\n",
                            planner::format_seconds(Seconds(results["seconds"].get<double>())),
                            results["tokens_per_s"].get<double>());
}

}  // namespace

int run_eval(const Arguments& arguments) {
  ForwardSubject subject(arguments, eval_verb());
  planner::RunConfig& config = subject.config();
  const bool json = subject.request().has("--json");
  if (config.backend) engine::require_backend(*config.backend);
  if (config.data.empty()) throw BadRequest("data is missing: give --data FILE");
  Evaluated evaluated = open_evaluated(subject);
  const planner::Request planning = subject.resolve();
  const planner::Job& job = planning.predictor.job();
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  require_executable(job);
  require_vocabulary(evaluated.vocabulary, job.model.vocab);
  profiler::warn_of_positions(job);
  engine::TextLoss loss(job, *evaluated.windows);

  const planner::ForwardRequest request{job, ForwardGoal::loss, machine,
                                        planning.predictor.costs()};
  auto found = planner::search_forward(request);
  if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
    infeasible->remedies = planner::forward_remedies(request, infeasible->memory, smaller(job));
    return refuse_forward(*infeasible, json);
  }
  const auto& prediction = std::get<planner::ForwardPrediction>(found);
  sim::Json out = sizes_json(job, evaluated);
  out.update(forward_json(prediction));
  out["passes"] = loss.passes();
  out["predicted_s"] = (static_cast<double>(loss.passes()) * to_seconds(prediction.pass)).count();
  if (!json) {
    print(beginning_text(planning, config, evaluated, loss, prediction) + padding_line(evaluated));
  }
  if (subject.request().has("--dry-run")) {
    if (json) print(out.dump(2) + "\n");
    return static_cast<int>(ExitCode::done);
  }

  engine::ForwardSession session(ForwardGoal::loss, prediction.graph,
                                 subject.load(job, machine, prediction.graph), loss);
  const Seconds took = evaluate(session, loss);
  require_a_loss(loss, config, subject);
  const sim::Json results = results_json(loss, evaluated.text, took);
  if (!json) {
    print(results_text(results, subject.weights_from()));
    return static_cast<int>(ExitCode::done);
  }
  out.update(results);
  out["weights_from"] = subject.weights_from();
  out["data"] = names_of(config.data);
  print(out.dump(2) + "\n");
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
