// Attention's backward pass, cut into runs that fit in a given amount of scratch: whole groups of
// heads, or parts of one group whose gradients of keys and values are added up in fp32
// (docs/design/attention.md).
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/attention/attention_bindings.hpp"
#include "engine/cuda/attention/cudnn.hpp"
#include "engine/cuda/attention/cudnn_plan.hpp"
#include "engine/cuda/runtime/side_stream.hpp"
#include "planner/scratch/attention_shape.hpp"

namespace sluice::engine {

/// Operands of the backward pass: device memory laid out as CudaAttention states. d_q, d_k and d_v
/// are overwritten.
struct AttentionGradients {
  const void* q;
  const void* k;
  const void* v;
  const void* out;
  const float* lse;
  const void* d_out;
  void* d_q;
  void* d_k;
  void* d_v;
  /// First position of each token's document, int32 [sequences, length], or null.
  const std::int32_t* starts = nullptr;
};

class AttentionBackward {
 public:
  /// `cudnn` must outlive this object. Throws EnvironmentError if the library does not support such
  /// runs on this GPU, naming the longest sequence that needs only supported ones.
  AttentionBackward(const Cudnn& cudnn, const AttentionShape& shape, GradientOrder order,
                    planner::AttentionLimits limits);

  [[nodiscard]] Bytes workspace() const;
  /// Names of the library's engines with their settings, and how sums are cut into runs: everything
  /// that decides the bits.
  [[nodiscard]] std::string engines() const;
  /// Enqueues all runs, some of them on a second stream that `stream` waits for. All memory must
  /// stay valid until `stream` has passed them.
  void run(cudaStream_t stream, const AttentionGradients& of, void* workspace) const;

 private:
  /// One block of queries for the heads of one run, with the compiled plan for it.
  struct Block {
    planner::AttentionBlock range;
    AttentionScalars scalars;
    CudnnPlan plan;
  };
  /// Index of the sequence, of the query head and of the key head at which a run begins.
  struct Origin {
    std::int64_t sequence = 0, head = 0, kv_head = 0;
  };
  /// Buffers in the workspace for the gradients of one head of keys and values.
  struct Sums {
    /// Gradients of keys and values from one run, bf16 [length, head_dim].
    std::uint16_t *d_k, *d_v;
    /// Sums over the runs so far of the gradients of keys and values, fp32 [length, head_dim].
    float *d_k_total, *d_v_total;
    std::uint16_t* k;  ///< The head's keys [length, head_dim], if they are packed.
  };

  [[nodiscard]] std::vector<Block> blocks_of(
      const std::vector<planner::AttentionBlock>& ranges) const;
  [[nodiscard]] Block block_of(const Cudnn& cudnn, const planner::AttentionBlock& range) const;
  [[nodiscard]] Bytes out_sum_bytes() const;
  [[nodiscard]] Bytes d_q_sum_bytes() const;
  [[nodiscard]] Sums sums_at(void* workspace) const;
  /// Bytes of scratch that each of the runs in flight takes.
  [[nodiscard]] Bytes run_workspace() const;
  void run_block(cudaStream_t stream, const Block& block, const Origin& origin,
                 const AttentionGradients& of, void* workspace) const;
  void pack_keys(cudaStream_t stream, const void* from, std::uint16_t* to) const;
  void run_group(cudaStream_t stream, const Origin& origin, const AttentionGradients& of,
                 void* workspace) const;
  void round_into(cudaStream_t stream, const float* total, std::uint16_t* scratch,
                  void* gradient) const;

  const Cudnn& cudnn_;
  AttentionShape shape_;
  AttentionShape part_;  ///< Shape of the part that one run covers.
  GradientOrder order_;
  bool sums_;  ///< Whether several runs add to the same gradients of keys and values.
  bool packs_keys_;
  std::vector<Block> blocks_;
  std::optional<SideStream> side_;  ///< Second stream, if two runs are in flight at the same time.
};

}  // namespace sluice::engine
