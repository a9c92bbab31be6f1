// A gated delta net between a block's projections (docs/design/gated-delta-net.md).
#include <algorithm>

#include "engine/host/block_run.hpp"
#include "engine/host/gated_norm.hpp"

namespace sluice::engine {

DocumentBounds BlockRun::document_bounds(std::int64_t first_token) const {
  auto* bounds = reinterpret_cast<std::int64_t*>(workspace_.data + space_.delta.bounds.count());
  std::size_t count = 0;
  for (std::int64_t i = 0; i < job_.seq_len; ++i) {
    const bool begins = record_.documents != nullptr && record_.documents[first_token + i] < 0;
    if (i == 0 || begins) bounds[count++] = i;
  }
  bounds[count++] = job_.seq_len;
  return {bounds, count};
}

void BlockRun::load_mixer_weights() const {
  const auto load = [&](const Slot& slot, Bytes to) {
    const WeightMatrix weight = matrix(slot);
    plain_.join(weight.high, weight.low, slot.size(), scratch(to));
  };
  load(slots_.delta.conv, space_.delta.conv);
  load(slots_.delta.log_rate, space_.delta.rate);
  load(slots_.delta.time_bias, space_.delta.bias);
}

DeltaDecay BlockRun::delta_decay() const {
  return {scratch(space_.delta.rate), scratch(space_.delta.bias)};
}

void BlockRun::load_mixer(std::int64_t first_token, std::int64_t count) const {
  const planner::DeltaNet& net = *shape_.delta_net;
  float* inputs = scratch(space_.delta.inputs);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t token = first_token + i;
    float* to = inputs + i * net.channels();
    kernels_.load(row(offsets_.q, token, net.keys()), net.keys(), to);
    kernels_.load(row(offsets_.k, token, net.keys()), net.keys(), to + net.keys());
    kernels_.load(row(offsets_.v, token, net.values()), net.values(), to + 2 * net.keys());
  }
  const std::int64_t heads = net.value_heads;
  kernels_.load(row(offsets_.delta_beta, first_token, heads), count * heads,
                scratch(space_.delta.beta));
  kernels_.load(row(offsets_.delta_decay, first_token, heads), count * heads,
                scratch(space_.delta.decay));
}

DeltaInputs BlockRun::mixer_inputs(std::int64_t first_token, DocumentBounds bounds) const {
  const planner::DeltaNet& net = *shape_.delta_net;
  const planner::DeltaWorkspace& space = space_.delta;
  load_mixer(first_token, job_.seq_len);
  delta_conv(job_.compute, bounds, net.channels(), scratch(space.inputs), scratch(space.conv),
             scratch(space.mixed));
  delta_gates(job_.seq_len, net.value_heads, delta_decay(), scratch(space.decay),
              scratch(space.beta), scratch(space.decays), scratch(space.rates));
  return {scratch(space.mixed), scratch(space.decays), scratch(space.rates)};
}

void BlockRun::mix() {
  const planner::DeltaNet& net = *shape_.delta_net;
  const planner::DeltaWorkspace& space = space_.delta;
  load_mixer_weights();
  for (std::int64_t first = 0; first < tokens_; first += job_.seq_len) {
    const DocumentBounds bounds = document_bounds(first);
    const DeltaInputs inputs = mixer_inputs(first, bounds);
    float* output = scratch(space.d_mixed);
    delta_rule(job_.compute, net, bounds, inputs, scratch(space.rule), output, nullptr);
    kernels_.store(output, job_.seq_len * net.values(),
                   row(offsets_.attention, first, net.values()));
  }
}

