#include "cli/forward/forward_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/shown/amount_bar.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/words/parse_run.hpp"
#include "engine/backends/backend.hpp"
#include "engine/datasets/usable_tokenizer.hpp"
#include "engine/forward/forward_weights.hpp"
#include "engine/model_files/adapter_folder.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/runs/foreign_keys.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using planner::Tier;
using std::filesystem::path;

std::unique_ptr<engine::Checkpoint> newest_of(const path& run) {
  auto found = engine::newest_checkpoint(run / "checkpoints", [](const std::string& reason) {
    sim::warn("skipping a damaged checkpoint: " + reason);
  });
  if (!found) {
    throw BadRequest((run / "checkpoints").string() +
                     " holds no intact checkpoint: train the run without --no-checkpoint, or give "
                     "a model folder");
  }
  return found;
}

/// Refuses a plan given on the command line; a plan in a run folder's run.yaml is for training and
/// is ignored.
void refuse_plans(const planner::RunArguments& request, const std::string& verb) {
  for (const std::string& path : request.stated) {
    const std::string first = path.substr(0, path.find('.'));
    if (first != "plan" && first != "policy") continue;
    throw BadRequest(path + ": is of a training step, and " + verb +
                     " makes forward passes alone, with a plan of its own: leave it out");
  }
}

}  // namespace

ForwardSubject::ForwardSubject(const Arguments& arguments, const ForwardVerb& verb) {
  std::vector<std::string> words = arguments.strings;
  const bool named = !words.empty() && !words.front().starts_with("-");
  if (named) {
    word_ = words.front();
    if (std::filesystem::exists(path(word_) / "run.yaml")) {
      run_ = word_;
      words.front() = (*run_ / "run.yaml").string();
    } else {
      if (std::filesystem::exists(path(word_) / "checkpoint.json")) checkpoint_folder_ = word_;
      words.insert(words.begin(), "--model");
    }
  }
  request_ = parse_run({words}, verb.usage, verb.flags);
  planner::RunConfig& config = request_.config;
  if (config.model.empty()) {
    throw BadRequest(verb.name + ": give a model folder, a run folder or a checkpoint first (" +
                     verb.usage + ")");
  }
  engine::require_no_adapter(config.model);
  refuse_plans(request_, verb.name);
  if (!named) word_ = config.model;
  config.plan.reset();
  config.policy.reset();
  config.plan_overrides.clear();
  config.policy_overrides.clear();
  config.residency = planner::Residency::automatic;
}

const engine::Checkpoint* ForwardSubject::checkpoint() {
  if (checkpoint_) return checkpoint_.get();
  if (run_) checkpoint_ = newest_of(*run_);
  if (checkpoint_folder_) checkpoint_ = std::make_unique<engine::Checkpoint>(*checkpoint_folder_);
  return checkpoint_.get();
}

const engine::CheckpointFacts* ForwardSubject::facts() {
  const engine::Checkpoint* found = checkpoint();
  return found == nullptr ? nullptr : &found->facts();
}

const engine::TokenizerPlace& ForwardSubject::tokenizer_place() {
  if (place_) return *place_;
  if (const engine::Checkpoint* found = checkpoint()) {
    place_ = engine::tokenizer_place_of(found->folder(), found->facts(), found->shape().vocab);
  } else {
    place_ = engine::find_tokenizer_place(request_.config.model);
  }
  return *place_;
}

bool ForwardSubject::states(const std::string& path) const {
  return std::ranges::any_of(request_.stated, [&path](const std::string& each) {
    return planner::our_path(each) == path;
  });
}

planner::Request ForwardSubject::resolve() {
  planner::RunConfig& config = request_.config;
  if (const engine::Checkpoint* found = checkpoint()) {
    if (run_ ? states("model") : config.model != word_) {
      planner::ModelShape other = planner::find_model(config.model);
      other.name = found->shape().name;
      if (other != found->shape()) {
        throw BadRequest("model: " + config.model + " is not the model of " +
                         found->folder().string() + ": leave model= out");
      }
    }
    config.kept_model = found->folder();
  }
  return planner::resolve(config);
}

planner::RunConfig ForwardSubject::data_config() {
  planner::RunConfig data = request_.config;
  const engine::Checkpoint* found = checkpoint();
  if (found == nullptr) return data;
  data.model = found->folder().string();
  if (!run_) {
    const planner::RunConfig trained = planner::run_from_yaml(
        found->facts().run_yaml, (found->folder() / "checkpoint.json").string());
    if (!states("date_string")) data.date_string = trained.date_string;
    if (!states("data_reading")) data.data_reading = trained.data_reading;
  }
  const auto& folder = tokenizer_place().folder;
  if (!states("template") && folder &&
      engine::keeps_template(*folder, found->facts().template_sha256)) {
    data.chat_template.reset();
  }
  return data;
}

