// Sources of chat templates: shipped with Sluice, in a file, or in a model folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "planner/runs/data_reading.hpp"

namespace sluice::engine {

/// Jinja sources that together are one chat template, before it is compiled.
struct TemplateSources {
  std::string name;   ///< Name and place of the template for messages: "chatml (shipped)".
  std::string where;  ///< File that refusals of the template name; "template" for shipped ones.
  /// Text of each source by its name: "default" and, in folders that have it, "tool_use", which
  /// renders conversations with tools.
  std::map<std::string, std::string> texts;
  bool shipped = false;
};

/// Names of the shipped templates, other names included, with commas between, for messages.
[[nodiscard]] std::string shipped_template_names();

/// The sources of the template called `name`: a shipped one, a .jinja file's path, or one of
/// several that the model folder has. Shipped ones are those of `reading`. Throws BadRequest,
/// listing the shipped names, if there is none.
[[nodiscard]] TemplateSources named_template(const std::filesystem::path& model_folder,
                                             const std::string& name, planner::DataReading reading);

/// The sources of the model folder's own template: chat_template.jinja with
/// additional_chat_templates, else chat_template.json, else tokenizer_config.json; none if the
/// folder has none. Throws BadRequest if it has several and none is called default.
[[nodiscard]] std::optional<TemplateSources> folder_template(
    const std::filesystem::path& model_folder);

}  // namespace sluice::engine
