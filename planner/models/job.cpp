#include "planner/models/job.hpp"

#include <algorithm>
#include <cmath>

#include "planner/files/hash.hpp"
#include "planner/models/support.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

void require(bool holds, const char* field, const std::string& reason) {
  if (!holds) throw BadRequest(std::string(field) + ": " + reason);
}

void require_count(std::int64_t value, const char* field) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  require(value >= 1 && value <= kMost, field,
          std::to_string(value) + " must be between 1 and " + std::to_string(kMost));
}

/// Requires settings of Muon that it can have, and none where the optimizer is another.
void validate_muon(const AdamWSettings& adam) {
  const MuonSettings& muon = adam.muon;
  if (adam.kind != OptimizerKind::muon) {
    const MuonSettings usual;
    const auto refuse = [](bool differs, const char* field) {
      require(!differs, field, "is a setting of Muon: set optimizer.kind to muon, or leave it out");
    };
    refuse(muon.momentum != usual.momentum, "optimizer.momentum");
    refuse(muon.nesterov != usual.nesterov, "optimizer.nesterov");
    refuse(muon.ns_steps != usual.ns_steps, "optimizer.ns_steps");
    refuse(muon.adjust_lr_fn != usual.adjust_lr_fn, "optimizer.adjust_lr_fn");
    return;
  }
  constexpr std::int64_t kMostSteps = 99;
  require(muon.momentum >= 0 && muon.momentum < 1, "optimizer.momentum",
          "must be at least 0 and less than 1");
  require(muon.ns_steps >= 1 && muon.ns_steps <= kMostSteps, "optimizer.ns_steps",
          std::to_string(muon.ns_steps) + " must be between 1 and " + std::to_string(kMostSteps));
  require(adam.state == StateType::fp32, "optimizer.state",
          std::string(to_string(adam.state)) +
              " does not go with optimizer.kind muon: set it to fp32, or kind to adamw");
}

void validate(const AdamWSettings& adam) {
  const auto in_unit = [](double beta) { return beta >= 0 && beta < 1; };
  require(std::isfinite(adam.lr) && adam.lr >= 0, "optimizer.lr", "must be a number of at least 0");
  require(in_unit(adam.beta1) && in_unit(adam.beta2), "optimizer.betas",
          "both must be at least 0 and less than 1");
  require(std::isfinite(adam.eps) && adam.eps > 0, "optimizer.eps", "must be a positive number");
  require(std::isfinite(adam.weight_decay) && adam.weight_decay >= 0, "optimizer.weight_decay",
          "must be a number of at least 0");
  require(!adam.clip || (std::isfinite(*adam.clip) && *adam.clip > 0), "optimizer.clip",
          "must be a positive number, or off");
  validate_muon(adam);
}

/// Requires what FP8 products are computed of: dense blocks of attention whose sizes are whole
/// blocks of elements that share a scale.
void validate_fp8(const Job& job) {
  const ModelShape& shape = job.model;
  const auto refuse_unless = [&job](bool holds, const std::string& reason) {
    require(holds, "compute", to_string(job.compute) + (" " + reason) + "; set compute to bf16");
  };
  const bool mixes =
      std::ranges::any_of(shape.kinds, [](const LayerKind& k) { return is_linear(k); });
  refuse_unless(!shape.experts, "is not computed for models with experts");
  refuse_unless(!mixes && !shape.latent,
                "is not computed for gated delta nets and latent attention");
  refuse_unless(!shape.attention_gate, "is not computed for gates on attention's output");
  refuse_unless(job.operators == Operators::fused && !job.sequence_chunk,
                "goes with fused operators and whole sequences only");
  const auto require_whole = [&](std::int64_t size, const std::string& what) {
    refuse_unless(size % kFp8Block == 0, "needs " + what + " (" + std::to_string(size) +
                                             ") to be a multiple of " + std::to_string(kFp8Block));
  };
  require_whole(shape.hidden, "the model's hidden size");
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    const ModelShape uniform = uniform_shape(shape, kind);
    require_whole(uniform.intermediate, "the model's intermediate size");
    require_whole(uniform.heads * uniform.head_dim, "the width of all queries");
    require_whole(uniform.kv_heads * uniform.head_dim, "the width of all keys");
  }
  require_whole(job.micro_tokens(), "seq_len x micro_batch");
  if (job.chunks_mlp()) require_whole(job.mlp_chunk, "mlp_chunk");
}

