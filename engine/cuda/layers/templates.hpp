// The layer templates of the cuda backend: one unit's computation bound to raw device memory, as
// engine/host/templates.hpp, in bf16 with fp32 accumulation. Kernels are enqueued on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cuda/attention/attention.hpp"
#include "engine/cuda/kernels/into.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/products/gemm.hpp"
#include "engine/host/unit_slots.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/job.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::engine {

/// A block's record on the device. Between q and k_rstd lie packed rows [q k v] of raw projections,
/// between gate and the end packed rows [gate up]. The parts beyond `kept` lie at `full`; x lies at
/// `input`.
struct CudaRecord {
  std::byte* input = nullptr;
  std::byte* record = nullptr;  ///< Address of the record's byte 0, whether or not x lies there.
  std::byte* full = nullptr;
  Bytes kept{0};
  /// int32 [T] inputs, which say where documents begin: where attention stays inside them only.
  const std::int32_t* documents = nullptr;
  [[nodiscard]] std::byte* at(Bytes offset) const {
    if (offset == Bytes(0)) return input;
    return offset < kept ? record + offset.count() : full + (offset - kept).count();
  }
};

/// A block's keys and values of a sequence that comes in parts, in device memory.
struct CudaKeptKeys {
  std::uint16_t* data;  ///< Rotated keys, then values: [seq_len, kv_heads * head_dim] each.
  std::int64_t first;   ///< Tokens whose keys are kept.
  std::int64_t count;   ///< Tokens of the call, at least one.
};

/// One micro-batch at the head; fields as LossArguments of the host templates.
struct CudaLossArguments {
  const std::uint16_t* head;
  const std::uint16_t* lm_head;  ///< [vocab, hidden]: of the head, or the embedding's when tied.
  const std::byte* input;
  const std::int32_t* targets;
  float scale;
  float* gradient;          ///< Head unit's fp32 vector.
  float* lm_head_gradient;  ///< fp32 [vocab, hidden]
  cuda::Into into;
  std::byte* stream_gradient;
  double* loss_sum;
};

/// Sizes, tables and chosen algorithms of one job. T = job.micro_tokens(). Every call enqueues on
/// `stream` and returns; all memory must stay valid until the stream has passed. Calls of one
/// object must not overlap.
class CudaTemplates {
 public:
  /// Throws BadRequest for what the backend does not compute (fp32 compute, documents under a
  /// window, sizes that are not multiples of 32), EnvironmentError where a library fails. `gemm`:
  /// the algorithms of the job's matrix products (ensure_gemm_table); without it they are the
  /// library's first suggestions.
  explicit CudaTemplates(const planner::Job& job, std::optional<GemmTable> gemm = std::nullopt);
  ~CudaTemplates();
  /// Throws the constructor's BadRequest; asks no GPU.
  static void require_computable(const planner::Job& job);
  static void require_computable_experts(const planner::ModelShape& shape);

  /// Of `count` tokens.
  void embed_forward(cudaStream_t stream, const std::uint16_t* weights, const std::int32_t* tokens,
                     std::int64_t count, std::byte* output) const;
  void block_forward(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                     std::byte* next_input, std::byte* workspace);
  /// block_forward for tokens that continue a sequence: adds their keys and values to `kept` and
  /// attends over all of them. Of jobs with a sequence_chunk.
  void block_extend(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                    const CudaKeptKeys& kept, std::byte* next_input, std::byte* workspace);
  /// block_extend up to its router, of a mixture of experts: `begins`, int32 [experts + 1] on the
  /// device, are the routes to the experts before each, and their number.
  void block_route(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   const CudaKeptKeys& kept, std::int32_t* begins, std::byte* workspace);
  /// The rest of it, of `count` tokens; reads those experts alone that tokens go to.
  void block_experts(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                     std::int64_t count, std::byte* next_input, std::byte* workspace);
  void block_recompute(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                       planner::Keep from, std::byte* workspace);
  void block_backward(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                      cuda::Into into, const CudaRecord& record, std::byte* stream_gradient,
                      std::byte* workspace);
  void loss(cudaStream_t stream, const CudaLossArguments& arguments, std::byte* workspace);
  /// Writes loss_sum only.
  void loss_only(cudaStream_t stream, const CudaLossArguments& arguments, std::byte* workspace);
  /// The loss that balances the experts of a micro-batch, times its coefficient, from the head's
  /// input. `loss` may be mapped host memory.
  void balance_loss(cudaStream_t stream, const std::byte* input, double* loss) const;
  /// fp32 [vocab] logits of one row of `input`, to host memory.
  void logits(cudaStream_t stream, const std::uint16_t* head, const std::uint16_t* lm_head,
              const std::byte* input, float* logits, std::byte* workspace);
  void embed_backward(cudaStream_t stream, const std::int32_t* tokens,
                      const std::byte* stream_gradient, float* gradient, cuda::Into into) const;

  [[nodiscard]] const EndSlots& ends() const { return ends_; }
  /// Libraries, GEMM algorithms, engines and kernel versions: part of the numerics id.
  [[nodiscard]] std::string numerics() const;

