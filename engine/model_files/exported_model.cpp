#include "engine/model_files/exported_model.hpp"

#include <nlohmann/json.hpp>

#include "engine/model_files/end_tokens.hpp"
#include "engine/model_files/export_tensors.hpp"
#include "engine/model_files/model_config.hpp"
#include "engine/model_files/model_origin.hpp"
#include "engine/model_files/safetensors_writer.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "engine/run_folders/tokenizer_files.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

const std::string kGeneration = "generation_config.json";
const std::string kConfig = "tokenizer_config.json";
constexpr const char* kTemplate = "chat_template.jinja";

void require_free(const path& out) {
  std::error_code error;
  if (!std::filesystem::exists(out, error)) return;
  if (std::filesystem::is_directory(out, error) && std::filesystem::is_empty(out, error)) return;
  throw BadRequest("-o: " + out.string() + " exists already: give another folder");
}

void write_text(const path& file, const std::string& text) {
  WrittenFile out(file);
  out.append(text);
  (void)out.finish();
}

/// The text of tokenizer_config.json with the template of `file`, which programs that know of both
/// read, where it has one itself: older programs read that one alone.
std::string with_template(const std::string& text, const path& file, const std::string& where) {
  if (!std::filesystem::is_regular_file(file)) return text;
  nlohmann::ordered_json config = sim::json_tree(sim::parse_json(text, where).root());
  const std::string chosen = planner::read_whole_file(file);
  if (!config.is_object() || !config.contains("chat_template")) return text;
  if (config["chat_template"] == chosen) return text;
  config["chat_template"] = chosen;
  return config.dump(2) + "\n";
}

std::string exported_config(const Checkpoint& checkpoint, const ExportOptions& options,
                            TextNames form) {
  const std::string where = (checkpoint.folder() / "config.json").string();
  // Without the other parts of a model that sees or hears, what is exported is its text model.
  std::string config = form == TextNames::own && is_wrapper(checkpoint.config(), where)
                           ? planner::config_from_shape(checkpoint.shape())
                           : checkpoint.config();
  config = written_config(config, options.type, where);
  return options.experts == ExpertNumbers::mxfp4 ? with_mxfp4(config, where) : config;
}

}  // namespace

ExportedModel export_model(const Checkpoint& checkpoint, const ExportOptions& options,
                           const std::function<void(std::int64_t)>& progress) {
  path out = std::filesystem::absolute(options.out).lexically_normal();
  if (!out.has_filename()) out = out.parent_path();  // The path ends with a slash.
  require_free(out);
  FolderInWriting folder(out);
  ExportedModel exported;
  const auto origin = open_origin(checkpoint);
  write_text(folder.hidden() / "config.json",
             exported_config(checkpoint, options, origin ? origin->form : TextNames::own));
  const WrittenTensors written =
      write_tensors({.folder = folder.hidden(),
                     .name = "model",
                     .part = StatePart::weights,
                     .most = options.shard},
                    export_tensors(checkpoint.shape(), origin, options), checkpoint, progress);
  exported.weights = written.files;
  if (origin) {
    exported.carried = *checkpoint.facts().carried;
    exported.carried_parts = parts_of(origin->carried);
  }
  if (options.experts == ExpertNumbers::mxfp4) exported.mxfp4_error = written.mxfp4.relative();
  const auto source = tokenizer_folder_of(checkpoint);
  if (source && std::filesystem::is_directory(*source)) {
    exported.source = source;
    for (const char* name : kTokenizerFiles) {
      if (!std::filesystem::is_regular_file(*source / name)) continue;
      std::string text = planner::read_whole_file(*source / name);
      if (name == kConfig) text = with_template(text, *source / kTemplate, name);
      if (name == kGeneration) {
        text = with_end_tokens(text, checkpoint.config(), options.end_tokens, name);
      }
      write_text(folder.hidden() / name, text);
      exported.copied.emplace_back(name);
    }
  }
  const path generation = folder.hidden() / kGeneration;
  if (!options.end_tokens.empty() && !std::filesystem::exists(generation)) {
    const std::string text =
        with_end_tokens("", checkpoint.config(), options.end_tokens, kGeneration);
    if (!text.empty()) write_text(generation, text);
  }
  folder.commit();
  return exported;
}

}  // namespace sluice::engine