void add_table(CanonicalText& text, const RotaryTable& table) {
  const RopeScaling& scaling = table.scaling;
  text.add("rotary_theta", table.theta)
      .add("rotary_kind", static_cast<std::int64_t>(scaling.kind))
      .add("rotary_factor", scaling.factor)
      .add("rotary_low", scaling.low_freq_factor)
      .add("rotary_high", scaling.high_freq_factor)
      .add("rotary_original", scaling.original_max_positions)
      .add("rotary_fast", scaling.beta_fast)
      .add("rotary_slow", scaling.beta_slow)
      .add("rotary_truncate", scaling.truncate)
      .add("rotary_attention", scaling.attention_factor)
      .add("rotary_elements", table.rotated.value_or(0))
      .add("rotary_interleaved", table.interleaved);
  for (const double factor : scaling.short_factors) text.add("rotary_short", factor);
  for (const double factor : scaling.long_factors) text.add("rotary_long", factor);
}

void add_kinds(CanonicalText& text, const ModelShape& shape) {
  for (const RotaryTable& table : shape.rotary) add_table(text, table);
  for (const LayerKind& kind : shape.kinds) {
    text.add("kind_window", kind.window.value_or(0))
        .add("kind_rotary", kind.rotary ? static_cast<std::int64_t>(*kind.rotary) + 1 : 0)
        .add("kind_mixer", to_string(kind.mixer))
        .add("kind_dense", kind.dense_intermediate.value_or(0));
    if (kind.kv_heads) text.add("kind_kv_heads", *kind.kv_heads);
    if (kind.head_dim) text.add("kind_head_dim", *kind.head_dim);
    if (kind.values_are_keys) text.add("kind_values_are_keys", true);
  }
  for (const std::uint8_t kind : shape.kind_of_layer) text.add("kind", std::int64_t{kind});
}

void add_scales(CanonicalText& text, const Scales& scales) {
  text.add("embedding_scale", scales.embedding)
      .add("embedding_rounded", scales.embedding_rounded)
      .add("attention_scale", scales.attention.value_or(0))
      .add("residual_scale", scales.residual)
      .add("logits_scale", scales.logits)
      .add("attention_softcap", scales.attention_softcap.value_or(0))
      .add("logits_softcap", scales.logits_softcap.value_or(0))
      .add("query_growth", scales.query_growth)
      .add("query_growth_from", scales.query_growth_from);
}

void add_router(CanonicalText& text, const Experts& experts) {
  if (experts.score == RouterScore::sigmoid) text.add("router", "sigmoid");
  if (experts.router_bias) text.add("router_bias", true);
  if (experts.correction_bias) text.add("correction_bias", true);
  if (experts.groups != 1) {
    text.add("router_groups", experts.groups).add("active_groups", experts.active_groups);
    if (experts.group_score == GroupScore::best) text.add("group_score", "best");
  }
  if (experts.scaling != 1) text.add("router_scaling", experts.scaling);
  if (experts.shared_intermediate > 0) {
    text.add("shared_expert", experts.shared_intermediate).add("shared_gate", experts.shared_gate);
  }
}

