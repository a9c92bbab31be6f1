// Converts between Hugging Face's config.json and ModelShape. Defaults are those of transformers'
// configuration classes (planner/models/family_defaults.hpp).
#include <algorithm>
#include <array>

#include "planner/models/family_defaults.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/shape.hpp"
#include "planner/models/window_config.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

constexpr std::array kFamilies = {Family::llama,     Family::mistral, Family::qwen2,  Family::qwen3,
                                  Family::qwen3_moe, Family::mixtral, Family::gpt_oss};
constexpr const char* kSupported =
    "llama, mistral, qwen2, qwen3, qwen3_moe, mixtral, gpt_oss (predicted only)";

bool has_experts(Family family) {
  return family == Family::qwen3_moe || family == Family::mixtral || family == Family::gpt_oss;
}

Family family_of(const JsonObject& config) {
  const std::string type = config.text("model_type");
  for (const Family family : kFamilies) {
    if (type == to_string(family)) {
      for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
        if (config.has(key)) {
          if (has_experts(family)) return family;
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

/// A whole number that transformers gives a default where the key is absent, and none where it is
/// null.
std::int64_t integer_or(const JsonObject& config, const char* key, std::int64_t otherwise) {
  if (const auto given = config.find_integer(key)) return *given;
  if (config.json().contains(key)) {
    config.fail(key,
                "must be a number: leave it out for transformers' " + std::to_string(otherwise));
  }
  return otherwise;
}

/// Key-value heads: null means as many as heads, but not to qwen3_moe.
std::int64_t kv_heads_of(const JsonObject& config, const ModelShape& shape) {
  constexpr const char* kKey = "num_key_value_heads";
  const std::int64_t otherwise = std::max<std::int64_t>(
      1, family_defaults(shape.family).num_key_value_heads.value_or(shape.heads));
  const bool null = config.json().contains(kKey) && !config.has(kKey);
  if (null && shape.family != Family::qwen3_moe) return shape.heads;
  if (!config.json().contains(kKey) && shape.heads % otherwise != 0) {
    config.fail(kKey, "is missing, and transformers' " + std::to_string(otherwise) +
                          " does not divide num_attention_heads (" + std::to_string(shape.heads) +
                          "): give it");
  }
  return integer_or(config, kKey, otherwise);
}

std::int64_t head_dim_of(const JsonObject& config, const ModelShape& shape) {
  if (const auto given = config.find_integer("head_dim")) return *given;
  const auto otherwise = family_defaults(shape.family).head_dim;
  if (otherwise) return integer_or(config, "head_dim", *otherwise);
  if (shape.heads < 1 || shape.hidden % shape.heads != 0) {
    config.fail("head_dim", "is missing and num_attention_heads (" + std::to_string(shape.heads) +
                                ") does not divide hidden_size (" + std::to_string(shape.hidden) +
                                "): give head_dim");
  }
  return shape.hidden / shape.heads;
}

void read_biases(const JsonObject& config, ModelShape& shape) {
  const bool attention = config.find_boolean("attention_bias").value_or(false);
  if (shape.family == Family::llama) {
    shape.qkv_bias = shape.o_bias = attention;
    shape.mlp_bias = config.find_boolean("mlp_bias").value_or(false);
  } else if (shape.family == Family::qwen2) {
    shape.qkv_bias = true;
  } else if (shape.family == Family::qwen3 || shape.family == Family::qwen3_moe) {
    shape.qkv_bias = shape.o_bias = attention;
    shape.head_norm = HeadNorm::per_head;
  } else if (shape.family == Family::mixtral) {
    shape.names.experts = kMixtralExperts;
  } else if (shape.family == Family::gpt_oss) {
    shape.qkv_bias = shape.o_bias = config.find_boolean("attention_bias").value_or(true);
    shape.mlp_bias = shape.attention_sinks = true;
    shape.activation = Activation::clamped_swiglu;
    shape.names.experts.router = "mlp.router";
    shape.names.experts.stacked = true;
  }
}

/// Experts of a block. transformers 5 takes either name for the other; a config that is read by
/// older versions too has both.
std::int64_t expert_count(const JsonObject& config, std::int64_t otherwise) {
  const auto one = config.find_integer("num_experts");
  const auto other = config.find_integer("num_local_experts");
  if (one && other && *one != *other) {
    config.fail("num_experts", std::to_string(*one) + ", and num_local_experts is " +
                                   std::to_string(*other) + ": make them equal, or give one");
  }
  return one ? *one : other ? *other : integer_or(config, "num_experts", otherwise);
}

/// Reads the experts, which every block must have: models that mix blocks with and without are
/// refused.
void read_experts(const JsonObject& config, ModelShape& shape) {
  if (!has_experts(shape.family)) return;
  const bool qwen = shape.family == Family::qwen3_moe;
  const FamilyDefaults& defaults = family_defaults(shape.family);
  Experts experts;
  experts.count = expert_count(config, defaults.num_experts);
  experts.active = integer_or(config, "num_experts_per_tok", defaults.num_experts_per_tok);
  experts.intermediate =
      qwen ? integer_or(config, "moe_intermediate_size", defaults.moe_intermediate_size)
           : shape.intermediate;
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

}  // namespace

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
  const FamilyDefaults& defaults = family_defaults(shape.family);
  shape.layers = integer_or(config, "num_hidden_layers", defaults.num_hidden_layers);
  shape.hidden = integer_or(config, "hidden_size", defaults.hidden_size);
  shape.intermediate = integer_or(config, "intermediate_size", defaults.intermediate_size);
  shape.heads = integer_or(config, "num_attention_heads", defaults.num_attention_heads);
  shape.kv_heads = kv_heads_of(config, shape);
  shape.head_dim = head_dim_of(config, shape);
  shape.vocab = integer_or(config, "vocab_size", defaults.vocab_size);
  shape.max_positions =
      integer_or(config, "max_position_embeddings", defaults.max_position_embeddings);
  shape.tied_head = config.find_boolean("tie_word_embeddings").value_or(false);
  shape.rms_eps = config.find_number("rms_norm_eps").value_or(defaults.rms_norm_eps);
  shape.init_std = config.find_number("initializer_range").value_or(0.02);
  read_biases(config, shape);
  read_experts(config, shape);
  shape.kinds.front().window = sliding_window_of(config, shape);
  read_rope(config, shape);
  validate(shape, where);
  return shape;
}

}  // namespace sluice::planner
