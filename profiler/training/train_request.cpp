#include "profiler/training/train_request.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/backends/backend.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/model_files/adapter_folder.hpp"
#include "engine/model_files/model_weights.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/model_source.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/models/config_notes.hpp"
#include "planner/policies/run_job.hpp"
#include "profiler/doctor/doctor.hpp"
#include "profiler/training/kept_run.hpp"
#include "profiler/training/run_files.hpp"
#include "profiler/training/train_state.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::profiler {
namespace {

void require_trainable(const planner::RunConfig& config) {
  if (config.data.empty()) {
    throw BadRequest("data is missing: give --data FILE, or data: FILE in RUN.yaml");
  }
  if (config.steps < 1) throw BadRequest("steps: must be at least 1");
}

/// Says what the model's config.json states and is not done as stated.
void note_of_config(const planner::RunConfig& config, const planner::ModelShape& shape) {
  const std::string text = planner::config_text(planner::find_model_source(model_place(config)));
  for (const std::string& note : planner::config_notes(text, shape)) sim::note("model: " + note);
}

/// Converts the epochs of a run to steps, rounded up, and shares of the run and of epochs with
/// them.
void settle_steps(planner::RunConfig& config, const engine::WindowedText& text) {
  const auto windows = static_cast<double>(text.training_windows());
  const auto batch = static_cast<double>(config.batch_size);
  if (config.epochs) {
    const double steps = std::ceil(*config.epochs * windows / batch);
    config.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
    config.epochs.reset();
  }
  settle_cadences(config, windows / batch);
}

/// Fixes the number of groups, where the run leaves it to the number of devices, to what it was
/// when the run began.
void settle_groups(planner::RunConfig& config,
                   const std::optional<std::filesystem::path>& resumed) {
  if (config.groups) return;
  config.groups = config.devices;
  if (!resumed) return;
  const std::filesystem::path began = *resumed / "run.yaml";
  config.groups = std::filesystem::exists(began) ? planner::read_run(began).groups.value_or(1) : 1;
}

}  // namespace

void require_vocabulary(const engine::WindowedText& text, const planner::ModelShape& model) {
  if (model.vocab >= text.vocabulary()) return;
  if (const auto token = text.token_beyond(model.vocab)) {
    throw BadRequest("data: " + *token + " is beyond the model's vocabulary, 0 to " +
                     std::to_string(model.vocab - 1) + ": cut the text with the model's tokenizer");
  }
  throw BadRequest("model: vocab " + std::to_string(model.vocab) + " is smaller than the " +
                   std::to_string(text.vocabulary()) + " that the data have (" +
                   text.description() + "): choose another model");
}

void warn_of_positions(const planner::Job& job) {
  const auto most = job.model.max_positions;
  if (!most || job.seq_len <= *most) return;
  sim::warn(
      "seq_len " + std::to_string(job.seq_len) + " is above the model's max_position_embeddings (" +
      std::to_string(*most) +
      "): positions beyond it are new to the model, and programs that read the export may cut "
      "texts there; raise it in config.json, or lower seq_len");
}

void require_healthy(const planner::RunConfig& config) {
  DoctorOptions options;
  if (config.out) options.runs = config.out->parent_path();
  options.store = planner::Store::of_user().root();
  require_healthy(examine_machine(options));
}

TrainRequest read_train_request(planner::RunConfig config, TrainOptions options,
                                RunObserver& observer,
                                const std::optional<planner::Policy>& policy) {
  if (config.backend && !options.dry) engine::require_backend(*config.backend);
  if (!options.resumed && !config.model.empty()) {
    engine::require_no_adapter(config.model);
    engine::require_readable_weights(config.model, planner::find_model(config.model));
  }
  settle_groups(config, options.resumed);
  const auto kept = options.resumed ? use_kept_model(config, *options.resumed) : std::nullopt;
  planner::Request planning = planner::resolve(config, planner::Store::of_user(), policy);
  require_trainable(config);
  if (!options.dry) engine::require_backend(planning.predictor.machine().profile.device);
  if (!options.resumed) {
    engine::fix_date(config);
    if (!config.data_reading) config.data_reading = planner::DataReading::present;
  }
  if (!options.resumed || !config.working_folder) {
    config.working_folder = std::filesystem::current_path();
  }
  planner::RunConfig read_as = data_config(config, kept);
  const bool automatic = config.data_format == planner::DataFormat::automatic ||
                         config.data_format == planner::DataFormat::text;
  if (options.resumed && automatic && !engine::has_token_ids(config) &&
      trained_on_bytes(*options.resumed, read_as, kept)) {
    read_as.data_format = planner::DataFormat::bytes;
  }
  const AmountShown cutting = observer.amount("cutting text into tokens");
  const auto begun = options.resumed ? engine::kept_model_of(*options.resumed) : std::nullopt;
  std::unique_ptr<engine::WindowedText> text =
      begun ? text_as_begun(read_as, begun->facts.data_sha256, cutting) : text_of(read_as, cutting);
  config.data_reading = read_as.data_reading;
  settle_steps(config, *text);
  require_steps_to_trace(options.trace_out, config.steps);
  require_vocabulary(*text, planning.predictor.job().model);
  warn_of_positions(planning.predictor.job());
  note_of_config(config, planning.predictor.job().model);
  if (!options.dry) require_healthy(config);
  if (options.trace_out && !options.dry) planner::require_writable(*options.trace_out);
  if (!options.saves) config.save_every = 0;
  return {.config = std::move(config),
          .planning = std::move(planning),
          .text = std::move(text),
          .options = std::move(options)};
}

}  // namespace sluice::profiler
