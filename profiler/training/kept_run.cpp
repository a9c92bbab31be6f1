#include "profiler/training/kept_run.hpp"

#include "engine/chat/kept_template.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using std::filesystem::path;

/// Whether two runs mean the same by what they call a model or a template: equal names, or paths
/// that are equal within the folder in which `config` was started.
bool same_place(const std::string& one, const std::string& other,
                const planner::RunConfig& config) {
  const path folder = config.working_folder.value_or(std::filesystem::current_path());
  return (folder / one).lexically_normal() == (folder / other).lexically_normal();
}

/// The run as it stated itself when it wrote the checkpoint.
planner::RunConfig stated_by(const engine::KeptModel& kept) {
  return planner::run_from_yaml(kept.facts.run_yaml, (kept.folder / "checkpoint.json").string());
}

}  // namespace

std::optional<engine::KeptModel> use_kept_model(planner::RunConfig& config, const path& run) {
  auto kept = engine::kept_model_of(run);
  if (!kept || !same_place(config.model, stated_by(*kept).model, config)) return std::nullopt;
  config.kept_model = kept->folder;
  return kept;
}

planner::RunConfig data_config(const planner::RunConfig& config,
                               const std::optional<engine::KeptModel>& kept) {
  planner::RunConfig data = config;
  if (!kept) return data;
  data.model = kept->folder.string();
  const auto stated = stated_by(*kept).chat_template;
  if (!config.chat_template || !stated || !same_place(*config.chat_template, *stated, config)) {
    return data;
  }
  const auto folder = engine::find_tokenizer_place(data.model).folder;
  if (folder && engine::keeps_template(*folder, kept->facts.template_sha256)) {
    data.chat_template.reset();
  }
  return data;
}

void tell_of_template(const planner::RunConfig& data, const std::optional<engine::KeptModel>& kept,
                      const engine::WindowedText& text) {
  if (!kept || !data.chat_template) return;
  const auto stated = stated_by(*kept).chat_template;
  if (!stated || !same_place(*data.chat_template, *stated, data)) return;
  const auto chat = text.chat();
  if (!chat) return;
  engine::tell_of_unkept_template(*data.chat_template, chat->sources, kept->facts.template_sha256);
}

bool trained_on_bytes(const path& run, const planner::RunConfig& data,
                      const std::optional<engine::KeptModel>& kept) {
  const bool unknown = !kept || !kept->facts.keeps_tokenizer;
  if (unknown && std::filesystem::is_directory(run / "tokenizer")) return false;
  const engine::TokenizerPlace place = engine::find_tokenizer_place(data.model);
  return !place.folder ||
         !std::holds_alternative<engine::TokenizerFolder>(engine::find_tokenizer(*place.folder));
}

}  // namespace sluice::profiler
