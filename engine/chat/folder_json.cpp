#include "engine/chat/folder_json.hpp"

#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr int kMostConfigLevels = 32;

}  // namespace

std::string whole_text(const std::filesystem::path& file) { return planner::read_whole_file(file); }

nlohmann::json folder_json(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return nlohmann::json::object();
  nlohmann::json document = parse_strict_json(whole_text(file), file.string(), kMostConfigLevels);
  if (!document.is_object()) throw BadRequest(file.string() + ": must be an object");
  return document;
}

}  // namespace sluice::engine
