// Shapes of the tiny models: those of families that differ little from llama, and some that have
// every other part of the block descriptor between them.
#include <algorithm>
#include <iterator>
#include <optional>

#include "planner/models/shape.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::LayerKind;
using planner::ModelShape;
using planner::RopeScaling;
using planner::RotaryTable;

planner::Job base_job() {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.name = "tiny";
  shape.layers = 2;
  shape.hidden = 8;
  shape.intermediate = 10;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 6;
  shape.vocab = 11;
  shape.rms_eps = 1e-5;
  job.seq_len = 6;
  job.batch_size = 2;
  job.micro_batch = 1;
  job.loss_chunk = 4;  // This does not divide the micro-batch, so the last chunk is short.
  job.compute = planner::ComputeType::fp32;
  return job;
}

/// Two kinds of layers, each in one of the two: a window of `window` keys and the first table, and
/// all keys and the second.
void alternate(ModelShape& shape, std::int64_t window, const RotaryTable& second) {
  shape.rotary.push_back(second);
  shape.kinds = {LayerKind{.window = window}, LayerKind{.rotary = 1}};
  shape.kind_of_layer = {0, 1};
}

/// Norms before and after sublayers that multiply by 1 + weight, GELU, bounds of scores and logits.
void bounded(ModelShape& shape) {
  shape.norms = {.after_attention = true, .after_mlp = true, .one_plus_weight = true};
  shape.head_norm = planner::HeadNorm::per_head;
  shape.activation = planner::Activation::gelu_tanh;
  shape.scales.embedding = 2.5;
  shape.scales.embedding_rounded = true;
  shape.scales.attention = 0.3;
  shape.scales.attention_softcap = 2;
  shape.scales.logits_softcap = 3;
  shape.tied_head = true;
  alternate(shape, 3, {.theta = 1e6, .scaling = {.kind = RopeScaling::Kind::linear, .factor = 8}});
}

/// Norms after sublayers alone, and norms of q and k over all heads.
void normed_after(ModelShape& shape) {
  shape.norms = {
      .before_attention = false, .after_attention = true, .before_mlp = false, .after_mlp = true};
  shape.head_norm = planner::HeadNorm::full_width;
  alternate(shape, 3,
            {.scaling = {.kind = RopeScaling::Kind::yarn,
                         .factor = 4,
                         .original_max_positions = 16,
                         .beta_fast = 4,
                         .attention_factor = 1.2}});
}

/// Factors everywhere, squared ReLU, a part of each head that turns, and a layer without positions.
void scaled(ModelShape& shape) {
  shape.activation = planner::Activation::relu2;
  shape.scales.embedding = 3;
  shape.scales.attention = 0.3;
  shape.scales.residual = 0.7;
  shape.scales.logits = 0.6;
  shape.scales.query_growth = 0.5;
  shape.scales.query_growth_from = 2;
  shape.rotary.front().rotated = 4;
  shape.kinds = {LayerKind{}, LayerKind{.rotary = std::nullopt}};
  shape.kind_of_layer = {0, 1};
}

/// Sinks, and experts with biases.
void with_sinks(ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = shape.mlp_bias = true;
  shape.attention_sinks = true;
  shape.activation = planner::Activation::clamped_swiglu;
  shape.experts =
      planner::Experts{.count = 5, .active = 3, .intermediate = 10, .router_bias = true};
  alternate(shape, 3, {});
}

/// A dense layer, then experts in groups with a shared one, chosen by biased sigmoids.
void grouped(ModelShape& shape) {
  shape.head_norm = planner::HeadNorm::per_head_weightless;
  shape.experts = planner::Experts{.count = 6,
                                   .active = 3,
                                   .intermediate = 10,
                                   .score = planner::RouterScore::sigmoid,
                                   .correction_bias = true,
                                   .groups = 3,
                                   .active_groups = 2,
                                   .scaling = 1.5,
                                   .shared_intermediate = 9};
  shape.kinds = {LayerKind{.dense_intermediate = 14}, LayerKind{}};
  shape.kind_of_layer = {0, 1};
}

/// Gates on attention's output, and norms of its heads.
void gated(ModelShape& shape) {
  shape.kv_heads = 1;
  shape.head_norm = planner::HeadNorm::per_head;
  shape.attention_gate = true;
}

/// Experts with a shared one behind a switch, and a factor of what joins the residual stream.
void switched(ModelShape& shape) {
  shape.qkv_bias = true;
  shape.scales.residual = 0.7;
  shape.experts = planner::Experts{.count = 5,
                                   .active = 3,
                                   .intermediate = 10,
                                   .normalized = false,
                                   .shared_intermediate = 9,
                                   .shared_gate = true};
}

void set_family(ModelShape& shape, const std::string& name) {
  if (name.starts_with("llama")) {
    shape.family = planner::Family::llama;
    shape.rotary.front().scaling = {.kind = RopeScaling::Kind::llama3,
                                    .factor = 4,
                                    .low_freq_factor = 1,
                                    .high_freq_factor = 4,
                                    .original_max_positions = 16};
  } else if (name == "mistral") {
    shape.family = planner::Family::mistral;
    shape.kinds.front().window = 3;
  } else if (name.starts_with("qwen2")) {
    shape.family = planner::Family::qwen2;
    shape.qkv_bias = true;
    shape.o_bias = true;  // qwen2 has no such bias, but config.json can state it.
    shape.mlp_bias = true;
  } else if (name.starts_with("mixtral")) {
    shape.family = planner::Family::mixtral;
    shape.names.experts = planner::kMixtralExperts;
    shape.experts = planner::Experts{.count = 5, .active = 3, .intermediate = 10};
  } else {
    shape.family = planner::Family::qwen3;
    shape.head_norm = planner::HeadNorm::per_head;
    shape.kv_heads = 1;
  }
  if (name == "qwen3_moe") {
    shape.family = planner::Family::qwen3_moe;
    shape.experts =
        planner::Experts{.count = 5, .active = 3, .intermediate = 10, .normalized = false};
  }
}

struct Parts {
  const char* name;
  void (*set)(ModelShape& shape);
};
constexpr Parts kParts[] = {{"bounded", bounded}, {"normed_after", normed_after},
                            {"scaled", scaled},   {"with_sinks", with_sinks},
                            {"grouped", grouped}, {"switched", switched},
                            {"gated", gated}};

}  // namespace

std::vector<std::string> tiny_model_names() {
  std::vector<std::string> names = {"llama",     "llama_tied", "mistral",
                                    "qwen2",     "qwen2_tied", "qwen3",
                                    "qwen3_moe", "mixtral",    "mixtral_balanced"};
  for (const Parts& parts : kParts) names.emplace_back(parts.name);
  return names;
}

TinyModel tiny_model(const std::string& name) {
  planner::Job job = base_job();
  ModelShape& shape = job.model;
  shape.tied_head = name.ends_with("_tied");
  const auto* parts = std::ranges::find(kParts, name, &Parts::name);
  if (parts != std::end(kParts)) {
    parts->set(shape);
  } else {
    set_family(shape, name);
  }
  if (name == "mixtral_balanced") job.router_aux_loss_coef = 0.2;
  if (shape.experts) shape.intermediate = shape.experts->active * shape.experts->intermediate;
  return tiny_model(job);
}

}  // namespace sluice::engine::testing
