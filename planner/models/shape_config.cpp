// Converts between Hugging Face's config.json and ModelShape. Defaults are those of transformers'
// configuration classes (LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config; 4.57 and 5.x).
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "planner/models/rope_config.hpp"
#include "planner/models/shape.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

constexpr std::array kFamilies = {Family::llama,     Family::mistral, Family::qwen2,  Family::qwen3,
                                  Family::qwen3_moe, Family::mixtral, Family::gpt_oss};
constexpr const char* kSupported =
    "llama, mistral, qwen2, qwen3, qwen3_moe, mixtral, gpt_oss (predicted only)";

bool routes(Family family) {
  return family == Family::qwen3_moe || family == Family::mixtral || family == Family::gpt_oss;
}

Family family_of(const JsonObject& config) {
  const std::string type = config.text("model_type");
  for (const Family family : kFamilies) {
    if (type == to_string(family)) {
      for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
        if (config.has(key)) {
          if (routes(family)) return family;
          config.fail(key, std::string("a mixture of experts is not supported for model_type ") +
                               type + "; supported: " + kSupported);
        }
      }
      return family;
    }
  }
  const bool experts =
      type.find("moe") != std::string::npos ||
      std::ranges::any_of(std::array{"deepseek_v2", "deepseek_v3", "llama4", "dbrx", "arctic",
                                     "jamba", "grok-1", "minimax"},
                          [&type](const char* name) { return type == name; });
  config.fail("model_type", "\"" + type + "\" is " +
                                (experts ? "a mixture of experts, which is not supported"
                                         : "not a supported family") +
                                "; supported: " + kSupported);
}

/// Key-value heads; an absent key means the class default, null means as many as heads.
std::int64_t kv_heads_of(const JsonObject& config, Family family, std::int64_t heads) {
  if (const auto given = config.find_integer("num_key_value_heads")) return *given;
  if (family == Family::llama || config.json().contains("num_key_value_heads")) return heads;
  config.fail("num_key_value_heads", "is missing");
}

std::int64_t head_dim_of(const JsonObject& config, const ModelShape& shape) {
  if (const auto given = config.find_integer("head_dim")) return *given;
  if (shape.family == Family::qwen3 || shape.family == Family::qwen3_moe) return 128;
  if (shape.family == Family::gpt_oss) return 64;
  if (shape.heads < 1 || shape.hidden % shape.heads != 0) {
    config.fail("head_dim", "is missing and num_attention_heads (" + std::to_string(shape.heads) +
                                ") does not divide hidden_size (" + std::to_string(shape.hidden) +
                                "): give head_dim");
  }
  return shape.hidden / shape.heads;
}

/// Whether all layers have a window, or none; a mixture is refused.
bool windows_everywhere(const JsonObject& config, const ModelShape& shape) {
  if (config.has("layer_types")) {
    const std::vector<std::string> types = config.texts("layer_types");
    const auto windows = std::ranges::count(types, "sliding_attention");
    if (std::ranges::count(types, "full_attention") + windows !=
        static_cast<std::ptrdiff_t>(types.size())) {
      config.fail("layer_types", "only full_attention and sliding_attention are supported");
    }
    if (windows != 0 && windows != static_cast<std::ptrdiff_t>(types.size())) {
      config.fail("layer_types", "full and sliding layers in one model are not supported");
    }
    return windows != 0;
  }
  const std::int64_t first = config.find_integer("max_window_layers").value_or(28);
  if (first > 0 && first < shape.layers) {
    config.fail("max_window_layers", std::to_string(first) + " of " + std::to_string(shape.layers) +
                                         " layers without a window: a mixture is not supported");
  }
  return first <= 0;
}

std::optional<std::int64_t> sliding_window_of(const JsonObject& config, const ModelShape& shape) {
  const auto given = config.find_integer("sliding_window");
  switch (shape.family) {
    case Family::llama:
    case Family::gpt_oss:  // Every other layer has one; full attention in all is an upper bound.
      return std::nullopt;
    case Family::mixtral:
      return given;
    case Family::mistral:
      if (given || config.json().contains("sliding_window")) return given;
      return 4096;
    case Family::qwen2:
    case Family::qwen3:
    case Family::qwen3_moe:
      break;
  }
  if (!config.find_boolean("use_sliding_window").value_or(false)) return std::nullopt;
  if (config.json().contains("sliding_window") && !given) return std::nullopt;
  if (!windows_everywhere(config, shape)) return std::nullopt;
  return given.value_or(4096);
}

void read_biases(const JsonObject& config, ModelShape& shape) {
  const bool attention = config.find_boolean("attention_bias").value_or(false);
  switch (shape.family) {
    case Family::llama:
      shape.qkv_bias = shape.o_bias = attention;
      shape.mlp_bias = config.find_boolean("mlp_bias").value_or(false);
      break;
    case Family::mistral:
      break;
    case Family::qwen2:
      shape.qkv_bias = true;
      break;
    case Family::qwen3:
    case Family::qwen3_moe:
      shape.qkv_bias = shape.o_bias = attention;
      shape.qk_norm = true;
      break;
    case Family::mixtral:
      break;
    case Family::gpt_oss:
      shape.qkv_bias = shape.o_bias = config.find_boolean("attention_bias").value_or(true);
      shape.mlp_bias = shape.attention_sinks = true;
      break;
  }
}