 private:
  struct Tables;
  /// Tokens of a call, the first of which is at position `first` of its sequence.
  struct Span {
    std::int64_t first, count;
  };
  [[nodiscard]] Span all_tokens() const { return {0, tokens_}; }
  [[nodiscard]] cuda::RopeShape rope_shape(Span span, const std::int32_t* starts) const;
  [[nodiscard]] cuda::RopeTables rope_tables(std::int64_t first) const;
  /// Where each token's document begins, or null.
  const std::int32_t* find_documents(cudaStream_t stream, const CudaRecord& record,
                                     std::byte* workspace) const;
  /// Up to the residual stream behind attention, over kept keys.
  void extend(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
              const CudaKeptKeys& kept, std::byte* workspace);

  // engine/cuda/layers/block_parts.cpp
  /// Rows of the residual stream, and the weight of the RMSNorm that reads them.
  struct NormInput {
    const std::uint16_t* x;
    const std::uint16_t* weight;
    std::int64_t rows;
  };
  [[nodiscard]] NormInput post_norm(const std::uint16_t* weights, const std::uint16_t* residual,
                                    std::int64_t rows) const {
    return {residual, weights + slots_.post_norm.offset, rows};
  }
  /// Into the workspace's `normed` and `rstd`.
  void normalize(cudaStream_t stream, const NormInput& norm, std::byte* workspace) const;
  /// From the workspace's `d_normed` and `rstd`.
  void normalize_backward(cudaStream_t stream, const NormInput& norm,
                          const cuda::NormGradients& gradients, std::byte* workspace) const;
  /// Adds what comes back through a norm of the residual stream to the stream's gradient;
  /// `weight`: the norm's, in the block's vector `gradient`.
  void add_norm_backward(cudaStream_t stream, const NormInput& norm, const Slot& weight,
                         float* gradient, cuda::Into into, std::uint16_t* d_stream,
                         std::byte* workspace) const;
  /// Sums the columns of d [tokens, columns] over tokens, where the projection has a bias.
  void bias_gradient(cudaStream_t stream, const Slot& bias, const std::uint16_t* d,
                     std::int64_t tokens, std::int64_t columns, float* gradient, cuda::Into into,
                     std::byte* workspace) const;

  void project_qkv(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   Span span, std::byte* workspace);
  void attend(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
              std::byte* workspace);
  void project_out(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   Span span, std::byte* workspace);
  /// Of mixtures of experts (expert_block.cpp).
  void project_router(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                      Span span, std::byte* workspace) const;
  void expand_experts(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                      Span span, std::byte* workspace);
  void contract_experts(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                        Span span, std::byte* next_input, std::byte* workspace);
  void add_balance(cudaStream_t stream, const CudaRecord& record, std::byte* next_input,
                   std::byte* workspace) const;
  void backward_experts(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                        cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                        std::byte* workspace);
  /// Where experts are balanced, fp32 [experts]: what the residual stream carries of each of two
  /// kinds behind its tokens, routes and probabilities.
  [[nodiscard]] std::size_t counts_bytes() const;
  void rotate(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
              Span span, const std::int32_t* starts, std::byte* rotated) const;

  // engine/cuda/layers/mlp.cpp
  /// Tokens in the MLP at one time.
  struct MlpChunk {
    Span rows;  ///< Of the micro-batch, or of the call's tokens.
    const std::uint16_t* residual;
    std::uint16_t* gate_up;
  };
  [[nodiscard]] MlpChunk mlp_chunk(const CudaRecord& record, Span rows, std::byte* workspace) const;
  template <class Body>
  void for_mlp_chunks(const CudaRecord& record, std::int64_t tokens, std::byte* workspace,
                      Body body) const;
  void expand(cudaStream_t stream, const std::uint16_t* weights, const MlpChunk& chunk,
              std::byte* workspace);
  void contract(cudaStream_t stream, const std::uint16_t* weights, const MlpChunk& chunk,
                std::byte* next_input, std::byte* workspace);
  /// Residual stream to next_input, by the MLP or by experts.
  void feed_forward(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                    Span span, std::byte* next_input, std::byte* workspace);
  void rebuild_mlp(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   std::byte* workspace);
  void backward_chunk(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                      cuda::Into into, const MlpChunk& chunk, std::uint16_t* d_stream,
                      std::byte* workspace);
  void backward_mlp(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                    cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                    std::byte* workspace);
  void backward_attention(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                          cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                          std::byte* workspace);

  planner::Job job_;
  planner::BlockRecord layout_;
  planner::CudaWorkspace space_;
  BlockSlots slots_;
  EndSlots ends_;
  std::int64_t tokens_, hidden_, query_, key_, qkv_, intermediate_;
  CudaGemm gemm_;
  Cudnn cudnn_;
  std::optional<CudaAttention> attention_;  ///< Of whole sequences.
  std::unique_ptr<Tables> tables_;
};

}  // namespace sluice::engine
