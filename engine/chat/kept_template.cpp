#include "engine/chat/kept_template.hpp"

#include <nlohmann/json.hpp>

#include "engine/chat/template_sources.hpp"
#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {

using std::filesystem::path;

std::string sources_sha256(const ChatSources& sources) {
  return planner::sha256_hex(nlohmann::json(sources).dump());
}

void keep_template(const ChatSources& sources, const path& folder) {
  planner::write_whole_file(folder / "chat_template.jinja", sources.at("default"));
  const path tools = folder / "additional_chat_templates/tool_use.jinja";
  std::error_code ignored;
  std::filesystem::remove(folder / "chat_template.json", ignored);
  if (const auto found = sources.find("tool_use"); found != sources.end()) {
    planner::write_whole_file(tools, found->second);
  } else if (std::filesystem::remove(tools, ignored)) {
    std::filesystem::remove(tools.parent_path(), ignored);
  }
}

bool keeps_template(const path& folder, const std::optional<std::string>& sha256) {
  if (!sha256) return false;
  try {
    const auto own = folder_template(folder);
    return own && sources_sha256(own->texts) == *sha256;
  } catch (const BadRequest&) {
    return false;
  }
}

void tell_of_unkept_template(const std::string& name, const ChatSources& sources,
                             const std::optional<std::string>& sha256) {
  if (!sha256) {
    return sim::note(
        "template: " + name +
        " is read as it is now: the run keeps no copy of the one that it trained with");
  }
  const std::string now = sources_sha256(sources);
  if (now == *sha256) return;
  constexpr std::size_t kShown = 12;
  sim::warn("template: the text of " + name + " has changed since the run trained with it (" +
            sha256->substr(0, kShown) + ", now " + now.substr(0, kShown) +
            "): put the old text back, or name another template");
}

}  // namespace sluice::engine
