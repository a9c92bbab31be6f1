#include "cli/shown/model_files_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/shown/model_table.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using std::filesystem::path;

/// Most names of tensors that one line of text lists.
constexpr std::size_t kMostNames = 4;

/// The kind of a tokenizer: of a tokenizer.json that of its model ("BPE", "Unigram", ...).
std::string kind_of(const engine::TokenizerFolder& tokenizer) {
  const path& file = tokenizer.main_file();
  if (tokenizer.form == engine::TokenizerForm::vocabulary_and_merges) return "BPE";
  if (tokenizer.form == engine::TokenizerForm::sentencepiece) return "SentencePiece";
  const sim::JsonDocument json = sim::parse_json(planner::read_whole_file(file), file.string());
  const auto model = sim::JsonObject(json, file.string()).find_object("model");
  return model ? model->find_text("type").value_or("BPE") : "BPE";
}

void find_tokenizer_in(const engine::TokenizerPlace& place, ModelFiles& files) {
  if (place.folder) {
    const auto found = engine::find_tokenizer(*place.folder);
    if (const auto* tokenizer = std::get_if<engine::TokenizerFolder>(&found)) {
      files.tokenizer_file = tokenizer->main_file().string();
      (void)tokenizer->load();  // Refuses what is not read.
      files.tokenizer_kind = kind_of(*tokenizer);
      return;
    }
    const auto& none = std::get<engine::NoTokenizer>(found);
    if (!place.bytes || none.has_files) {
      files.tokenizer_problem = none.why;
      return;
    }
  }
  files.tokenizer_kind = "bytes";
}

std::optional<std::string> template_in(const path& folder) {
  const path jinja = folder / "chat_template.jinja";
  if (std::filesystem::exists(jinja)) return jinja.string();
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const path file = folder / name;
    if (!std::filesystem::exists(file)) continue;
    const sim::JsonDocument json = sim::parse_json(planner::read_whole_file(file), file.string());
    if (sim::JsonObject(json, file.string()).has("chat_template")) return file.string();
  }
  return std::nullopt;
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMostNames, ", "),
                     names.size() - kMostNames);
}

std::string weights_text(const engine::WeightsReport& report) {
  std::string dtypes;
  for (const auto& [dtype, count] : report.dtypes) {
    dtypes += (dtypes.empty() ? "" : " and ") + dtype;
  }
  std::string text = fmt::format("{} of {} in {} file{}", planner::format_bytes(report.bytes),
                                 dtypes, report.files, report.files == 1 ? "" : "s");
  if (report.stacked_experts) text += ", the experts of a block in one tensor";
  return text;
}

}  // namespace

ModelFiles read_model_files(const std::string& name, const planner::ModelShape& shape) {
  ModelFiles files;
  try {
    const engine::TokenizerPlace place = engine::find_tokenizer_place(name);
    if (place.folder) files.template_file = template_in(*place.folder);
    find_tokenizer_in(place, files);
  } catch (const BadRequest& error) {
    files.tokenizer_problem = error.what();
  }
  if (const auto folder = engine::find_model_folder(name)) {
    files.folder = folder->string();
    files.weights = engine::report_weights(*folder, shape);
  }
  return files;
}

sim::Json model_files_json(const ModelFiles& files) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? sim::Json() : sim::Json(text);
  };
  const engine::WeightsReport& report = files.weights;
  sim::Json json = {
      {"tokenizer",
       {{"kind", text_or_null(files.tokenizer_kind)},
        {"file", text_or_null(files.tokenizer_file)},
        {"problem", text_or_null(files.tokenizer_problem)}}},
      {"template", files.template_file ? sim::Json(*files.template_file) : sim::Json()},
      {"weights", nullptr}};
  const bool none = report.files == 0 && report.refused.empty();
  if (!files.folder || none) return json;
  sim::Json misfits = sim::Json::array();
  for (const engine::TensorMisfit& each : report.misfits) {
    misfits.push_back({{"name", each.name}, {"found", each.found}, {"wanted", each.wanted}});
  }
  json["weights"] = {{"folder", *files.folder},
                     {"files", report.files},
                     {"bytes", report.bytes.count()},
                     {"dtypes", sim::Json::object()},
                     {"missing", report.missing},
                     {"surplus", report.surplus},
                     {"unread", report.unread},
                     {"misfits", std::move(misfits)},
                     {"stacked_experts", report.stacked_experts},
                     {"problem", text_or_null(report.refused)}};
  for (const auto& [dtype, count] : report.dtypes) json["weights"]["dtypes"][dtype] = count;
  return json;
}

std::string model_files_table(const ModelFiles& files) {
  std::string text;
  if (files.tokenizer_problem.empty()) {
    text += fact_line("tokenizer", files.tokenizer_kind == "bytes"
                                       ? "none: byte values are the tokens"
                                       : files.tokenizer_kind + ": " + files.tokenizer_file);
  } else {
    text += fact_line("tokenizer", "none that is read: " + files.tokenizer_file +
                                       (files.tokenizer_file.empty() ? "" : ": ") +
                                       files.tokenizer_problem);
  }
  text += fact_line("template", files.template_file.value_or("none"));
  const engine::WeightsReport& report = files.weights;
  if (report.files == 0) {
    text += fact_line("weights", !report.refused.empty()
                                     ? "refused: " + report.refused
                                     : std::string("none here: training begins with random ones"));
    return text;
  }
  text += fact_line("weights", weights_text(report));
  if (!report.refused.empty()) text += fact_line("refused", report.refused);
  if (!report.missing.empty()) {
    text += fact_line("missing", fmt::format("{} tensors: {}", report.missing.size(),
                                             names_text(report.missing)));
  }
  if (!report.surplus.empty()) {
    text += fact_line("surplus", fmt::format("{} tensors: {}", report.surplus.size(),
                                             names_text(report.surplus)));
  }
  for (const engine::TensorMisfit& each : report.misfits) {
    text += fact_line("misfit", each.name + " has shape " + each.found +
                                    ", and config.json makes it " + each.wanted);
  }
  if (!report.unread.empty()) {
    text += fact_line("passed over", fmt::format("{} tensors: {}", report.unread.size(),
                                                 names_text(report.unread)));
  }
  return text;
}

}  // namespace sluice::cli
