#include "profiler/training/shown_data.hpp"

#include <filesystem>
#include <variant>

#include "engine/datasets/decoded_row.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "profiler/training/kept_run.hpp"
#include "profiler/training/train_request.hpp"
#include "profiler/training/train_state.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

/// Gives rows that are shown as token ids their text, where the model has a tokenizer.
void decode_rows(engine::DataSummary& summary, const planner::RunConfig& config) {
  const std::filesystem::path file = summary.tokenizer;
  const auto folder =
      file.empty() ? engine::find_tokenizer_place(config.model).folder : file.parent_path();
  if (!folder) return;
  const auto found = engine::find_tokenizer(*folder);
  if (!std::holds_alternative<engine::TokenizerFolder>(found)) return;
  const engine::Tokenizer tokenizer = std::get<engine::TokenizerFolder>(found).load();
  for (engine::ShownRow& row : summary.first_rows) {
    if (row.pieces.empty()) row.pieces = engine::decoded(tokenizer, row.tokens);
  }
}

/// Refuses token ids that the model does not have, as training would; a folder of tokenizer files
/// alone is no model.
void require_vocabulary_of(const planner::RunConfig& config, const engine::WindowedText& text) {
  std::optional<planner::ModelShape> shape;
  try {
    shape = planner::find_model(config.model);
  } catch (const BadRequest&) {
    return;
  }
  require_vocabulary(text, *shape);
}

/// The config by which the run's data are read; sets `kept` where the run has begun.
planner::RunConfig read_as(const planner::RunArguments& run,
                           std::optional<engine::KeptModel>& kept) {
  planner::RunConfig config = run.config;
  const bool begun = run.run_file && (run.run_file->filename() == "run.yaml" ||
                                      std::filesystem::is_directory(*run.run_file));
  if (!begun) {
    engine::fix_date(config);  // What `train` would begin with today.
    return config;
  }
  const std::filesystem::path& file = *run.run_file;
  const bool folder = std::filesystem::is_directory(file);
  kept = use_kept_model(config, folder ? file : file.parent_path());
  return data_config(config, kept);
}

}  // namespace

ShownData show_data(const planner::RunArguments& run, std::int64_t rows, bool strict,
                    const AmountShown& progress) {
  std::optional<engine::KeptModel> kept;
  planner::RunConfig config = read_as(run, kept);
  if (strict) config.strict = true;
  if (config.data.empty()) {
    throw BadRequest("data is missing: give --data FILE, or data: FILE in RUN.yaml");
  }
  if (config.model.empty()) throw BadRequest("model is missing: give --model MODEL");
  if (config.seq_len < 1) throw BadRequest("seq_len is missing: give --seq-len N");
  // A folder may have a tokenizer alone; a name must lead to a model.
  if (!std::filesystem::is_directory(config.model)) (void)planner::find_model(config.model);
  const auto text =
      kept ? text_as_begun(config, kept->facts.data_sha256, progress) : text_of(config, progress);
  require_vocabulary_of(config, *text);
  tell_of_template(config, kept, *text);
  ShownData data{.summary = text->summary(rows), .packed = text->if_packed()};
  if (!data.summary.first_rows.empty()) decode_rows(data.summary, config);
  return data;
}

}  // namespace sluice::profiler
