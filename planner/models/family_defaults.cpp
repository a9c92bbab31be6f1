#include "planner/models/family_defaults.hpp"

#include <array>
#include <stdexcept>

namespace sluice::planner {
namespace {

struct FamilyRow {
  Family family;
  FamilyDefaults defaults;
};

/// Defaults by family. A row states what differs from LlamaConfig, whose values FamilyDefaults has.
/// Qwen3MoeConfig has no head_dim: its attention divides hidden_size.
constexpr std::array kFamilyRows = {
    FamilyRow{Family::llama, {}},
    FamilyRow{Family::mistral,
              {.intermediate_size = 14336,
               .num_key_value_heads = 8,
               .max_position_embeddings = 131072,
               .sliding_window = 4096}},
    FamilyRow{Family::mixtral,
              {.intermediate_size = 14336,
               .num_key_value_heads = 8,
               .max_position_embeddings = 131072,
               .rms_norm_eps = 1e-5,
               .rope_theta = 1e6,
               .num_experts = 8,
               .num_experts_per_tok = 2}},
    FamilyRow{Family::qwen2,
              {.vocab_size = 151936,
               .intermediate_size = 22016,
               .num_key_value_heads = 32,
               .max_position_embeddings = 32768,
               .sliding_window = 4096}},
    FamilyRow{Family::qwen3,
              {.vocab_size = 151936,
               .intermediate_size = 22016,
               .num_key_value_heads = 32,
               .head_dim = 128,
               .max_position_embeddings = 32768,
               .sliding_window = 4096}},
    FamilyRow{Family::qwen3_moe,
              {.vocab_size = 151936,
               .hidden_size = 2048,
               .intermediate_size = 6144,
               .num_hidden_layers = 24,
               .num_key_value_heads = 4,
               .max_position_embeddings = 32768,
               .sliding_window = 4096,
               .num_experts = 128,
               .num_experts_per_tok = 8,
               .moe_intermediate_size = 768}},
    FamilyRow{Family::gpt_oss,
              {.vocab_size = 201088,
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
               .num_experts_per_tok = 4}},
};

}  // namespace

const FamilyDefaults& family_defaults(Family family) {
  for (const FamilyRow& row : kFamilyRows) {
    if (row.family == family) return row.defaults;
  }
  throw std::logic_error("contract broken: every family has defaults");
}

}  // namespace sluice::planner
