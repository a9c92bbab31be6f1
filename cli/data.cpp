// `sluice data RUN`: what a run's data amount to, before anything is trained.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/shown/amount_bar.hpp"
#include "cli/shown/data_text.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/words/parse_run.hpp"
#include "engine/datasets/decoded_row.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "profiler/training/data_notes.hpp"
#include "profiler/training/kept_run.hpp"
#include "profiler/training/train_request.hpp"
#include "profiler/training/train_state.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

constexpr std::int64_t kUsualRows = 3;

std::vector<planner::VerbFlag> data_flags() {
  using Takes = planner::VerbFlag::Takes;
  return {{"--rows", Takes::value, "rows to show (3)"},
          {"--strict", Takes::nothing, "list and refuse every row that would be left out"},
          {"--json", Takes::nothing, "one JSON object (docs/schemas/data.schema.json)"}};
}

LearntMarks marks_of_output() {
  const bool plain = isatty(STDOUT_FILENO) == 0 || std::getenv("NO_COLOR") != nullptr;
  return plain ? LearntMarks::brackets : LearntMarks::colours;
}

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
  profiler::require_vocabulary(text, *shape);
}

}  // namespace

int run_data(const Arguments& arguments) {
  const planner::RunArguments words = parse_run(
      arguments, "sluice data RUN [--rows N] [--strict] [--json] [run flags]", data_flags());
  planner::RunConfig config = words.config;
  if (words.has("--strict")) config.strict = true;
  const bool begun = words.run_file && (words.run_file->filename() == "run.yaml" ||
                                        std::filesystem::is_directory(*words.run_file));
  if (!begun) engine::fix_date(config);  // What `train` would begin with today.
  if (begun) {
    const std::filesystem::path& file = *words.run_file;
    const bool folder = std::filesystem::is_directory(file);
    const auto kept = profiler::use_kept_model(config, folder ? file : file.parent_path());
    config = profiler::data_config(config, kept);
  }
  if (config.data.empty())
    throw BadRequest("data is missing: give --data FILE, or data: FILE in RUN.yaml");
  if (config.model.empty()) throw BadRequest("model is missing: give --model MODEL");
  if (config.seq_len < 1) throw BadRequest("seq_len is missing: give --seq-len N");
  const auto rows = words.value("--rows");
  const std::int64_t shown = rows ? planner::parse_count(*rows, "--rows") : kUsualRows;
  const auto text = profiler::text_of(config, amount_shown("cutting text into tokens"));
  require_vocabulary_of(config, *text);
  engine::DataSummary summary = text->summary(shown);
  if (std::ssize(summary.first_rows) > 0) decode_rows(summary, config);
  const auto packed = text->if_packed();
  if (words.has("--json")) {
    print(data_json(summary, packed));
  } else {
    print(data_text(summary, packed, marks_of_output()));
  }
  for (const std::string& warning : profiler::data_warnings(summary)) sim::warn(warning);
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
