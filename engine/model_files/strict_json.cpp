#include "engine/model_files/strict_json.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "sim/error.hpp"

namespace sluice::engine {

nlohmann::json parse_strict_json(std::string_view text, const std::string& where, int most_levels) {
  using nlohmann::json;
  std::vector<std::unordered_set<std::string>> keys(static_cast<std::size_t>(most_levels) + 2);
  const auto look = [&](int depth, json::parse_event_t event, const json& parsed) {
    if (depth > most_levels) {
      throw BadRequest(where + ": nests deeper than " + std::to_string(most_levels) + " levels");
    }
    const auto level = static_cast<std::size_t>(depth);
    if (event == json::parse_event_t::object_start) keys[level + 1].clear();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys[level].insert(key).second) {
        throw BadRequest(where + ": \"" + key + "\" is given twice");
      }
    }
    return true;
  };
  try {
    return json::parse(text, look);
  } catch (const json::parse_error& error) {
    throw BadRequest(where + ": is not JSON (at byte " + std::to_string(error.byte) + ")");
  } catch (const json::exception&) {
    throw BadRequest(where + ": is not JSON that can be read");
  }
}

}  // namespace sluice::engine
