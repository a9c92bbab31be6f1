#include "engine/model_files/adapter_folder.hpp"

#include <nlohmann/json.hpp>

#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr const char* kAdapterConfig = "adapter_config.json";

bool is_there(const path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

/// "a LORA adapter of BASE", as far as adapter_config.json says so.
std::string named_adapter(const path& folder) {
  std::string text = "an adapter";
  try {
    const json config =
        json::parse(planner::read_whole_file(folder / kAdapterConfig), nullptr, false);
    if (!config.is_object()) return text;
    const auto word = [&config](const char* key) {
      const auto found = config.find(key);
      return found != config.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string();
    };
    if (const std::string kind = word("peft_type"); !kind.empty()) {
      text = "an adapter (" + kind + ")";
    }
    if (const std::string base = word("base_model_name_or_path"); !base.empty()) {
      text += " of " + base;
    }
  } catch (const Error&) {  // It may be missing beside an adapter.
    return text;
  }
  return text;
}

}  // namespace

std::string adapter_advice(const path& folder) {
  const std::string name = folder.string();
  return name + " holds " + named_adapter(folder) +
         ", and Sluice trains all weights of a model: merge it into its base, and give the "
         "folder " +
         name +
         "-merged: python3 -c \"import peft, transformers as t; "
         "m = peft.AutoPeftModelForCausalLM.from_pretrained('" +
         name + "', torch_dtype='auto').merge_and_unload(); m.save_pretrained('" + name +
         "-merged'); t.AutoTokenizer.from_pretrained('" + name + "').save_pretrained('" + name +
         "-merged')\"";
}

void require_no_adapter(const std::string& model) {
  const path folder = model;
  if (!is_there(folder / kAdapterConfig)) return;
  if (is_there(folder / "model.safetensors") || is_there(folder / "model.safetensors.index.json")) {
    return sim::warn("model: " + (folder / kAdapterConfig).string() +
                     ": the adapter beside the model's weights is not read: merge it into them "
                     "first, where it is part of the model");
  }
  throw BadRequest("model: " + adapter_advice(folder));
}

}  // namespace sluice::engine
