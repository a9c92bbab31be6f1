#include "engine/host/head_run.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/error.hpp"

namespace sluice::engine {

HeadRun::HeadRun(const HostTemplates& templates, Workspace workspace)
    : job_(templates.job_),
      shape_(templates.job_.model),
      space_(templates.head_space_),
      slots_(templates.ends_),
      workspace_(workspace),
      kernels_(elementwise(templates.job_.compute)),
      row_bytes_(shape_.hidden * job_.compute_element().count()),
      chunk_(std::min(job_.loss_chunk, job_.micro_tokens())) {
  check(workspace.bytes >= space_.total, "the workspace holds the head's scratch");
}

float* HeadRun::scratch(Bytes offset) const {
  return reinterpret_cast<float*>(workspace_.data + offset.count());
}

WeightMatrix HeadRun::matrix(Weights head, Weights embed) const {
  const Slot& slot = shape_.tied_head ? slots_.embedding : slots_.lm_head;
  const Weights unit = shape_.tied_head ? embed : head;
  return {unit.high + slot.offset, unit.low == nullptr ? nullptr : unit.low + slot.offset,
          slot.rows, slot.cols};
}

const float* HeadRun::norm_weight(Weights head) {
  const std::int64_t offset = slots_.final_norm.offset;
  float* weight = scratch(space_.vector);
  plain_kernels().join(head.high + offset, head.low == nullptr ? nullptr : head.low + offset,
                       shape_.hidden, weight);
  if (shape_.norms.one_plus_weight) {
    for (std::int64_t i = 0; i < shape_.hidden; ++i) weight[i] += 1.0f;
  }
  return weight;
}

const float* HeadRun::normalize(Weights head, const std::byte* input, std::int64_t count) {
  const float* x = reinterpret_cast<const float*>(input);
  if (job_.compute != planner::ComputeType::fp32) {
    kernels_.load(input, count * shape_.hidden, scratch(space_.input));
    x = scratch(space_.input);
  }
  kernels_.rms_norm(x, count, shape_.hidden, norm_weight(head), static_cast<float>(shape_.rms_eps),
                    scratch(space_.normed), scratch(space_.rstd));
  return x;
}

void HeadRun::project(Weights head, Weights embed, std::int64_t count, float* logits) {
  multiply(scratch(space_.normed), count, matrix(head, embed), scratch(space_.panel), logits);
  const auto factor = static_cast<float>(shape_.scales.logits);
  const std::int64_t n = count * shape_.vocab;
  if (shape_.scales.logits_softcap) {
    plain_kernels().softcap(logits, n, factor, static_cast<float>(*shape_.scales.logits_softcap));
  } else if (factor != 1) {
    plain_kernels().scale(logits, n, factor);
  }
}

// The gradient of the product's result includes the factor of the logits, which is folded into the
// scale.
double HeadRun::cross_entropy(const std::int32_t* targets, std::int64_t count, float scale) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    float* row = scratch(space_.logits) + i * shape_.vocab;
    if (targets[i] < 0) {
      if (scale != 0) std::memset(row, 0, static_cast<std::size_t>(shape_.vocab) * sizeof(float));
      continue;
    }
    const float factor = scale * static_cast<float>(shape_.scales.logits);
    const std::optional<double> cap = shape_.scales.logits_softcap;
    sum += static_cast<double>(cap ? kernels_.capped_cross_entropy(row, shape_.vocab, targets[i],
                                                                   factor, static_cast<float>(*cap))
                                   : kernels_.cross_entropy(row, shape_.vocab, targets[i], factor));
  }
  return sum;
}

void HeadRun::chunk_backward(const LossArguments& arguments, const float* x, std::int64_t begin,
                             std::int64_t count) {
  float* d_logits = scratch(space_.logits);
  float* d_normed = scratch(space_.d_normed);
  float* d_matrix = shape_.tied_head ? arguments.tied_gradient + slots_.embedding.offset
                                     : arguments.gradient + slots_.lm_head.offset;
  accumulate_outer(d_logits, scratch(space_.normed), count, shape_.vocab, shape_.hidden, d_matrix);
  multiply_transposed(d_logits, count, matrix(arguments.head, arguments.embed),
                      scratch(space_.panel), Into::overwrite, d_normed);
  kernels_.rms_norm_backward(d_normed, x, count, shape_.hidden, norm_weight(arguments.head),
                             scratch(space_.rstd), nullptr,
                             arguments.gradient + slots_.final_norm.offset,
                             arguments.stream_gradient + begin * row_bytes_);
}

double HeadRun::loss(const LossArguments& arguments) {
  check(arguments.scale > 0, "the loss weighs a token by a positive number");
  if (arguments.first) {
    const auto zero = [](float* gradient, std::int64_t elements) {
      std::memset(gradient, 0, static_cast<std::size_t>(elements) * sizeof(float));
    };
    zero(arguments.gradient, slots_.head_padded);
    if (shape_.tied_head) zero(arguments.tied_gradient, slots_.embed_padded);
  }
  double sum = 0;
  for (std::int64_t begin = 0; begin < job_.micro_tokens(); begin += chunk_) {
    const std::int64_t count = std::min(chunk_, job_.micro_tokens() - begin);
    const float* x = normalize(arguments.head, arguments.input + begin * row_bytes_, count);
    project(arguments.head, arguments.embed, count, scratch(space_.logits));
    sum += cross_entropy(arguments.targets + begin, count, arguments.scale);
    chunk_backward(arguments, x, begin, count);
  }
  return sum;
}

double HeadRun::loss_only(const LossArguments& arguments) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < job_.micro_tokens(); begin += chunk_) {
    const std::int64_t count = std::min(chunk_, job_.micro_tokens() - begin);
    normalize(arguments.head, arguments.input + begin * row_bytes_, count);
    project(arguments.head, arguments.embed, count, scratch(space_.logits));
    sum += cross_entropy(arguments.targets + begin, count, 0);
  }
  return sum;
}

void HeadRun::logits(Weights head, Weights embed, const std::byte* input, std::int64_t count,
                     float* logits) {
  check(count <= chunk_, "logits are asked for at most one loss chunk at a time");
  normalize(head, input, count);
  project(head, embed, count, logits);
}

}  // namespace sluice::engine
