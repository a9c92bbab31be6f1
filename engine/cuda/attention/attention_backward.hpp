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

/// Operands of attention's backward pass: device memory laid out as CudaAttention
/// (engine/cuda/attention/attention.hpp) states. d_q, d_k and d_v are overwritten with the
/// gradients of q, k and v.
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
  /// Position of the first token of each token's document, int32 [sequences, length]; null unless
  /// sequences hold several documents.
  const std::int32_t* starts = nullptr;
};

class AttentionBackward {
 public:
  /// Compiles the runs (calls of a kernel) into which `limits` cut the backward pass. `cudnn` must
  /// outlive this object. Throws EnvironmentError if the library does not support such a run on
  /// this GPU; if that is a run over a part of a group of heads, the error names the longest
  /// sequence that needs none.
  AttentionBackward(const Cudnn& cudnn, const AttentionShape& shape, GradientOrder order,
                    planner::AttentionLimits limits);

  [[nodiscard]] Bytes workspace() const;
  /// Text that names cuDNN's engines (kernels) of the backward pass with their settings, and how
  /// sums are cut into runs: everything that decides the bits.
  [[nodiscard]] std::string engines() const;
  /// Enqueues the whole backward pass, some of its runs on a second stream that `stream` waits for.
  /// All memory must stay valid until `stream` has passed them.
  void run(cudaStream_t stream, const AttentionGradients& of, void* workspace) const;

 private:
  /// A block of queries that one run (one call of the kernel) covers, with the keys that they see,
  /// and the compiled plan for it.
  struct Block {
    planner::AttentionBlock range;
    AttentionScalars scalars;
    CudnnPlan plan;
  };
  /// Where a run (one call of the kernel) begins: indices of its first sequence, query head and key
  /// head.
  struct Origin {
    std::int64_t sequence = 0, head = 0, kv_head = 0;
  };
  /// Buffers in the workspace by which the gradients of one head of keys and of values are summed
  /// over several runs.
  struct Sums {
    /// Gradients of the head's keys and values from a single run, bf16 [length, head_dim].
    std::uint16_t *d_k, *d_v;
    /// Sums of those gradients over the runs so far, fp32 [length, head_dim].
    float *d_k_total, *d_v_total;
    /// Copy of the head's keys without gaps, bf16 [length, head_dim]; used if packs_keys_.
    std::uint16_t* k;
  };

  [[nodiscard]] std::vector<Block> blocks_of(
      const std::vector<planner::AttentionBlock>& ranges) const;
  [[nodiscard]] Block block_of(const Cudnn& cudnn, const planner::AttentionBlock& range) const;
  [[nodiscard]] Bytes out_sum_bytes() const;
  [[nodiscard]] Bytes d_q_sum_bytes() const;
  [[nodiscard]] Sums sums_at(void* workspace) const;
  /// Bytes of scratch for one run; two runs may be in flight, each with its own.
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
  AttentionShape part_;  ///< Sequences, heads and queries that a single run covers.
  GradientOrder order_;
  bool sums_;  ///< Whether several runs add to the gradients of the same keys and values.
  bool packs_keys_;
  std::vector<Block> blocks_;
  /// Second stream; none unless two runs are in flight at the same time.
  std::optional<SideStream> side_;
};

}  // namespace sluice::engine
