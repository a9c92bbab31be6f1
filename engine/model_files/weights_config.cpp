#include "engine/model_files/weights_config.hpp"

#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr int kConfigDepth = 64;
constexpr std::int64_t kMostCount = 1 << 20;

std::int64_t count_of(const json& value, std::int64_t least, const std::string& where) {
  const bool fits = value.is_number_integer() && value.get<std::int64_t>() >= least &&
                    value.get<std::int64_t>() <= kMostCount;
  if (!fits) {
    throw BadRequest("model: " + where + ": " + value.dump() +
                     " must be a whole number of at least " + std::to_string(least));
  }
  return value.get<std::int64_t>();
}

/// Layers that predict further tokens, as GLM, DeepSeek and MiniMax call their number.
std::int64_t prediction_layers(const json& config, const std::string& where) {
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_modules"}) {
    const auto found = config.find(key);
    if (found != config.end() && !found->is_null()) {
      return count_of(*found, 0, where + ": " + key);
    }
  }
  return 0;
}

void read_quantisation(const json& settings, const std::string& where, WeightsConfig& weights) {
  weights.quantisation = "";
  if (!settings.is_object()) return;
  const auto method = settings.find("quant_method");
  if (method != settings.end() && method->is_string()) {
    weights.quantisation = method->get<std::string>();
  }
  const auto size = settings.find("weight_block_size");
  if (size == settings.end() || size->is_null()) return;
  const std::string key = where + ": weight_block_size";
  if (!size->is_array() || size->size() != 2) {
    throw BadRequest("model: " + key + ": must be two whole numbers");
  }
  weights.block = {count_of(size->at(0), 1, key), count_of(size->at(1), 1, key)};
}

}  // namespace

WeightsConfig read_weights_config(const std::filesystem::path& folder) {
  WeightsConfig weights;
  const std::filesystem::path file = folder / "config.json";
  if (!std::filesystem::is_regular_file(file)) return weights;
  const json config =
      parse_strict_json(planner::read_whole_file(file), file.string(), kConfigDepth);
  if (!config.is_object()) throw BadRequest("model: " + file.string() + ": is not a JSON object");
  const auto text = config.find("text_config");
  const bool wrapped = text != config.end() && text->is_object();
  weights.prediction_layers = prediction_layers(config, file.string());
  if (wrapped && weights.prediction_layers == 0) {
    weights.prediction_layers = prediction_layers(*text, file.string() + ": text_config");
  }
  for (const json* level : {&config, wrapped ? &*text : nullptr}) {
    if (level == nullptr || weights.quantisation) continue;
    const auto settings = level->find("quantization_config");
    if (settings == level->end() || settings->is_null()) continue;
    read_quantisation(*settings, file.string() + ": quantization_config", weights);
  }
  return weights;
}

}  // namespace sluice::engine