/// Reads the experts, which every block must have: models that mix blocks with and without are
/// refused.
void read_experts(const JsonObject& config, ModelShape& shape) {
  if (!routes(shape.family)) return;
  const bool qwen = shape.family == Family::qwen3_moe;
  Experts experts;
  // transformers 5 writes the second name for both families.
  const bool first = qwen && (config.has("num_experts") || !config.has("num_local_experts"));
  experts.count = config.integer(first ? "num_experts" : "num_local_experts");
  experts.active = config.integer("num_experts_per_tok");
  experts.intermediate = config.integer(qwen ? "moe_intermediate_size" : "intermediate_size");
  experts.router_bias = shape.family == Family::gpt_oss;
  if (qwen) experts.normalized = config.find_boolean("norm_topk_prob").value_or(false);
  if (config.find_number("router_jitter_noise").value_or(0) != 0) {
    config.fail("router_jitter_noise", "only 0 is supported: the router sees tokens as they are");
  }
  if (config.find_integer("decoder_sparse_step").value_or(1) != 1) {
    config.fail("decoder_sparse_step", "only 1 is supported: experts in every block");
  }
  if (config.has("mlp_only_layers")) {
    const sim::JsonValue layers = config.value("mlp_only_layers");
    if (layers.size() > 0 || !(layers.is_list() || layers.is_object())) {
      config.fail("mlp_only_layers", "only an empty list is supported: experts in every block");
    }
  }
  shape.experts = experts;
  shape.intermediate = experts.active * experts.intermediate;
}

const char* architecture_name(Family family) {
  switch (family) {
    case Family::llama:
      return "LlamaForCausalLM";
    case Family::mistral:
      return "MistralForCausalLM";
    case Family::qwen2:
      return "Qwen2ForCausalLM";
    case Family::qwen3:
      return "Qwen3ForCausalLM";
    case Family::qwen3_moe:
      return "Qwen3MoeForCausalLM";
    case Family::mixtral:
      return "MixtralForCausalLM";
    case Family::gpt_oss:
      return "GptOssForCausalLM";
  }
  return "";
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

const char* to_string(Family family) {
  switch (family) {
    case Family::llama:
      return "llama";
    case Family::mistral:
      return "mistral";
    case Family::qwen2:
      return "qwen2";
    case Family::qwen3:
      return "qwen3";
    case Family::qwen3_moe:
      return "qwen3_moe";
    case Family::mixtral:
      return "mixtral";
    case Family::gpt_oss:
      return "gpt_oss";
  }
  return "";
}

ModelShape shape_from_config(const std::string& json_text, const std::string& where) {
  const sim::JsonDocument json = sim::parse_json(json_text, where);
  const JsonObject config(json, where);
  ModelShape shape;
  shape.name = config.find_text("_name_or_path").value_or("");
  shape.family = family_of(config);
  if (const auto activation = config.find_text("hidden_act");
      activation && *activation != "silu" && *activation != "swish") {
    config.fail("hidden_act", "\"" + *activation + "\" is not supported; only silu is");
  }
  shape.layers = config.integer("num_hidden_layers");
  shape.hidden = config.integer("hidden_size");
  shape.intermediate = config.integer("intermediate_size");
  shape.heads = config.integer("num_attention_heads");
  shape.kv_heads = kv_heads_of(config, shape.family, shape.heads);
  shape.head_dim = head_dim_of(config, shape);
  shape.vocab = config.integer("vocab_size");
  shape.tied_head = config.find_boolean("tie_word_embeddings").value_or(false);
  shape.rms_eps = config.find_number("rms_norm_eps").value_or(1e-6);
  shape.init_std = config.find_number("initializer_range").value_or(0.02);
  read_biases(config, shape);
  read_experts(config, shape);
  read_rope(config, shape);
  shape.sliding_window = sliding_window_of(config, shape);
  validate(shape, where);
  return shape;
}

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
                                 {"rope_theta", shape.rope_theta},
                                 {"rope_scaling", rope_json(shape.rope_scaling)},
                                 {"tie_word_embeddings", shape.tied_head}};
  const bool qwen3 = shape.family == Family::qwen3 || shape.family == Family::qwen3_moe;
  if (shape.family == Family::llama || shape.family == Family::gpt_oss || qwen3) {
    json["attention_bias"] = shape.o_bias;
  }
  if (shape.family == Family::llama) json["mlp_bias"] = shape.mlp_bias;
  if (shape.family != Family::llama && shape.family != Family::gpt_oss) {
    json["sliding_window"] =
        shape.sliding_window ? nlohmann::ordered_json(*shape.sliding_window) : nullptr;
  }
  if (shape.family == Family::qwen2 || qwen3) {
    json["use_sliding_window"] = shape.sliding_window.has_value();
    json["max_window_layers"] = shape.sliding_window ? 0 : shape.layers;
  }
  write_experts(shape, json);
  if (!shape.name.empty()) json["_name_or_path"] = shape.name;
  return json.dump(2) + "\n";
}

}  // namespace sluice::planner
