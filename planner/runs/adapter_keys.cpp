#include "planner/runs/adapter_keys.hpp"

#include <array>
#include <utility>
#include <vector>

#include "planner/catalogue/catalogue.hpp"
#include "planner/models/shape.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// A key that says whether adapters are trained, its value for all weights, and what to write.
struct Switch {
  const char* key;
  const char* all_weights;  ///< Value that trains all weights, besides false and the like.
  const char* fix;
};
constexpr std::array kSwitches = {
    Switch{"finetuning_type", "full", "finetuning_type=full"},
    Switch{"adapter", "", "adapter=null"},
    Switch{"use_peft", "", "use_peft=false"},
    Switch{"load_in_4bit", "", "load_in_4bit=false"},
    Switch{"load_in_8bit", "", "load_in_8bit=false"},
    Switch{"quantization_bit", "", "quantization_bit=null"},
    Switch{"adapter_name_or_path", "", "adapter_name_or_path=null"},
    Switch{"lora_model_dir", "", "lora_model_dir=null"},
    Switch{"gptq", "", "gptq=false"},
};

/// Bytes of a parameter in training: master weight, m, v and gradient at 32 bits each.
constexpr std::int64_t kBytes = 16;

const Switch* switch_of(const std::string& key) {
  for (const Switch& each : kSwitches) {
    if (key == each.key) return &each;
  }
  return nullptr;
}

/// Memory that all weights of the run's model take; empty where the model is not found.
std::string needs_of(const RunConfig& config) {
  if (config.model.empty()) return "";
  try {
    const ModelShape shape = find_model(config.model);
    const std::int64_t parameters = parameter_count(shape);
    return "all " + format_amount(static_cast<double>(parameters)) + " weights of " + shape.name +
           " take about " + format_bytes(Bytes(kBytes * parameters)) +
           " of host memory, or of host memory and disk; ";
  } catch (const Error&) {
    return "";
  }
}

Refusal refusal_of(const RunConfig& config, const std::string& key, const std::string& value,
                   const std::string& fixes, const std::string& file) {
  return {key, key + ": " + value + ": Sluice trains all weights, and adapters are coming: " +
                   needs_of(config) + "`sluice predict " + file + " " + fixes +
                   "` says what that needs and takes here"};
}

}  // namespace

std::optional<Refusal> adapter_refusal(RunConfig& config, const std::string& file) {
  std::string fixes;
  std::optional<std::pair<std::string, std::string>> first, detail;
  bool decided = false;
  std::string without_effect;
  for (const auto& [key, value] : config.adapter) {
    const Switch* which = switch_of(key);
    if (which == nullptr) {
      if (value.empty()) continue;
      if (!detail) detail = {key, value};
      without_effect.append(without_effect.empty() ? "" : ", ").append(key);
      continue;
    }
    decided = decided || key == "finetuning_type" || key == "adapter" || key == "use_peft" ||
              key.starts_with("load_in_");
    if (value.empty() || value == which->all_weights) continue;
    if (!first) first = {key, value};
    fixes.append(fixes.empty() ? "" : " ").append(which->fix);
  }
  if (first) return refusal_of(config, first->first, first->second, fixes, file);
  if (!detail) return std::nullopt;
  if (!decided) {
    return refusal_of(config, detail->first, detail->second, "finetuning_type=full", file);
  }
  const bool several = without_effect.find(',') != std::string::npos;
  config.notes.push_back(without_effect + (several ? " are" : " is") +
                         " ignored: all weights are trained");
  return std::nullopt;
}

}  // namespace sluice::planner
