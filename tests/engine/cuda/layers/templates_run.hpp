// Jobs, weights and comparisons shared by tests of the cuda backend's layer templates: the same
// bf16 values on the device and, in fp32, on the host.
#pragma once

#include "engine/cuda/layers/templates.hpp"
#include "engine/host/templates.hpp"
#include "tests/engine/cuda/kernel_test.hpp"
#include "tests/engine/initial_unit.hpp"

namespace sluice::engine {

using cuda::testing::DeviceArray;
using cuda::testing::Halves;
using cuda::testing::RandomValues;
using cuda::testing::to_bf16;
using cuda::testing::value_of;

inline planner::Job small_job(planner::Family family, planner::ComputeType compute) {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.family = family;
  shape.layers = 1;
  shape.hidden = 256;
  shape.intermediate = 704;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 64;
  shape.vocab = 1024;
  shape.qkv_bias = family == planner::Family::qwen2;
  if (family == planner::Family::qwen3 || family == planner::Family::qwen3_moe) {
    shape.head_norm = planner::HeadNorm::per_head;
  }
  if (family == planner::Family::mixtral) shape.names.experts = planner::kMixtralExperts;
  shape.init_std = 0.05;
  if (family == planner::Family::qwen3_moe || family == planner::Family::mixtral) {
    shape.experts = planner::Experts{.count = 8, .active = 2, .intermediate = 352};
    shape.experts->normalized = family == planner::Family::mixtral;
  }
  job.seq_len = 128;
  job.batch_size = 2;
  job.micro_batch = 2;
  job.loss_chunk = 96;
  job.compute = compute;
  return job;
}

inline double relative_error(const std::vector<double>& actual,
                             const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T value : values)
    result.push_back(static_cast<double>(cuda::testing::value_of(value)));
  return result;
}

/// bf16 weights of a unit. The low halves are zero, so that fp32 computes with the same values.
inline Halves test_weights(const planner::Job& job, std::size_t unit) {
  Halves high = testing::InitialUnit(job.model, unit, 7).high;
  for (const planner::TensorSpec& tensor : planner::unit_tensors(job.model, unit).tensors) {
    if (tensor.rows != 1 || tensor.role == planner::TensorRole::shared_switch) continue;
    RandomValues random(static_cast<unsigned>(tensor.offset) + 5);
    // What multiplies is near 1; sinks are too.
    const bool near_zero = tensor.name.ends_with("bias") || (job.model.norms.one_plus_weight &&
                                                             tensor.name.ends_with("norm.weight"));
    // Decays of e^-0.02 or so, by which a state outlives a chunk.
    const bool rate = tensor.role == planner::TensorRole::delta_log_rate;
    const Halves values = random.halves(tensor.size(), 0.1F,
                                        rate        ? -4.0F
                                        : near_zero ? 0.0F
                                                    : 1.0F);
    std::copy(values.begin(), values.end(), high.begin() + tensor.offset);
  }
  return high;
}

class TemplatesTest : public cuda::testing::KernelTest {
 protected:
  Halves weights(const planner::Job& job, std::size_t unit) { return test_weights(job, unit); }
};

/// Base of tests that run once for each model family.
using EveryFamily = ::testing::WithParamInterface<planner::Family>;
inline auto every_family() {
  return ::testing::Values(planner::Family::llama, planner::Family::qwen2, planner::Family::qwen3,
                           planner::Family::qwen3_moe, planner::Family::mixtral);
}

/// Memory for a host template's scratch, aligned as required.
class HostScratch {
 public:
  explicit HostScratch(const planner::Job& job)
      : bytes_(planner::workspace_bytes(job)),
        memory_(static_cast<std::size_t>(bytes_.count()) + 64) {}
  [[nodiscard]] Workspace workspace() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return {reinterpret_cast<std::byte*>((address + 63) / 64 * 64), bytes_};
  }

 private:
  Bytes bytes_;
  std::vector<std::byte> memory_;
};

/// Makes the routing of a mixture of experts unambiguous: each expert's logit becomes the sum of
/// one in eight elements, and two of these sums stand out in every token, so that no rounding
/// changes a choice.
inline void make_choices_plain(const planner::Job& job, Halves& weights, Halves& x) {
  if (!job.model.experts) return;
  const std::int64_t hidden = job.model.hidden, experts = job.model.experts->count;
  const Slot router = block_slots(job.model).experts.router.weight;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    for (std::int64_t c = 0; c < hidden; ++c) {
      weights[static_cast<std::size_t>(router.offset + expert * hidden + c)] =
          to_bf16(c % experts == expert ? 0.03F : 0.0F);
    }
  }
  for (std::int64_t t = 0; t < job.micro_tokens(); ++t) {
    for (std::int64_t c = 0; c < hidden; ++c) {
      std::uint16_t& value = x[static_cast<std::size_t>(t * hidden + c)];
      if (c % experts == t % experts) value = to_bf16(value_of(value) + 4);
      if (c % experts == (3 * t + 1) % experts) value = to_bf16(value_of(value) + 2);
    }
  }
}

}  // namespace sluice::engine
