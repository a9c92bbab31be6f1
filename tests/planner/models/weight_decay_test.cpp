// Tests of which tensors weight decay applies to.
#include "planner/models/weight_decay.hpp"

#include <gtest/gtest.h>

#include "planner/models/shape.hpp"

namespace sluice::planner {
namespace {

TEST(WeightDecay, SparesBiasesAndNormsByName) {
  const std::string layer = "model.layers.3.";
  for (const std::string name :
       {"input_layernorm.weight", "self_attn.q_proj.bias", "self_attn.q_norm.weight",
        "linear_attn.norm.weight", "linear_attn.dt_bias", "mlp.experts.gate_up_proj_bias",
        "mlp.gate.e_score_correction_bias"}) {
    EXPECT_FALSE(decays_by_name(layer + name)) << name;
  }
  EXPECT_FALSE(decays_by_name("model.norm.weight"));
}

TEST(WeightDecay, AppliesToEverythingElse) {
  const std::string layer = "model.layers.3.";
  for (const std::string name :
       {"self_attn.q_proj.weight", "self_attn.sinks", "linear_attn.A_log",
        "linear_attn.conv1d.weight", "mlp.experts.0.up_proj.weight", "mlp.normalizer.weight"}) {
    EXPECT_TRUE(decays_by_name(layer + name)) << name;
  }
  EXPECT_TRUE(decays_by_name("lm_head.weight"));
}

TEST(WeightDecay, OfAModelsTensorsIsThatOfTheirNames) {
  ModelShape shape;
  shape.layers = 1;
  shape.hidden = shape.intermediate = shape.vocab = 64;
  shape.heads = shape.kv_heads = 4;
  shape.head_dim = 16;
  shape.qkv_bias = shape.o_bias = shape.mlp_bias = shape.attention_sinks = true;
  shape.head_norm = HeadNorm::per_head;
  shape.norms.after_attention = shape.norms.after_mlp = true;
  const auto expect_names = [](const ModelShape& model) {
    for (std::size_t unit = 0; unit < unit_count(model); ++unit) {
      for (const TensorSpec& tensor : unit_tensors(model, unit).tensors) {
        EXPECT_EQ(tensor.decays, decays_by_name(tensor.name)) << tensor.name;
      }
    }
  };
  expect_names(shape);
  shape.experts = Experts{.count = 2,
                          .active = 1,
                          .intermediate = 64,
                          .router_bias = true,
                          .correction_bias = true,
                          .shared_intermediate = 32,
                          .shared_gate = true};
  expect_names(shape);
}

}  // namespace
}  // namespace sluice::planner
