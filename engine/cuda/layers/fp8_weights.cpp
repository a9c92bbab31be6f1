#include "engine/cuda/layers/fp8_weights.hpp"

#include "engine/cuda/runtime/check.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

Fp8Weights::Fp8Weights(const planner::Job& job)
    : tensorwise_(job.compute == planner::ComputeType::fp8_tensorwise),
      bytes_(planner::fp8_weight_bytes(job).count()) {
  if (bytes_ == 0) return;
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, static_cast<std::size_t>(bytes_)), "weights in FP8");
  shared_.memory = static_cast<std::byte*>(memory);
}

Fp8Weights::~Fp8Weights() { cudaFree(shared_.memory); }

void Fp8Weights::forget() { shared_ = {.memory = shared_.memory}; }

std::byte* Fp8Weights::take(std::int64_t bytes) {
  std::byte* const place = now_->memory + now_->used;
  now_->used += planner::fp8_weight_stride(bytes);
  check(now_->used <= bytes_, "weights in FP8 take at most what the planner counts");
  return place;
}

void Fp8Weights::begin(const std::uint16_t* block, const CudaRecord& record) {
  const bool stays = record.forms != nullptr;
  now_ = stays ? &kept_[record.layer] : &shared_;
  const bool same = now_->block == block && now_->layer == record.layer;
  const bool outdated = stays && (record.opens_step || now_->memory != record.forms);
  if (same && !outdated) return;
  *now_ = {.memory = stays ? record.forms : shared_.memory, .block = block, .layer = record.layer};
}

cuda::Quantized Fp8Weights::get(cudaStream_t stream, const std::uint16_t* weight, std::int64_t rows,
                                std::int64_t cols, Form form) {
  const auto [found, is_new] = now_->made.try_emplace({weight, form});
  cuda::Quantized& quantized = found->second;
  if (!is_new) return quantized;
  const bool along = form == Form::along;
  const std::int64_t outer = cuda::ceil_div(along ? rows : cols, planner::kFp8Block);
  const std::int64_t inner = cuda::ceil_div(along ? cols : rows, planner::kFp8Block);
  quantized.tensorwise = tensorwise_;
  quantized.values = reinterpret_cast<std::uint8_t*>(take(rows * cols));
  quantized.scales = reinterpret_cast<float*>(take(4 * outer * cuda::scale_stride(inner)));
  cuda::quantize_weight(
      stream, weight, rows, cols,
      along ? cuda::QuantizedForms{.along = quantized} : cuda::QuantizedForms{.across = quantized});
  return quantized;
}

}  // namespace sluice::engine
