#include "planner/costs/fp8_work.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Products of a block that one pass computes.
struct BlockProducts {
  bool qkv = false, o_gate_up = false, down = false, backward = false;
};

BlockProducts products_of(Pass pass) {
  switch (pass) {
    case Pass::block_forward:
      return {.qkv = true, .o_gate_up = true, .down = true};
    case Pass::block_recompute_input:
      return {.qkv = true, .o_gate_up = true};
    case Pass::block_recompute_attention:
    case Pass::block_recompute_kv:
    case Pass::block_recompute_selective:
      return {.o_gate_up = true};
    case Pass::block_backward:
      return {.qkv = true, .o_gate_up = true, .down = true, .backward = true};
    default:
      return {};
  }
}

}  // namespace

Fact fp8_speedup(const MachineProfile& machine, const Gemm& gemm) {
  const bool gradient = gemm.result_bytes > 2;  // Results in fp32.
  const Fact& stated = gradient ? machine.fp8_gradient_speedup : machine.fp8_speedup;
  if (stated.value > 0 && gemm.tensorwise != has_fp8_products(machine)) return stated;
  const double value = gemm.tensorwise ? kTensorwiseSpeedup
                       : gradient      ? kFp8GradientSpeedup
                                       : kFp8Speedup;
  return {
      .value = value,
      .deviation = value * (gemm.tensorwise ? kTensorwiseSpeedupDeviation : kFp8SpeedupDeviation),
      .count = 1,
      .source = Source::estimated,
      .note = "as on an H200"};
}

bool has_products(ComputeType type, std::string_view architecture) {
  constexpr std::array<std::string_view, 6> kTensorwise = {"sm_89",  "sm_90",  "sm_100",
                                                           "sm_103", "sm_120", "sm_121"};
  if (type == ComputeType::fp8) return architecture == "sm_90";
  return type != ComputeType::fp8_tensorwise ||
         std::ranges::find(kTensorwise, architecture) != kTensorwise.end();
}

bool has_fp8_products(const MachineProfile& machine) {
  return has_products(ComputeType::fp8, machine.architecture);
}

void add_fp8(Work& work, const Job& job, Pass pass) {
  const BlockProducts products = products_of(pass);
  if (!products.o_gate_up) return;
  const double share = job.fp8_share();
  const bool tensorwise = job.compute == ComputeType::fp8_tensorwise;
  for (Gemm& g : work.gemms) {
    g.fp8 = share;
    g.tensorwise = tensorwise;
  }
  const ModelShape& shape = job.model;
  const std::int64_t query = shape.heads * shape.head_dim;
  const std::int64_t qkv = query + 2 * shape.kv_heads * shape.head_dim;
  const std::int64_t up = (has_gate(shape.activation) ? 2 : 1) * shape.intermediate;
  const std::int64_t scale = tensorwise ? 2 : 0;  // Bytes of an element that are read for a scale.
  const std::int64_t forward = 3 + scale;         // Bytes of an operand's or weight's element.
  const std::int64_t back = products.backward ? 4 + scale : 0;  // Bytes of a gradient's element.
  std::int64_t a_token = 0, parameters = 0;
  const auto add = [&](std::int64_t in, std::int64_t out) {
    a_token += forward * in + back * out;
    parameters += in * out;
    const std::int64_t forms = products.backward ? 3 : 2;
    work.kernels += tensorwise ? 2 * forms : forms;
  };
  if (products.qkv) add(shape.hidden, qkv);
  add(query, shape.hidden);
  add(shape.hidden, up);
  if (products.down) add(shape.intermediate, shape.hidden);
  if (products.down && !products.backward) {
    a_token -= shape.intermediate;
    // The scale of the down product's x is that of what gate and up become.
    if (tensorwise) a_token += (has_gate(shape.activation) ? 2 : 0) * shape.intermediate;
  }
  if (products.backward && !shape.mlp_bias) {
    // The gradients of gate and up, and the input of the down product, are quantized by the kernel
    // that computes them: bf16 copies (2 bytes an element) are neither written nor read.
    a_token -= (has_gate(shape.activation) ? 12 : 8) * shape.intermediate;
    work.kernels -= 2;
  }
  // A block's weights are quantized once for its passes over the job's micro-batches.
  const std::int64_t bytes =
      job.micro_tokens() * a_token + forward * parameters / job.micro_batches();
  work.streamed += Bytes(static_cast<std::int64_t>(share * static_cast<double>(bytes)));
}

void require_fp8_products(const Job& job, const MachineProfile& machine) {
  if (!is_fp8(job.compute)) return;
  const bool tensorwise = job.compute == ComputeType::fp8_tensorwise;
  if (machine.device != DeviceKind::cuda) {
    if (!tensorwise) return;
    throw BadRequest("compute: fp8-tensorwise is computed by GPUs alone, and " + machine.name +
                     " is none: name a machine with a GPU, or set compute to fp8 or bf16");
  }
  for (const Fact& stated : {machine.fp8_speedup, machine.fp8_gradient_speedup}) {
    if (stated.value <= kMostFp8Speedup) continue;
    throw BadRequest("machine " + machine.name + ": fp8_speedup: products in FP8 are at most " +
                     std::to_string(static_cast<int>(kMostFp8Speedup)) +
                     " times as fast as in bf16: set fp8_speedup and fp8_gradient_speedup to what "
                     "a probe measures");
  }
  if (has_products(job.compute, machine.architecture)) return;
  const bool other = has_products(ComputeType::fp8_tensorwise, machine.architecture);
  throw BadRequest(
      std::string("compute: ") + to_string(job.compute) + " needs a GPU with " +
      (tensorwise ? "FP8 products (sm_89 or newer)" : "block-scaled FP8 products (sm_90)") +
      ", and " + machine.name + " is " +
      (machine.architecture.empty() ? "of an unknown kind" : machine.architecture) +
      ": set compute to " + (other ? "fp8-tensorwise or bf16" : "bf16"));
}

}  // namespace sluice::planner
