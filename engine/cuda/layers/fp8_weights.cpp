#include "engine/cuda/layers/fp8_weights.hpp"

#include "engine/cuda/runtime/check.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

Fp8Weights::Fp8Weights(const planner::Job& job) : bytes_(planner::fp8_weight_bytes(job).count()) {
  if (bytes_ == 0) return;
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, static_cast<std::size_t>(bytes_)), "weights in FP8");
  memory_ = static_cast<std::byte*>(memory);
}

Fp8Weights::~Fp8Weights() { cudaFree(memory_); }

void Fp8Weights::forget() {
  forms_.clear();
  used_ = 0;
  block_ = nullptr;
  layer_ = -1;
}

std::byte* Fp8Weights::take(std::int64_t bytes) {
  std::byte* const place = memory_ + used_;
  used_ += planner::fp8_weight_stride(bytes);
  check(used_ <= bytes_, "weights in FP8 take at most what the planner counts");
  return place;
}

void Fp8Weights::begin(const std::uint16_t* block, std::int64_t layer) {
  if (block == block_ && layer == layer_) return;
  forget();
  block_ = block;
  layer_ = layer;
}

cuda::Quantized Fp8Weights::get(cudaStream_t stream, const std::uint16_t* weight, std::int64_t rows,
                                std::int64_t cols, Form form) {
  const auto [found, is_new] = forms_.try_emplace({weight, form});
  cuda::Quantized& quantized = found->second;
  if (!is_new) return quantized;
  const bool along = form == Form::along;
  const std::int64_t outer = cuda::ceil_div(along ? rows : cols, planner::kFp8Block);
  const std::int64_t inner = cuda::ceil_div(along ? cols : rows, planner::kFp8Block);
  quantized.values = reinterpret_cast<std::uint8_t*>(take(rows * cols));
  quantized.scales = reinterpret_cast<float*>(take(4 * outer * cuda::scale_stride(inner)));
  cuda::quantize_weight(
      stream, weight, rows, cols,
      along ? cuda::QuantizedForms{.along = quantized} : cuda::QuantizedForms{.across = quantized});
  return quantized;
}

}  // namespace sluice::engine
