// Weights of one block in FP8, quantized at their first use and kept while passes of that block
// follow each other.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/cuda/kernels/quantize.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// The forms of a block's quantized weights, in device memory of its own
/// (planner::fp8_weight_bytes). A form is valid from its first use until another block, or anything
/// that is no block, is computed (`forget`): a block's weights change only after its last pass of a
/// step, and the passes of other units lie between that and its first pass of the next.
class Fp8Weights {
 public:
  /// Allocates nothing for a job that does not compute in FP8. Throws EnvironmentError if the
  /// memory is not free.
  explicit Fp8Weights(const planner::Job& job);
  ~Fp8Weights();
  Fp8Weights(const Fp8Weights&) = delete;  // Owns device memory.
  Fp8Weights& operator=(const Fp8Weights&) = delete;

  /// The weight as it is, for forward products, or transposed, for gradients of inputs.
  enum class Form { along, across };
  /// Begins a pass over the block `layer`, whose weights begin at `block`: forms stay valid if the
  /// pass before was one over the same.
  void begin(const std::uint16_t* block, std::int64_t layer);
  /// A form of `weight`, bf16 [rows, cols], one of the block's.
  [[nodiscard]] cuda::Quantized get(cudaStream_t stream, const std::uint16_t* weight,
                                    std::int64_t rows, std::int64_t cols, Form form);
  /// Marks all forms as outdated.
  void forget();

 private:
  std::byte* take(std::int64_t bytes);

  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0, used_ = 0;
  const std::uint16_t* block_ = nullptr;
  std::int64_t layer_ = -1;
  std::map<std::pair<const std::uint16_t*, Form>, cuda::Quantized> forms_;
};

}  // namespace sluice::engine
