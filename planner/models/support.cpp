#include "planner/models/support.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Parts beyond those of llama and qwen3 blocks, with or without plain experts, that a backend
/// computes.
struct ComputedParts {
  bool layer_kinds = false;         ///< Layers of several kinds in one model.
  bool norm_slots = false;          ///< Norms elsewhere than before both sublayers.
  bool expert_norm_slots = false;   ///< Such norms in models with experts.
  bool one_plus_weight = false;     ///< Norms that multiply by 1 + weight.
  bool full_width_norm = false;     ///< Norms of q and k over all heads together.
  bool weightless_norm = false;     ///< Norms of q and k without weights.
  bool rotated_norm = false;        ///< Norms of q and k behind their rotation.
  bool activations = false;         ///< Activations other than silu.
  bool sinks = false;               ///< Extra logits of attention's softmax.
  bool attention_gate = false;      ///< Attention's output times a sigmoid.
  bool scales = false;              ///< Factors of embedding, scores, residual and logits.
  bool softcaps = false;            ///< Bounds of scores and logits.
  bool partial_rotary = false;      ///< Rotary tables for a part of a head.
  bool longrope = false;            ///< Frequencies divided by lists of factors.
  bool no_rotary = false;           ///< Layers without positions.
  bool interleaved_rotary = false;  ///< Pairs that lie side by side in a checkpoint.
  bool biased_experts = false;      ///< Biases of experts and of their router.
  bool sigmoid_router = false;      ///< Scores by sigmoid, biased choices, groups and a factor.
  bool shared_experts = false;      ///< An expert that every token passes through.
  bool biased_softmax = false;      ///< Choices of experts by biased softmax scores.
  bool delta_net = false;           ///< Layers of Mixer::gated_delta_net.
  bool latent = false;              ///< Latent attention.
  bool value_norm = false;          ///< Norms of v, and values that are keys.
  bool head_sizes = false;          ///< Heads of several sizes in one model.
  bool proportional = false;        ///< Part of a head turned with frequencies of the whole.
  bool layer_factor = false;        ///< Factors of layers' outputs.
};

constexpr ComputedParts kHost{.layer_kinds = true,
                              .norm_slots = true,
                              .one_plus_weight = true,
                              .full_width_norm = true,
                              .weightless_norm = true,
                              .activations = true,
                              .sinks = true,
                              .attention_gate = true,
                              .scales = true,
                              .softcaps = true,
                              .partial_rotary = true,
                              .longrope = true,
                              .no_rotary = true,
                              .interleaved_rotary = true,
                              .biased_experts = true,
                              .sigmoid_router = true,
                              .shared_experts = true,
                              .biased_softmax = true,
                              .delta_net = true,
                              .latent = true};
/// The cuda backend computes what the host does.
constexpr ComputedParts kCuda = kHost;

struct Part {
  bool missing;
  const char* name;
};

