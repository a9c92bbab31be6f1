// Weights of blocks in FP8, quantized at their first use and kept while passes of one block follow
// each other, or through a step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/layers/block_memory.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// The forms of blocks' quantized weights. Those of a block for which the plan has memory stay
/// there from its first pass of a step to its last. Other blocks share device memory of this
/// object's own (planner::fp8_weight_bytes), in which a form is valid from its first use until
/// another block, or anything that is no block, is computed (`forget`): a block's weights change
/// only after its last pass of a step, and the passes of other units lie between that and its first
/// pass of the next.
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
  /// Begins a pass over the block of `record`, whose weights begin at `block`. Forms in memory of
  /// the plan's stay valid unless the pass opens a step; others do if the pass before was one over
  /// the same block.
  void begin(const std::uint16_t* block, const CudaRecord& record);
  /// A form of `weight`, bf16 [rows, cols], one of the block's.
  [[nodiscard]] cuda::Quantized get(cudaStream_t stream, const std::uint16_t* weight,
                                    std::int64_t rows, std::int64_t cols, Form form);
  /// Marks the forms in memory that blocks share as outdated.
  void forget();

 private:
  /// Forms of one block, in `memory`, of which they take the first `used` bytes.
  struct Forms {
    std::byte* memory = nullptr;
    std::int64_t used = 0;
    const std::uint16_t* block = nullptr;
    std::int64_t layer = -1;
    std::map<std::pair<const std::uint16_t*, Form>, cuda::Quantized> made{};
  };
  std::byte* take(std::int64_t bytes);

  bool tensorwise_;         ///< Whether a weight has one scale.
  std::int64_t bytes_ = 0;  ///< Bytes that the forms of one block may take.
  Forms shared_;
  std::map<std::int64_t, Forms> kept_;  ///< Forms in memory of the plan's, by layer.
  Forms* now_ = &shared_;               ///< Forms of the block of the pass that has begun.
};

}  // namespace sluice::engine