void ForwardSubject::tell_of_template(const engine::ChatSources& sources) {
  const auto named = data_config().chat_template;
  const engine::CheckpointFacts* trained = facts();
  if (!named || states("template") || trained == nullptr) return;
  engine::tell_of_unkept_template(*named, sources, trained->template_sha256);
}

const engine::StateSource& ForwardSubject::open_weights(const planner::ModelShape& shape) {
  if (const engine::Checkpoint* found = checkpoint()) {
    weights_from_ = found->folder().string();
    return *found;
  }
  engine::require_weights_of_id(request_.config.model);
  const auto folder = engine::find_model_folder(request_.config.model);
  const std::vector<path> files = folder ? engine::weight_files(*folder) : std::vector<path>{};
  if (files.empty()) {
    throw BadRequest("model: " + word_ +
                     " holds no weights: give a Hugging Face folder with safetensors files, a run "
                     "folder or a checkpoint");
  }
  weights_from_ = folder->string();
  weights_ = std::make_unique<engine::ModelWeights>(files, shape);
  if (const auto unused = weights_->unused_head()) sim::warn(*unused);
  if (const auto carried = weights_->not_trained()) sim::note(*carried);
  return *weights_;
}

std::unique_ptr<engine::Device> ForwardSubject::load(const planner::Job& job,
                                                     const planner::ResolvedMachine& machine,
                                                     const planner::StepGraph& graph) {
  engine::require_backend(machine.profile.device);
  const engine::StateSource& weights = open_weights(job.model);
  constexpr std::int64_t kNoOptimizer = 1;
  auto device = engine::make_device(job, machine, graph.layout, kNoOptimizer);
  AmountBar bar("loading weights");
  engine::load_forward_weights(
      job, graph, *device, weights,
      [&bar](std::int64_t done, std::int64_t all) { bar.show(done, all); });
  return device;
}

std::unique_ptr<engine::Tokenizer> ForwardSubject::open_tokenizer() {
  if (request_.config.data_format == planner::DataFormat::bytes) return nullptr;
  const auto tokenizer = engine::usable_tokenizer(tokenizer_place(), data_config().data_reading);
  return tokenizer ? std::make_unique<engine::Tokenizer>(tokenizer->load()) : nullptr;
}

void require_vocabulary(std::int64_t tokens, std::int64_t vocab) {
  if (tokens <= vocab) return;
  throw BadRequest("model: vocab " + std::to_string(vocab) + " is smaller than the " +
                   std::to_string(tokens) +
                   " that the text has: choose the model that the tokenizer belongs to");
}

int refuse_forward(const planner::Infeasible& infeasible, bool json) {
  print(json ? planner::to_json_text(infeasible) : infeasible_table(infeasible));
  return static_cast<int>(ExitCode::does_not_fit);
}

sim::Json forward_json(const planner::ForwardPrediction& prediction) {
  sim::Json memory = sim::Json::object();
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    const planner::TierMemory& used = at(prediction.memory, tier);
    sim::Json parts = sim::Json::object();
    for (const auto& [part, bytes] : used.parts) parts[part] = bytes.count();
    memory[to_string(tier)] = {{"peak_bytes", used.peak.count()},
                               {"capacity_bytes", used.capacity.count()},
                               {"parts", parts}};
  }
  return {{"fits", true},
          {"units", prediction.plan.weights.size()},
          {"resident_units", prediction.plan.resident()},
          {"weight_buffers", prediction.plan.weight_buffers},
          {"streamed_bytes", prediction.streamed.count()},
          {"pass_s", to_seconds(prediction.pass).count()},
          {"pass_s_low", prediction.pass_low.count()},
          {"pass_s_high", prediction.pass_high.count()},
          {"memory", memory}};
}

std::string forward_table(const planner::ForwardPrediction& prediction) {
  const std::size_t units = prediction.plan.weights.size();
  std::string text =
      fmt::format("weights      {} of {} units stay in hbm", prediction.plan.resident(), units);
  if (prediction.streamed.count() > 0) {
    text += fmt::format("; {} a pass stream through {} buffers",
                        planner::format_bytes(prediction.streamed), prediction.plan.weight_buffers);
  }
  return text + "\n" + memory_table(prediction.memory);
}

}  // namespace sluice::cli
