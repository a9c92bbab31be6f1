#include "cli/training/train_request.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/training/run_files.hpp"
#include "cli/training/train_state.hpp"
#include "engine/backends/backend.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "profiler/doctor/doctor.hpp"
#include "sim/error.hpp"

namespace sluice::cli {
namespace {

void require_trainable(const planner::RunConfig& config) {
  if (!config.data) {
    throw BadRequest("data is missing: give --data FILE, or data: FILE in RUN.yaml");
  }
  if (config.steps < 1) throw BadRequest("steps: must be at least 1");
}

void require_vocabulary(const engine::WindowedText& text, const planner::ModelShape& model) {
  if (model.vocab >= text.vocabulary()) return;
  throw BadRequest("model: vocab " + std::to_string(model.vocab) + " is smaller than the " +
                   std::to_string(text.vocabulary()) + " that the data have (" +
                   text.description() + "): choose another model");
}

/// Converts the epochs of a run to steps, rounded up.
void settle_steps(planner::RunConfig& config, const engine::WindowedText& text) {
  if (!config.epochs) return;
  const double sequences = *config.epochs * static_cast<double>(text.training_windows());
  const double steps = std::ceil(sequences / static_cast<double>(config.batch_size));
  config.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
  config.epochs.reset();
}

}  // namespace

std::vector<planner::VerbFlag> train_flags() {
  using Takes = planner::VerbFlag::Takes;
  return {
      {"--resume", Takes::nothing, "go on from the newest intact checkpoint of the run's folder"},
      {"--dry-run", Takes::nothing,
       "say whether it fits, its plan, how long it takes and what "
       "checkpoints cost; run nothing"},
      {"--rehearse", Takes::nothing,
       "time the true steps on a host that is too small: no data, no weights, nothing saved"},
      {"--no-checkpoint", Takes::nothing, "write no checkpoints (12 bytes a parameter)"},
      {"--json", Takes::nothing,
       "one JSON object (docs/schemas/train-result.schema.json, dry-run.schema.json)"},
      {"--trace-out", Takes::value, "write three consecutive measured steps"}};
}

void require_healthy(const planner::RunConfig& config) {
  profiler::DoctorOptions options;
  if (config.out) options.runs = config.out->parent_path();
  options.store = planner::Store::of_user().root();
  profiler::require_healthy(profiler::examine_machine(options));
}

TrainRequest read_train_request(const planner::RunArguments& words) {
  planner::RunConfig config = words.config;
  std::optional<std::filesystem::path> resumed;
  if (words.has("--resume")) resumed = folder_to_resume(words);
  const bool dry = words.has("--dry-run");
  if (config.backend && !dry) engine::require_backend(*config.backend);
  planner::RunPlanning planning = planner::planning_of(config);
  require_trainable(config);
  if (!dry) engine::require_backend(planning.predictor.machine().profile.device);
  std::unique_ptr<engine::WindowedText> text = text_of(config);
  settle_steps(config, *text);
  require_steps_to_trace(words, config.steps);
  require_vocabulary(*text, planning.predictor.job().model);
  if (!dry) require_healthy(config);
  const std::optional<std::string> trace_out = words.value("--trace-out");
  if (trace_out && !dry) planner::require_writable(*trace_out);
  return {.config = std::move(config),
          .planning = std::move(planning),
          .text = std::move(text),
          .resumed = std::move(resumed),
          .trace_out = trace_out,
          .dry = dry,
          .json = words.has("--json"),
          .saves = !words.has("--no-checkpoint")};
}

}  // namespace sluice::cli