std::optional<std::string> first_missing(const ModelShape& shape, const ComputedParts& computed) {
  const NormSlots& norms = shape.norms;
  const Scales& scales = shape.scales;
  const Experts experts = shape.experts.value_or(Experts{});
  const auto any_table = [&](auto&& holds) { return std::ranges::any_of(shape.rotary, holds); };
  const auto any_kind = [&](auto&& holds) { return std::ranges::any_of(shape.kinds, holds); };
  const bool usual_norms =
      norms.before_attention && norms.before_mlp && !norms.after_attention && !norms.after_mlp;
  const bool scaled = scales.embedding != 1 || scales.attention || scales.residual != 1 ||
                      scales.logits != 1 || scales.query_growth != 0;
  const bool delta = any_kind([](const LayerKind& k) { return k.mixer != Mixer::attention; });
  const std::array parts = {
      Part{delta && !computed.delta_net, "gated delta net layers"},
      Part{shape.latent && !computed.latent, "latent attention"},
      Part{any_kind([](const LayerKind& k) { return k.kv_heads || k.head_dim; }) &&
               !computed.head_sizes,
           "heads of several sizes"},
      Part{(shape.value_norm || any_kind(&LayerKind::values_are_keys)) && !computed.value_norm,
           "normed values"},
      Part{any_table([](const RotaryTable& t) {
             return t.scaling.kind == RopeScaling::Kind::proportional;
           }) &&
               !computed.proportional,
           "proportional rotary embeddings"},
      Part{shape.layer_factor && !computed.layer_factor, "factors of layers"},
      Part{shape.attention_sinks && !computed.sinks, "attention sinks"},
      Part{shape.kinds.size() > 1 && !computed.layer_kinds, "layers of several kinds"},
      Part{!usual_norms && !computed.norm_slots, "norms after sublayers"},
      Part{shape.experts && !usual_norms && !computed.expert_norm_slots,
           "experts between other norms than one before both sublayers"},
      Part{shape.experts && !has_gate(shape.activation), "experts without a gate"},
      Part{norms.one_plus_weight && !computed.one_plus_weight, "norms that multiply by 1 + weight"},
      Part{shape.head_norm == HeadNorm::full_width && !computed.full_width_norm,
           "norms of q and k over all heads"},
      Part{shape.head_norm == HeadNorm::per_head_weightless && !computed.weightless_norm,
           "norms of q and k without weights"},
      Part{shape.norm_behind_rotation && !computed.rotated_norm,
           "norms of q and k behind their rotation"},
      Part{shape.activation != Activation::silu && !computed.activations,
           "an activation other than silu"},
      Part{shape.attention_gate && !computed.attention_gate, "gates on attention's output"},
      Part{scaled && !computed.scales, "multipliers of embedding, scores, residual or logits"},
      Part{(scales.attention_softcap || scales.logits_softcap) && !computed.softcaps, "softcaps"},
      Part{any_table([](const RotaryTable& t) { return t.rotated.has_value(); }) &&
               !computed.partial_rotary,
           "rotary embeddings of a part of each head"},
      Part{any_table([](const RotaryTable& t) {
             return t.scaling.kind == RopeScaling::Kind::longrope;
           }) &&
               !computed.longrope,
           "longrope scaling"},
      Part{any_kind([](const LayerKind& k) { return !k.rotary; }) && !computed.no_rotary,
           "layers without rotary embeddings"},
      Part{any_table([](const RotaryTable& t) { return t.interleaved; }) &&
               !computed.interleaved_rotary,
           "interleaved rotary embeddings"},
      Part{shape.experts && (shape.mlp_bias || experts.router_bias) && !computed.biased_experts,
           "biased experts"},
      Part{(experts.score != RouterScore::softmax || experts.groups != 1 || experts.scaling != 1) &&
               !computed.sigmoid_router,
           "a router of biased, grouped or scaled sigmoid scores"},
      Part{experts.score == RouterScore::softmax && experts.correction_bias &&
               !computed.biased_softmax,
           "a router of biased softmax scores"},
      Part{experts.shared_intermediate > 0 && !computed.shared_experts, "a shared expert"},
  };
  const auto* found = std::ranges::find(parts, true, &Part::missing);
  if (found == parts.end()) return std::nullopt;
  return found->name;
}

}  // namespace

std::optional<std::string> unsupported_by_host(const ModelShape& shape) {
  return first_missing(shape, kHost);
}

std::optional<std::string> unsupported_by_cuda(const ModelShape& shape) {
  return first_missing(shape, kCuda);
}

void require_computed_by_cuda(const ModelShape& shape) {
  const auto part = unsupported_by_cuda(shape);
  if (!part) return;
  throw BadRequest("model is predicted and not executed in this version: " +
                   std::string(to_string(shape.family)) + " has " + *part +
                   ", which the cuda backend does not compute; use --backend host, or train "
                   "another family");
}

}  // namespace sluice::planner