/// Adds what a block computes where it differs from the blocks of llama and qwen3, so that jobs
/// stated before there was a choice keep their hash.
void add_block(CanonicalText& text, const ModelShape& shape) {
  const ModelShape plain;
  if (const auto& net = shape.delta_net) {
    text.add("delta_key_heads", net->key_heads)
        .add("delta_value_heads", net->value_heads)
        .add("delta_key_dim", net->key_dim)
        .add("delta_value_dim", net->value_dim);
  }
  if (const auto& latent = shape.latent) {
    text.add("latent_query", latent->query_rank.value_or(0))
        .add("latent_rank", latent->rank)
        .add("latent_plain", latent->plain)
        .add("latent_rotated", latent->rotated)
        .add("latent_value", latent->value)
        .add("latent_norm_eps", latent->norm_eps);
  }
  if (shape.value_norm) text.add("value_norm", true);
  if (shape.layer_factor) text.add("layer_factor", true);
  if (shape.attention_sinks) text.add("sinks", true);
  if (shape.attention_gate) text.add("attention_gate", true);
  if (shape.activation != plain.activation) text.add("activation", to_string(shape.activation));
  if (shape.head_norm == HeadNorm::full_width || shape.head_norm == HeadNorm::per_head_weightless) {
    text.add("head_norm", to_string(shape.head_norm));
  }
  if (shape.norm_behind_rotation) text.add("norm_behind_rotation", true);
  if (shape.norms != plain.norms) {
    text.add("norm_before_attention", shape.norms.before_attention)
        .add("norm_after_attention", shape.norms.after_attention)
        .add("norm_before_mlp", shape.norms.before_mlp)
        .add("norm_after_mlp", shape.norms.after_mlp)
        .add("one_plus_weight", shape.norms.one_plus_weight);
  }
  if (shape.scales != plain.scales) add_scales(text, shape.scales);
  LayerKind windowed;
  windowed.window = shape.kinds.front().window;
  const RotaryTable& first = shape.rotary.front();
  if (shape.kinds != std::vector{windowed} || shape.rotary.size() > 1 || first.rotated ||
      first.interleaved || first.scaling.kind == RopeScaling::Kind::longrope) {
    add_kinds(text, shape);
  }
  if (shape.experts) add_router(text, *shape.experts);
}

void add_shape(CanonicalText& text, const ModelShape& shape) {
  const double theta = shape.rotary.front().theta;
  const RopeScaling& scaling = shape.rotary.front().scaling;
  text.add("family", to_string(shape.family))
      .add("layers", shape.layers)
      .add("hidden", shape.hidden)
      .add("intermediate", shape.intermediate)
      .add("heads", shape.heads)
      .add("kv_heads", shape.kv_heads)
      .add("head_dim", shape.head_dim)
      .add("vocab", shape.vocab)
      .add("tied_head", shape.tied_head)
      .add("qkv_bias", shape.qkv_bias)
      .add("o_bias", shape.o_bias)
      .add("mlp_bias", shape.mlp_bias)
      .add("qk_norm", shape.head_norm == HeadNorm::per_head)
      .add("rms_eps", shape.rms_eps)
      .add("rope_theta", theta)
      .add("rope_kind", static_cast<std::int64_t>(scaling.kind))
      .add("rope_factor", scaling.factor)
      .add("rope_low", scaling.low_freq_factor)
      .add("rope_high", scaling.high_freq_factor)
      .add("rope_original", scaling.original_max_positions)
      .add("sliding_window", shape.kinds.front().window.value_or(0))
      .add("init_std", shape.init_std);
  if (scaling.kind == RopeScaling::Kind::yarn) {
    text.add("rope_fast", scaling.beta_fast)
        .add("rope_slow", scaling.beta_slow)
        .add("rope_truncate", scaling.truncate)
        .add("rope_attention", scaling.attention_factor);
  }
  if (shape.experts) {
    text.add("experts", shape.experts->count)
        .add("experts_active", shape.experts->active)
        .add("expert_intermediate", shape.experts->intermediate);
    if (!shape.experts->normalized) text.add("expert_shares", "of all");
  }
  add_block(text, shape);
}

}  // namespace