void BlockRun::mix_backward(float* gradient) {
  const planner::DeltaNet& net = *shape_.delta_net;
  const planner::DeltaWorkspace& space = space_.delta;
  load_mixer_weights();
  for (std::int64_t first = 0; first < tokens_; first += job_.seq_len) {
    const DocumentBounds bounds = document_bounds(first);
    const DeltaInputs inputs = mixer_inputs(first, bounds);
    float* d_beta = scratch(space_.d_beta) + first * net.value_heads;
    float* d_decay = scratch(space_.d_decay) + first * net.value_heads;
    delta_rule_backward(job_.compute, net, bounds, inputs, scratch(space.rule),
                        scratch(space_.d_linear) + first * net.values(),
                        {scratch(space.d_mixed), d_decay, d_beta});
    delta_gates_backward(
        job_.seq_len, net.value_heads, delta_decay(), scratch(space.decay), scratch(space.beta),
        d_decay, d_beta, d_decay, d_beta,
        {gradient + slots_.delta.log_rate.offset, gradient + slots_.delta.time_bias.offset});
    float* d_inputs =
        scratch(space.mixed);  // The convolution's outputs were read for the last time.
    delta_conv_backward(job_.compute, bounds, net.channels(), scratch(space.inputs),
                        scratch(space.conv), scratch(space.d_mixed), scratch(space.rule), d_inputs,
                        gradient + slots_.delta.conv.offset);
    for (std::int64_t i = 0; i < job_.seq_len; ++i) {
      const float* from = d_inputs + i * net.channels();
      const std::int64_t token = first + i;
      std::copy_n(from, net.keys(), scratch(space_.d_query) + token * net.keys());
      std::copy_n(from + net.keys(), net.keys(), scratch(space_.d_key) + token * net.keys());
      std::copy_n(from + 2 * net.keys(), net.values(),
                  scratch(space_.d_value) + token * net.values());
    }
  }
}

// Token by token by the recurrence, so that a text's bits do not depend on the pieces that it is
// computed in.
void BlockRun::mix_kept(const KeptKeys& kept) {
  const planner::DeltaNet& net = *shape_.delta_net;
  const planner::DeltaWorkspace& space = space_.delta;
  auto* window = reinterpret_cast<float*>(kept.data);
  float* state = window + (planner::kDeltaTaps - 1) * net.channels();
  if (kept.first == 0) std::fill(window, state + net.state(), 0.0f);
  load_mixer_weights();
  for (std::int64_t i = 0; i < tokens_; ++i) {
    load_mixer(i, 1);
    delta_conv_step(job_.compute, net.channels(), scratch(space.inputs), scratch(space.conv),
                    window, scratch(space.mixed));
    delta_gates(1, net.value_heads, delta_decay(), scratch(space.decay), scratch(space.beta),
                scratch(space.decays), scratch(space.rates));
    const DeltaInputs inputs{scratch(space.mixed), scratch(space.decays), scratch(space.rates)};
    float* output = scratch(space.d_mixed);
    delta_rule_step(job_.compute, net, inputs, state, scratch(space.rule), output);
    kernels_.store(output, net.values(), row(offsets_.attention, i, net.values()));
  }
}

const float* BlockRun::normed_mix(Tile tile) {
  const planner::DeltaNet& net = *shape_.delta_net;
  const std::int64_t n = tile.count * net.values();
  float* output = scratch(space_.input);
  float* gate = scratch(space_.wide);
  kernels_.load(row(offsets_.attention, tile.begin, net.values()), n, output);
  kernels_.load(row(offsets_.attention_gate, tile.begin, net.values()), n, gate);
  gated_norm(job_.compute, tile.count * net.value_heads, net.value_dim, output, gate,
             vector(slots_.delta.norm), eps_, output);
  return output;
}

void BlockRun::normed_mix_backward(Tile tile, float* gradient) {
  const planner::DeltaNet& net = *shape_.delta_net;
  const std::int64_t n = tile.count * net.values();
  float* output = scratch(space_.input);
  float* gate = scratch(space_.wide);
  kernels_.load(row(offsets_.attention, tile.begin, net.values()), n, output);
  kernels_.load(row(offsets_.attention_gate, tile.begin, net.values()), n, gate);
  float* d = scratch(space_.d_linear) + tile.begin * net.values();
  gated_norm_backward(job_.compute, tile.count * net.value_heads, net.value_dim, output, gate,
                      vector(slots_.delta.norm), eps_, d, d,
                      scratch(space_.d_attention_gate) + tile.begin * net.values(),
                      gradient + slots_.delta.norm.offset);
}

}  // namespace sluice::engine
