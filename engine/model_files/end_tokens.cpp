#include "engine/model_files/end_tokens.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr int kGenerationLevels = 32;

/// The ids in a field that is a number, a list, or absent.
json ids_in(const json& config, const std::string& where) {
  const auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null()) return json::array();
  if (found->is_number_integer()) return json::array({*found});
  if (!found->is_array()) {
    throw BadRequest(where + ": eos_token_id: must be a token's id or a list of ids");
  }
  return *found;
}

}  // namespace

std::string with_end_tokens(const std::string& text, const std::string& config,
                            const std::vector<std::int32_t>& more, const std::string& where) {
  if (more.empty()) return text;
  // Keys stay in their order: transformers reads the file, and people do.
  auto document = text.empty() ? nlohmann::ordered_json::object()
                               : nlohmann::ordered_json::parse(text, nullptr, false);
  if (!document.is_object()) throw BadRequest(where + ": must be an object");
  json ids = ids_in(json(document), where);
  if (ids.empty())
    ids = ids_in(parse_strict_json(config, "config.json", kGenerationLevels), "config.json");
  const std::size_t before = ids.size();
  for (const std::int32_t id : more) {
    if (std::ranges::find(ids, json(id)) == ids.end()) ids.push_back(id);
  }
  if (ids.size() == before) return text;
  document["eos_token_id"] = ids;
  return document.dump(2) + "\n";
}

}  // namespace sluice::engine
