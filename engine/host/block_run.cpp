#include "engine/host/block_run.hpp"

#include "engine/host/quantized.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

namespace {

const ActivationKernels& activation_kernels(const Elementwise& kernels,
                                            planner::Activation activation) {
  switch (activation) {
    case planner::Activation::gelu_tanh:
      return kernels.geglu;
    case planner::Activation::relu2:
      return kernels.squared_relu;
    case planner::Activation::clamped_swiglu:
      return kernels.clamped_swiglu;
    case planner::Activation::silu:
      break;
  }
  return kernels.swiglu;
}

}  // namespace

BlockRun::BlockRun(const HostTemplates& templates, Weights weights, RecordView record,
                   Workspace workspace, std::int64_t tokens)
    : job_(templates.job_),
      layer_(templates.layer(record.layer)),
      shape_(layer_.shape),
      offsets_(layer_.record),
      space_(templates.block_space_),
      slots_(layer_.slots),
      weights_(weights),
      record_(record),
      workspace_(workspace),
      kernels_(elementwise(templates.job_.compute)),
      activation_(activation_kernels(kernels_, shape_.activation)),
      plain_(plain_kernels()),
      tokens_(tokens),
      fp8_(job_.computes_in_fp8(record.layer)),
      element_(templates.job_.compute_element().count()),
      eps_(static_cast<float>(shape_.rms_eps)),
      query_width_(slots_.o.weight.cols),
      value_dim_(shape_.latent ? shape_.latent->value : shape_.head_dim),
      key_width_(shape_.kv_heads * shape_.head_dim),
      value_width_(shape_.kv_heads * value_dim_),
      score_scale_(static_cast<float>(planner::attention_scale(shape_))),
      residual_factor_(static_cast<float>(shape_.scales.residual)) {
  check(workspace.bytes >= space_.total, "the workspace holds a block's scratch");
  check(job_.compute != planner::ComputeType::fp8_tensorwise,
        "the host computes no products of operands with one scale");
}

float* BlockRun::scratch(Bytes offset) const {
  return reinterpret_cast<float*>(workspace_.data + offset.count());
}

std::byte* BlockRun::row(Bytes tensor, std::int64_t row, std::int64_t width) const {
  return record_.at(tensor) + row * width * element_;
}

std::byte* BlockRun::row(std::byte* tensor, std::int64_t row, std::int64_t width) const {
  return tensor + row * width * element_;
}

const std::byte* BlockRun::row(const std::byte* tensor, std::int64_t row,
                               std::int64_t width) const {
  return tensor + row * width * element_;
}

const float* BlockRun::values(const std::byte* data, std::int64_t n, float* copy) const {
  if (job_.compute == planner::ComputeType::fp32) return reinterpret_cast<const float*>(data);
  kernels_.load(data, n, copy);
  return copy;
}

WeightMatrix BlockRun::matrix(const Slot& slot) const {
  return {weights_.high + slot.offset,
          weights_.low == nullptr ? nullptr : weights_.low + slot.offset, slot.rows, slot.cols};
}

const float* BlockRun::vector(const Slot& slot) {
  const WeightMatrix weight = matrix(slot);
  float* values = scratch(space_.vector);
  plain_.join(weight.high, weight.low, slot.size(), values);
  return values;
}

const float* BlockRun::norm_weight(const Slot& slot) {
  float* weight = scratch(space_.vector);
  (void)vector(slot);
  if (shape_.norms.one_plus_weight) {
    for (std::int64_t i = 0; i < slot.size(); ++i) weight[i] += 1.0f;
  }
  return weight;
}

void BlockRun::project(const Projection& projection, const float* x, std::int64_t count, float* y) {
  const WeightMatrix weight = matrix(projection.weight);
  if (fp8_) {
    round_along(x, count, weight.cols, scratch(space_.quantized));
    multiply_quantized(scratch(space_.quantized), count, weight, scratch(space_.panel), y);
  } else {
    multiply(x, count, weight, scratch(space_.panel), y);
  }
  if (projection.bias.exists()) {
    plain_.add_bias(y, count, projection.weight.rows, vector(projection.bias));
  }
}

void BlockRun::project_backward(const Projection& projection, const float* dy, const float* x,
                                std::int64_t count, float* gradient) const {
  const Slot& weight = projection.weight;
  float* const sum = gradient + weight.offset;
  if (fp8_) {
    round_across(x, count, weight.cols, scratch(space_.quantized));
    round_across(dy, count, weight.rows, scratch(space_.quantized_gradient));
    accumulate_outer(scratch(space_.quantized_gradient), scratch(space_.quantized), count,
                     weight.rows, weight.cols, sum);
  } else {
    accumulate_outer(dy, x, count, weight.rows, weight.cols, sum);
  }
  if (projection.bias.exists()) {
    plain_.column_sums(dy, count, weight.rows, gradient + projection.bias.offset);
  }
}

