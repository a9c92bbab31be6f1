// How the config.json of one model_type becomes a model shape, and a shape a config.json: the only
// place that knows families. A new family is a reader in a file of its own, and a line in
// families.cpp.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "planner/models/family_defaults.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Reader and writer of one family's config.json.
struct FamilyReader {
  Family family;
  const char* architecture;  ///< Class of transformers, such as "LlamaForCausalLM".
  FamilyDefaults defaults;
  /// Fills in what is not a size that all families have: biases, norms, experts, layer kinds and
  /// rotary tables. Sizes and activation are read already.
  void (*read)(const sim::JsonObject& config, ModelShape& shape);
  /// Adds the family's own keys to those that all families have, or corrects them.
  void (*write)(const ModelShape& shape, nlohmann::ordered_json& json);
};

/// All readers, in the order in which messages list them.
[[nodiscard]] std::span<const FamilyReader* const> family_readers();

/// The reader of a model_type; null for an unknown one.
[[nodiscard]] const FamilyReader* find_reader(std::string_view model_type);

/// Readers of the families, one a function, each defined in the file of its group of families.
[[nodiscard]] const FamilyReader& llama_reader();
[[nodiscard]] const FamilyReader& mistral_reader();
[[nodiscard]] const FamilyReader& qwen2_reader();
[[nodiscard]] const FamilyReader& qwen3_reader();
[[nodiscard]] const FamilyReader& qwen3_moe_reader();
[[nodiscard]] const FamilyReader& mixtral_reader();
[[nodiscard]] const FamilyReader& qwen2_moe_reader();
[[nodiscard]] const FamilyReader& gpt_oss_reader();
[[nodiscard]] const FamilyReader& gemma_reader();
[[nodiscard]] const FamilyReader& gemma2_reader();
[[nodiscard]] const FamilyReader& gemma3_reader();
[[nodiscard]] const FamilyReader& olmo2_reader();
[[nodiscard]] const FamilyReader& olmo3_reader();
[[nodiscard]] const FamilyReader& olmoe_reader();
[[nodiscard]] const FamilyReader& smollm3_reader();
[[nodiscard]] const FamilyReader& ministral_reader();
[[nodiscard]] const FamilyReader& ministral3_reader();
[[nodiscard]] const FamilyReader& phi3_reader();
[[nodiscard]] const FamilyReader& glm_reader();
[[nodiscard]] const FamilyReader& glm4_reader();
[[nodiscard]] const FamilyReader& glm4_moe_reader();
[[nodiscard]] const FamilyReader& granite_reader();
[[nodiscard]] const FamilyReader& seed_oss_reader();
[[nodiscard]] const FamilyReader& ernie4_5_reader();
[[nodiscard]] const FamilyReader& arcee_reader();
[[nodiscard]] const FamilyReader& helium_reader();
[[nodiscard]] const FamilyReader& cwm_reader();
[[nodiscard]] const FamilyReader& exaone4_reader();
[[nodiscard]] const FamilyReader& minimax_m2_reader();
[[nodiscard]] const FamilyReader& qwen3_next_reader();
[[nodiscard]] const FamilyReader& qwen3_5_reader();
[[nodiscard]] const FamilyReader& qwen3_5_moe_reader();
[[nodiscard]] const FamilyReader& ernie4_5_moe_reader();
[[nodiscard]] const FamilyReader& deepseek_v2_reader();
[[nodiscard]] const FamilyReader& deepseek_v3_reader();
[[nodiscard]] const FamilyReader& glm4_moe_lite_reader();
[[nodiscard]] const FamilyReader& gemma4_reader();
[[nodiscard]] const FamilyReader& dots1_reader();
[[nodiscard]] const FamilyReader& hunyuan_v1_dense_reader();

}  // namespace sluice::planner