void validate(const Job& job) {
  validate(job.model, job.model.name.empty() ? "model" : "model " + job.model.name);
  require_count(job.seq_len, "seq_len");
  require_count(job.batch_size, "batch_size");
  require_count(job.micro_batch, "micro_batch");
  require_count(job.loss_chunk, "loss_chunk");
  require_count(job.mlp_chunk, "mlp_chunk");
  require(job.batch_size % job.micro_batch == 0, "micro_batch",
          std::to_string(job.micro_batch) + " does not divide batch_size (" +
              std::to_string(job.batch_size) + ")");
  require(!job.sequence_chunk || (*job.sequence_chunk >= 1 && job.micro_batch == 1 &&
                                  job.seq_len % *job.sequence_chunk == 0),
          "sequence_chunk", "must divide seq_len, with a micro_batch of 1");
  require(job.optimizer.state != StateType::bf16_weights || job.compute != ComputeType::fp32,
          "optimizer.state", "bf16-weights needs compute bf16, fp8 or fp8-tensorwise");
  require(static_cast<double>(job.seq_len) * static_cast<double>(job.batch_size) <= 0x1p31,
          "batch_size", "seq_len x batch_size is more than 2147483648 tokens a step");
  require(job.groups >= 1 && job.groups <= job.micro_batches(), "groups",
          std::to_string(job.groups) + " must be between 1 and the step's " +
              std::to_string(job.micro_batches()) + " micro-batches: lower it, or micro_batch");
  require(job.groups == 1 || !job.sequence_chunk, "groups",
          "above 1 does not go with sequence_chunk: set it to 1");
  require(!job.router_aux_loss_coef || job.model.experts, "router_aux_loss_coef",
          "this model has no experts to balance: leave it out");
  require(!job.router_aux_loss_coef ||
              (std::isfinite(*job.router_aux_loss_coef) && *job.router_aux_loss_coef >= 0),
          "router_aux_loss_coef", "must be a number of at least 0");
  validate(job.optimizer);
  if (is_fp8(job.compute)) validate_fp8(job);
}

std::string job_hash(const Job& job) {
  CanonicalText text("sluice/job/1");
  add_shape(text, job.model);
  text.add("seq_len", job.seq_len)
      .add("batch_size", job.batch_size)
      .add("micro_batch", job.micro_batch)
      .add("loss_chunk", job.loss_chunk)
      .add("compute", to_string(job.compute))
      .add("gradient_wire", job.gradient_wire == GradientWire::bf16 ? "bf16" : "fp32")
      .add("beta1", job.optimizer.beta1)
      .add("beta2", job.optimizer.beta2)
      .add("eps", job.optimizer.eps)
      .add("weight_decay", job.optimizer.weight_decay);
  if (job.optimizer.clip) {
    text.add("clip", *job.optimizer.clip);
  } else {
    text.add("clip", "off");
  }
  // Jobs stated before there was a choice keep their hash.
  if (job.optimizer.state != StateType::fp32) text.add("state", to_string(job.optimizer.state));
  if (job.optimizer.kind == OptimizerKind::muon) {
    const MuonSettings& muon = job.optimizer.muon;
    text.add("optimizer", "muon")
        .add("momentum", muon.momentum)
        .add("nesterov", muon.nesterov)
        .add("ns_steps", muon.ns_steps)
        .add("adjust_lr_fn", to_string(muon.adjust_lr_fn));
  }
  // One chunk is no chunk.
  if (job.chunks_mlp()) text.add("mlp_chunk", job.mlp_chunk);
  if (job.groups != 1) text.add("groups", job.groups);
  if (job.sequence_chunk) text.add("sequence_chunk", *job.sequence_chunk);
  if (job.attention == AttentionSpan::document) text.add("attention", "document");
  if (job.operators == Operators::eager) text.add("operators", "eager");
  if (job.attention_library != AttentionLibrary::cudnn) {
    text.add("attention_library", to_string(job.attention_library));
  }
  if (job.router_aux_loss_coef) text.add("router_aux_loss_coef", *job.router_aux_loss_coef);
  return text.hash();
}