void BlockRun::project_back(const Projection& projection, const float* dy, std::int64_t count,
                            Into into, float* dx) const {
  const WeightMatrix weight = matrix(projection.weight);
  float* const panel = scratch(space_.panel);
  if (!fp8_) return multiply_transposed(dy, count, weight, panel, into, dx);
  round_along(dy, count, weight.rows, scratch(space_.quantized_gradient));
  multiply_transposed_quantized(scratch(space_.quantized_gradient), count, weight, panel, into, dx);
}

void BlockRun::project_qkv() {
  if (slots_.latent.exist()) return project_latent();
  for_tiles([&](Tile tile) {
    normalize(offsets_.x, slots_.norm_before_attention, tile);
    const auto one = [&](const Projection& projection, Bytes tensor) {
      const std::int64_t width = projection.weight.rows;
      project(projection, scratch(space_.normed), tile.count, scratch(space_.wide));
      kernels_.store(scratch(space_.wide), tile.count * width, row(tensor, tile.begin, width));
    };
    one(slots_.q, offsets_.q);
    one(slots_.k, offsets_.k);
    one(slots_.v, offsets_.v);
    if (slots_.attention_gate.weight.exists()) one(slots_.attention_gate, offsets_.attention_gate);
    if (slots_.delta.exist()) {
      one(slots_.delta.beta, offsets_.delta_beta);
      one(slots_.delta.decay, offsets_.delta_decay);
    }
    measure_heads(slots_.q_norm, offsets_.q, offsets_.q_rstd, query_width_, tile);
    measure_heads(slots_.k_norm, offsets_.k, offsets_.k_rstd, key_width_, tile);
  });
}

void BlockRun::project_residual() {
  for_tiles([&](Tile tile) {
    const float* attention = gated_attention(tile);
    project(slots_.o, attention, tile.count, scratch(space_.wide));
    join(attention_branch(), tile, scratch(space_.wide), scratch(space_.normed), offsets_.x,
         record_.at(offsets_.residual));
  });
}

BlockRun::Expanded BlockRun::expanded(Tile tile) const {
  if (job_.chunks_mlp()) {
    return {workspace_.data + space_.gate.count(), workspace_.data + space_.up.count()};
  }
  return {row(offsets_.gate, tile.begin, shape_.intermediate),
          row(offsets_.up, tile.begin, shape_.intermediate)};
}

void BlockRun::expand(Tile tile) {
  const auto [gate, up] = expanded(tile);
  normalize(offsets_.residual, slots_.norm_before_mlp, tile);
  const auto one = [&](const Projection& projection, std::byte* to) {
    project(projection, scratch(space_.normed), tile.count, scratch(space_.wide));
    kernels_.store(scratch(space_.wide), tile.count * shape_.intermediate, to);
  };
  if (slots_.gate.weight.exists()) one(slots_.gate, gate);
  one(slots_.up, up);
}

void BlockRun::contract(Tile tile) {
  const auto [gate, up] = expanded(tile);
  activation_.forward(gate, up, tile.count * shape_.intermediate, scratch(space_.wide));
  project(slots_.down, scratch(space_.wide), tile.count, scratch(space_.normed));
}

void BlockRun::keep_contraction(Tile tile) {
  if (!slots_.norm_after_mlp.exists()) return;
  contract(tile);
  keep_branch(mlp_branch(), tile, scratch(space_.normed));
}

void BlockRun::rebuild_mlp() {
  if (shape_.experts) {
    project_router();
    return expand_experts(chosen_routes());
  }
  if (job_.chunks_mlp()) return;  // The backward pass rebuilds it tile by tile.
  for_mlp_tiles([&](Tile tile) {
    expand(tile);
    keep_contraction(tile);
  });
}

void BlockRun::feed_forward(std::byte* next_input) {
  if (shape_.experts) {
    project_router();
    return apply_experts(next_input);
  }
  for_mlp_tiles([&](Tile tile) {
    expand(tile);
    contract(tile);
    join(mlp_branch(), tile, scratch(space_.normed), scratch(space_.wide), offsets_.residual,
         next_input);
  });
}

}  // namespace sluice::engine
