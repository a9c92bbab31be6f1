// Sources of chat templates: shipped with Sluice, in a file, or in a model folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sluice::engine {

/// Jinja sources that serve as one template.
struct TemplateSources {
  std::string name;   ///< Name and place, for messages: "chatml (shipped)".
  std::string where;  ///< File of the source, for refusals; "template" for shipped ones.
  /// Source by name: "default", and "tool_use" for conversations with tools where a folder has it.
  std::map<std::string, std::string> texts;
  bool shipped = false;
};

/// Names of the templates that are shipped, with commas between.
[[nodiscard]] std::string shipped_template_names();

/// The template called `name`: a shipped one, a .jinja file, or one of the folder's several. Throws
/// BadRequest listing the names if there is none.
[[nodiscard]] TemplateSources named_template(const std::filesystem::path& model_folder,
                                             const std::string& name);

/// The folder's own template: chat_template.jinja with additional_chat_templates, else
/// chat_template.json, else tokenizer_config.json; none if it has none.
[[nodiscard]] std::optional<TemplateSources> folder_template(
    const std::filesystem::path& model_folder);

}  // namespace sluice::engine
