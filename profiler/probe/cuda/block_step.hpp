// Steps of a model of a few blocks on the device, whose passes are the calls that a run makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/optimizer/adamw.hpp"
#include "profiler/probe/cuda/pass_clock.hpp"
#include "profiler/probe/probed_blocks.hpp"

namespace sluice::profiler {

/// One job's step, on device memory of probed_memory(job).total bytes that the caller owns and that
/// other jobs' steps may use in between. Calls enqueue on a stream; the memory must stay valid
/// until the stream has passed.
class BlockStep {
 public:
  /// Micro-batches of a step; the first overwrites gradients, and the others add to them.
  static constexpr int kMicroBatches = 4;

  /// Throws what engine::CudaTemplates throws, for libraries that lack a shape too.
  BlockStep(const planner::Job& job, const engine::GemmTable& table);

  /// Fills `memory` with what a step begins with: weights of random numbers, repeated from the
  /// `count` bf16 numbers at `normals` on the device, norms of ones, moments of zeros, random
  /// tokens. Waits for the stream.
  void prepare(cudaStream_t stream, std::byte* memory, const std::uint16_t* normals,
               std::int64_t count);
  /// Enqueues the passes of micro-batch `index` of a step: embedding, blocks, loss (in the first
  /// two micro-batches alone, since a model has many blocks to one loss), and the backward passes,
  /// before which half the blocks are recomputed from their inputs, and half from what selective
  /// records keep.
  void micro_batch(cudaStream_t stream, int index, PassClock& clock);
  /// Enqueues what ends a step: norms of gradients, and the update of one block.
  void finish(cudaStream_t stream, PassClock& clock);

  [[nodiscard]] const planner::Job& job() const { return job_; }

 private:
  [[nodiscard]] std::byte* at(Bytes offset) const { return memory_ + offset.count(); }
  [[nodiscard]] engine::CudaRecord record(std::size_t block) const;
  [[nodiscard]] const std::uint16_t* weights(std::size_t unit) const;
  [[nodiscard]] float* gradient(std::size_t unit) const;
  void fill_norms(cudaStream_t stream) const;
  void fill_tokens(cudaStream_t stream) const;
  void loss(cudaStream_t stream, engine::cuda::Into into);
  void backward(cudaStream_t stream, int index, PassClock& clock);
  [[nodiscard]] std::string key(planner::Pass pass, std::size_t unit) const;

  planner::Job job_;
  ProbedMemory places_;
  planner::BlockRecord layout_;
  engine::CudaTemplates templates_;
  /// Ranges of a block's parameters with and without decay.
  std::vector<engine::AdamWSpan> spans_;
  engine::SharedMemory update_;  ///< AdamW's constants for a block's update.
  std::byte* memory_ = nullptr;
};

}  // namespace sluice::profiler