Bytes Job::moment_bytes(std::int64_t parameters) const {
  switch (optimizer.state) {
    case StateType::fp32:
      return Bytes(4 * parameters);
    case StateType::bf16:
    case StateType::bf16_weights:
      return Bytes(2 * parameters);
    case StateType::int8: {
      // Whole blocks of codes, their scales, and room so that what follows is aligned.
      constexpr std::int64_t kAlign = 64;
      const std::int64_t blocks = (parameters + kMomentBlock - 1) / kMomentBlock;
      return Bytes((blocks * (kMomentBlock + 4) + kAlign - 1) / kAlign * kAlign);
    }
  }
  return Bytes(0);
}

bool Job::executable() const {
  return optimizer.state != StateType::bf16_weights && !sequence_chunk &&
         !unsupported_by_host(model) && operators == Operators::fused &&
         attention_library == AttentionLibrary::cudnn;
}

void require_executable(const Job& job) {
  const auto only_predicted = [](const char* field, const std::string& fix) {
    throw BadRequest(std::string(field) + " is predicted and not executed in this version: " + fix);
  };
  if (const auto part = unsupported_by_host(job.model)) {
    only_predicted("model", std::string(to_string(job.model.family)) + " has " + *part +
                                "; train another family");
  }
  if (job.optimizer.state == StateType::bf16_weights) {
    only_predicted("optimizer.state",
                   "set it to bf16, which keeps fp32 masters, or to int8 or fp32 (policy "
                   "megatrain states bf16-weights, megatrain-fp32 is its schedule without that)");
  }
  if (job.sequence_chunk) only_predicted("sequence_chunk", "leave it out");
  if (job.operators == Operators::eager) {
    only_predicted("policy.operators", "set it to fused, or choose another policy");
  }
  if (job.attention_library != AttentionLibrary::cudnn) {
    only_predicted("policy.attention", "set it to cudnn, or choose another policy");
  }
}

const char* to_string(StateType type) {
  switch (type) {
    case StateType::fp32:
      return "fp32";
    case StateType::bf16:
      return "bf16";
    case StateType::int8:
      return "int8";
    case StateType::bf16_weights:
      return "bf16-weights";
  }
  return "";
}

const char* to_string(OptimizerKind kind) {
  return kind == OptimizerKind::adamw ? "adamw" : "muon";
}

const char* to_string(MuonRate rate) {
  return rate == MuonRate::original ? "original" : "match_rms_adamw";
}

const char* to_string(Operators operators) {
  return operators == Operators::fused ? "fused" : "eager";
}

float Job::balance_weight(std::int64_t tokens) const {
  return static_cast<float>(balance_scale(tokens) / static_cast<double>(micro_batches()));
}

double Job::balance_scale(std::int64_t tokens) const {
  if (!router_aux_loss_coef) return 0;
  std::int64_t routed = 0;  // Layers whose routes the loss counts.
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    if (routes(model, model.kinds[kind])) routed += layers_of_kind(model, kind);
  }
  const double places = static_cast<double>(tokens) * static_cast<double>(routed);
  return *router_aux_loss_coef * static_cast<double>(model.experts->count) / (places * places);
}

double Job::fp8_share() const {
  std::int64_t blocks = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    if (computes_in_fp8(layer)) ++blocks;
  }
  return static_cast<double>(blocks) / static_cast<double>(std::max<std::int64_t>(model.layers, 1));
}

const char* to_string(ComputeType type) {
  switch (type) {
    case ComputeType::fp32:
      return "fp32";
    case ComputeType::bf16:
      return "bf16";
    case ComputeType::fp8:
      return "fp8";
    case ComputeType::fp8_tensorwise:
      return "fp8-tensorwise";
  }
  return "";
}

const char* to_string(GradientWire wire) { return wire == GradientWire::bf16 ? "bf16" : "fp32"; }

}  // namespace sluice::planner
