#include "planner/models/family_defaults.hpp"

namespace sluice::planner {
namespace {

constexpr FamilyDefaults kLlama = {.vocab_size = 32000,
                                   .hidden_size = 4096,
                                   .intermediate_size = 11008,
                                   .num_hidden_layers = 32,
                                   .num_attention_heads = 32,
                                   .num_key_value_heads = std::nullopt,
                                   .head_dim = std::nullopt,
                                   .max_position_embeddings = 2048};
constexpr FamilyDefaults kMistral = {.vocab_size = 32000,
                                     .hidden_size = 4096,
                                     .intermediate_size = 14336,
                                     .num_hidden_layers = 32,
                                     .num_attention_heads = 32,
                                     .num_key_value_heads = 8,
                                     .head_dim = std::nullopt,
                                     .max_position_embeddings = 131072,
                                     .sliding_window = 4096};
constexpr FamilyDefaults kMixtral = {.vocab_size = 32000,
                                     .hidden_size = 4096,
                                     .intermediate_size = 14336,
                                     .num_hidden_layers = 32,
                                     .num_attention_heads = 32,
                                     .num_key_value_heads = 8,
                                     .head_dim = std::nullopt,
                                     .max_position_embeddings = 131072,
                                     .rms_norm_eps = 1e-5,
                                     .rope_theta = 1e6,
                                     .num_experts = 8,
                                     .num_experts_per_tok = 2};
constexpr FamilyDefaults kQwen2 = {.vocab_size = 151936,
                                   .hidden_size = 4096,
                                   .intermediate_size = 22016,
                                   .num_hidden_layers = 32,
                                   .num_attention_heads = 32,
                                   .num_key_value_heads = 32,
                                   .head_dim = std::nullopt,
                                   .max_position_embeddings = 32768,
                                   .sliding_window = 4096};
constexpr FamilyDefaults kQwen3 = {.vocab_size = 151936,
                                   .hidden_size = 4096,
                                   .intermediate_size = 22016,
                                   .num_hidden_layers = 32,
                                   .num_attention_heads = 32,
                                   .num_key_value_heads = 32,
                                   .head_dim = 128,
                                   .max_position_embeddings = 32768,
                                   .sliding_window = 4096};
// Qwen3MoeConfig has no head_dim: its attention divides hidden_size.
constexpr FamilyDefaults kQwen3Moe = {.vocab_size = 151936,
                                      .hidden_size = 2048,
                                      .intermediate_size = 6144,
                                      .num_hidden_layers = 24,
                                      .num_attention_heads = 32,
                                      .num_key_value_heads = 4,
                                      .head_dim = std::nullopt,
                                      .max_position_embeddings = 32768,
                                      .sliding_window = 4096,
                                      .num_experts = 128,
                                      .num_experts_per_tok = 8,
                                      .moe_intermediate_size = 768};
constexpr FamilyDefaults kGptOss = {.vocab_size = 201088,
                                    .hidden_size = 2880,
                                    .intermediate_size = 2880,
                                    .num_hidden_layers = 36,
                                    .num_attention_heads = 64,
                                    .num_key_value_heads = 8,
                                    .head_dim = 64,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .rope_theta = 150000,
                                    .num_experts = 128,
                                    .num_experts_per_tok = 4};

}  // namespace

const FamilyDefaults& family_defaults(Family family) {
  switch (family) {
    case Family::llama:
      return kLlama;
    case Family::mistral:
      return kMistral;
    case Family::qwen2:
      return kQwen2;
    case Family::qwen3:
      return kQwen3;
    case Family::qwen3_moe:
      return kQwen3Moe;
    case Family::mixtral:
      return kMixtral;
    case Family::gpt_oss:
      return kGptOss;
  }
  return kLlama;
}

}  // namespace sluice::planner
