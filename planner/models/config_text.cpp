// Writes ModelShape as the config.json from which transformers builds it.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "planner/models/rope_config.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {
namespace {

struct FamilyArchitecture {
  Family family;
  const char* name;
};
constexpr std::array kArchitectures = {FamilyArchitecture{Family::llama, "LlamaForCausalLM"},
                                       FamilyArchitecture{Family::mistral, "MistralForCausalLM"},
                                       FamilyArchitecture{Family::qwen2, "Qwen2ForCausalLM"},
                                       FamilyArchitecture{Family::qwen3, "Qwen3ForCausalLM"},
                                       FamilyArchitecture{Family::qwen3_moe, "Qwen3MoeForCausalLM"},
                                       FamilyArchitecture{Family::mixtral, "MixtralForCausalLM"},
                                       FamilyArchitecture{Family::gpt_oss, "GptOssForCausalLM"}};

const char* architecture_name(Family family) {
  const auto* found = std::ranges::find(kArchitectures, family, &FamilyArchitecture::family);
  return found == kArchitectures.end() ? "" : found->name;
}

void write_experts(const ModelShape& shape, nlohmann::ordered_json& json) {
  if (!shape.experts) return;
  const bool qwen = shape.family == Family::qwen3_moe;
  json[qwen ? "num_experts" : "num_local_experts"] = shape.experts->count;
  json["num_experts_per_tok"] = shape.experts->active;
  json[qwen ? "moe_intermediate_size" : "intermediate_size"] = shape.experts->intermediate;
  if (qwen) json["norm_topk_prob"] = shape.experts->normalized;
}

}  // namespace

std::string config_from_shape(const ModelShape& shape) {
  nlohmann::ordered_json json = {{"architectures", {architecture_name(shape.family)}},
                                 {"model_type", to_string(shape.family)},
                                 {"vocab_size", shape.vocab},
                                 {"hidden_size", shape.hidden},
                                 {"intermediate_size", shape.intermediate},
                                 {"num_hidden_layers", shape.layers},
                                 {"num_attention_heads", shape.heads},
                                 {"num_key_value_heads", shape.kv_heads},
                                 {"head_dim", shape.head_dim},
                                 {"hidden_act", "silu"},
                                 {"rms_norm_eps", shape.rms_eps},
                                 {"initializer_range", shape.init_std},
                                 {"rope_theta", shape.rotary.front().theta},
                                 {"rope_scaling", rope_json(shape.rotary.front().scaling)},
                                 {"tie_word_embeddings", shape.tied_head}};
  if (shape.family == Family::gpt_oss && json["rope_scaling"].is_null()) {
    json["rope_scaling"] = {{"rope_type", "default"}};  // Where none is stated, yarn is meant.
  }
  if (shape.max_positions) json["max_position_embeddings"] = *shape.max_positions;
  const bool qwen3 = shape.family == Family::qwen3 || shape.family == Family::qwen3_moe;
  if (shape.family == Family::llama || shape.family == Family::gpt_oss || qwen3) {
    json["attention_bias"] = shape.o_bias;
  }
  if (shape.family == Family::llama) json["mlp_bias"] = shape.mlp_bias;
  const std::optional<std::int64_t> window = shape.kinds.front().window;
  if (shape.family != Family::llama && shape.family != Family::gpt_oss) {
    json["sliding_window"] =
        window ? nlohmann::ordered_json(*window) : nullptr;
  }
  if (shape.family == Family::qwen2 || qwen3) {
    json["use_sliding_window"] = window.has_value();
    json["max_window_layers"] = window ? 0 : shape.layers;
  }
  write_experts(shape, json);
  if (!shape.name.empty()) json["_name_or_path"] = shape.name;
  return json.dump(2) + "\n";
}

}  // namespace sluice::planner
