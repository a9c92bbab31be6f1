// Layer templates of the cuda backend: the computation of one unit, bound to raw device memory as
// in engine/host/templates.hpp, in bf16 with fp32 accumulation. Kernels are enqueued on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cuda/attention/attention.hpp"
#include "engine/cuda/kernels/delta_conv.hpp"
#include "engine/cuda/kernels/delta_gates.hpp"
#include "engine/cuda/kernels/delta_rule.hpp"
#include "engine/cuda/kernels/gated_norm.hpp"
#include "engine/cuda/kernels/into.hpp"
#include "engine/cuda/kernels/loss.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/kernels/routes.hpp"
#include "engine/cuda/layers/block_memory.hpp"
#include "engine/cuda/layers/fp8_weights.hpp"
#include "engine/cuda/layers/layer_kind.hpp"
#include "engine/cuda/products/gemm.hpp"
#include "engine/host/unit_slots.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/job.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::engine {

/// What the head reads and writes in one micro-batch; fields without a comment are those of
/// LossArguments in engine/host/templates.hpp.
struct CudaLossArguments {
  const std::uint16_t* head;
  /// Output matrix [vocab, hidden], bf16: the head unit's, or the embedding when tied.
  const std::uint16_t* lm_head;
  const std::byte* input;
  const std::int32_t* targets;
  float scale;
  float* gradient;          ///< Gradient of the head unit, fp32.
  float* lm_head_gradient;  ///< Gradient of the output matrix, fp32 [vocab, hidden].
  cuda::Into into;
  std::byte* stream_gradient;
  double* loss_sum;
};

/// All computations of one job's units on a GPU, with the job's sizes, tables and chosen
/// algorithms. T = job.micro_tokens(). Every call enqueues on `stream` and returns; all memory must
/// stay valid until the stream has passed. Calls on one object must not overlap.
class CudaTemplates {
 public:
  /// Throws BadRequest for what the backend does not compute (fp32 compute, too large rows or
  /// experts, sizes that are not multiples of 32), EnvironmentError if a library fails. `gemm`:
  /// algorithms of the job's matrix products (ensure_gemm_table); the library's first suggestions
  /// without it.
  explicit CudaTemplates(const planner::Job& job, std::optional<GemmTable> gemm = std::nullopt);
  ~CudaTemplates();
  /// Throws the BadRequest that the constructor would throw for `job`; needs no GPU.
  static void require_computable(const planner::Job& job);
  static void require_computable_experts(const planner::ModelShape& shape);
  static void require_computable_delta_net(const planner::ModelShape& shape);
  static void require_computable_latent(const planner::ModelShape& shape);

  /// Forward pass of the embedding: output [count, hidden] = its row for each of `count` tokens
  /// (~id where a document begins).
  void embed_forward(cudaStream_t stream, const std::uint16_t* weights, const std::int32_t* tokens,
                     std::int64_t count, std::byte* output) const;
  void block_forward(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                     std::byte* next_input, std::byte* workspace);
  /// Forward pass of a block for tokens that continue a sequence: adds their keys and values to
  /// `kept` and attends over all of them. Only for jobs that compute sequences part by part
  /// (Job::sequence_chunk).
  void block_extend(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                    const CudaKeptKeys& kept, std::byte* next_input, std::byte* workspace);
  /// First part of block_extend where the block has experts, up to the router: `begins`, int32
  /// [experts + 1] on the device, receives the number of routes to the experts before each one, and
  /// of all.
  void block_route(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   const CudaKeptKeys& kept, std::int32_t* begins, std::byte* workspace);
  /// Second part of block_extend where the block has experts: computes the results of `count`
  /// tokens, reading only those experts that tokens are routed to.
  void block_experts(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                     std::int64_t count, std::byte* next_input, std::byte* workspace);
  void block_recompute(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                       planner::Keep from, std::byte* workspace);
  void block_backward(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                      cuda::Into into, const CudaRecord& record, std::byte* stream_gradient,
                      std::byte* workspace);
  void loss(cudaStream_t stream, const CudaLossArguments& arguments, std::byte* workspace);
  /// Computes only *arguments.loss_sum, the micro-batch's loss, with the same bits as `loss`, and
  /// no gradients.
  void loss_only(cudaStream_t stream, const CudaLossArguments& arguments, std::byte* workspace);
  /// Load-balancing loss of a micro-batch's experts times its coefficient (docs/design/moe.md),
  /// from the numbers of routes and the probabilities that blocks left behind the residual stream
  /// in the head's `input`. `loss` may be mapped host memory.
  void balance_loss(cudaStream_t stream, const std::byte* input, double* loss) const;
  /// Logits of the one token whose row of the residual stream is `input`, fp32 [vocab]; they are
  /// written to host memory at `logits`.
  void logits(cudaStream_t stream, const std::uint16_t* head, const std::uint16_t* lm_head,
              const std::byte* input, float* logits, std::byte* workspace);
  void embed_backward(cudaStream_t stream, const std::int32_t* tokens,
                      const std::byte* stream_gradient, float* gradient, cuda::Into into) const;

  [[nodiscard]] const EndSlots& ends() const { return ends_; }
  /// Text that names libraries, algorithms of matrix products, attention engines and kernel
  /// versions; part of the numerics id.
  [[nodiscard]] std::string numerics() const;

 private:
  struct Tables;
  /// Range of tokens that a call computes: `count` tokens, of which the first is at position
  /// `first` of its sequence.
  struct Span {
    std::int64_t first, count;
  };
  [[nodiscard]] Span all_tokens() const { return {0, tokens_}; }
  [[nodiscard]] const CudaLayer& layer_of(const CudaRecord& record) const {
    return layers_[planner::kind_index(job_.model, record.layer)];
  }
  void make_layers();
  [[nodiscard]] const CudaAttention* attention_of(const planner::Job& uniform);
  void check_layer(const CudaLayer& layer) const;
  [[nodiscard]] cuda::RopeShape rope_shape(Span span, const std::int32_t* starts) const;
  /// Positions, int32 [T] in the workspace; null if attention does not stay within documents.
  struct Documents {
    const std::int32_t* starts = nullptr;      ///< First token of each token's document.
    const std::int32_t* first_keys = nullptr;  ///< First key that each token sees.
  };
  [[nodiscard]] Documents find_documents(cudaStream_t stream, const CudaRecord& record,
                                         std::byte* workspace) const;
  /// First half of block_extend: everything up to the residual stream after attention.
  void extend(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
              const CudaKeptKeys& kept, std::byte* workspace);

  // Defined in engine/cuda/layers/block_parts.cpp.
  /// Input of an RMSNorm: `rows` rows, and the norm's weight, which is null where there is no norm.
  struct NormInput {
    const std::uint16_t* x;
    const std::uint16_t* weight;
    std::int64_t rows;
  };
  [[nodiscard]] static NormInput norm_input(const std::uint16_t* weights, const Slot& norm,
                                            const std::uint16_t* x, std::int64_t rows);
  [[nodiscard]] cuda::NormFactor norm_factor() const {
    return job_.model.norms.one_plus_weight ? cuda::NormFactor::one_plus_weight
                                            : cuda::NormFactor::weight;
  }
  /// Computes an RMSNorm; its result and reciprocal RMS go to `normed` and `rstd` in the workspace.
  /// Returns the result, which is x itself without a norm.
  const std::uint16_t* normalize(cudaStream_t stream, const NormInput& norm,
                                 std::byte* workspace) const;
  /// Backward pass of an RMSNorm, from the gradient of its result, `d_normed`, and its `rstd`, both
  /// in the workspace.
  void normalize_backward(cudaStream_t stream, const NormInput& norm,
                          const cuda::NormGradients& gradients, std::byte* workspace) const;
  /// Backward pass of an RMSNorm of the residual stream, whose gradient is added to `d_stream`.
  /// `weight`: place of the norm's weight in the block's parameters, and of its gradient in
  /// `gradient`. Without a norm the gradient of its result is added as it is.
  void add_norm_backward(cudaStream_t stream, const NormInput& norm, const Slot& weight,
                         float* gradient, cuda::Into into, std::uint16_t* d_stream,
                         std::byte* workspace) const;
  /// Gradient of a projection's bias, if the projection has one: the sum over tokens of d [tokens,
  /// columns], the gradient of its result.
  void bias_gradient(cudaStream_t stream, const Slot& bias, const std::uint16_t* d,
                     std::int64_t tokens, std::int64_t columns, float* gradient, cuda::Into into,
                     std::byte* workspace) const;

  // Defined in engine/cuda/layers/block_products.cpp: products of a block's projections, with bf16
  // or FP8 operands.
  [[nodiscard]] bool in_fp8(const CudaRecord& record) const {
    return job_.computes_in_fp8(record.layer);
  }
  /// Whether an FP8 operand has one scale.
  [[nodiscard]] bool tensorwise() const {
    return job_.compute == planner::ComputeType::fp8_tensorwise;
  }
  /// One projection y = x W^T (+ bias) (+ addend).
  struct Multiplied {
    CudaGemm::Size size;
    const void* x;  ///< bf16; null for FP8 where the workspace has the quantized x already.
    const Projection& projection;
    const void* addend;  ///< May be null.
    void* y;
    bool fp8;
  };
  void multiply(cudaStream_t stream, const std::uint16_t* weights, const Multiplied& product,
                std::byte* workspace);
  /// Gradient d of a projection's result, bf16 [tokens, out], ready for both products with it.
  struct ResultGradient {
    const std::uint16_t* d = nullptr;  ///< In bf16; not read if quantized.
    CudaGemm::Size size;
    bool fp8 = false;
    cuda::Quantized along = {}, across = {};
  };
  /// Quantizes d for FP8 products; the workspace holds one such gradient at a time.
  [[nodiscard]] ResultGradient result_gradient(cudaStream_t stream, CudaGemm::Size size,
                                               const std::uint16_t* d, bool fp8,
                                               std::byte* workspace) const;
  /// Adds the gradient of the weight at `weight` to `gradient`, or writes it there. `x` is null if
  /// it lies in the workspace, quantized for sums over tokens.
  void add_weight_gradient(cudaStream_t stream, const ResultGradient& d, const std::uint16_t* x,
                           const Slot& weight, float* gradient, bool first, std::byte* workspace);
  void multiply_back(cudaStream_t stream, const std::uint16_t* weights, const ResultGradient& d,
                     const Slot& weight, void* d_x, std::byte* workspace);
  [[nodiscard]] cuda::Quantized fp8_at(Bytes values, Bytes scales, std::byte* workspace) const;

  // Defined in engine/cuda/layers/branches.cpp: a sublayer's output on its way into the residual
  // stream, through a norm and a factor if the model has them.
  [[nodiscard]] bool changes_branch(const Slot& norm) const {
    return norm.exists() || residual_factor_ != 1;
  }
  /// The last product of a sublayer, and where its result goes.
  struct BranchProduct {
    CudaGemm::Size size;
    const void* x;
    const Projection& projection;
    const Slot& norm;             ///< Norm of the result.
    const std::uint16_t* stream;  ///< Residual stream that it joins.
    std::uint16_t* output;        ///< Place of the result, where it does not just join.
    std::uint16_t* next;          ///< Residual stream behind.
    bool fp8 = false;             ///< Whether operands are FP8 (Multiplied).
  };
  void multiply_onto_stream(cudaStream_t stream, const std::uint16_t* weights,
                            const BranchProduct& product, std::byte* workspace);
  /// Place of a sublayer's output: `kept` of the record where a norm follows, whose backward pass
  /// reads it, else scratch.
  [[nodiscard]] std::uint16_t* branch_output(const CudaRecord& record, const Slot& norm, Bytes kept,
                                             std::byte* workspace) const;
  /// Gradient of the sublayer's `output`, from d, that of the residual stream: d itself, or rows in
  /// the workspace.
  [[nodiscard]] const std::uint16_t* branch_gradient(cudaStream_t stream, const NormInput& output,
                                                     const Slot& norm, const std::uint16_t* d,
                                                     float* gradient, cuda::Into into,
                                                     std::byte* workspace) const;

  // Defined in engine/cuda/layers/attention_half.cpp.
  void project_qkv(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   Span span, std::byte* workspace);
  /// Attention's output as the o projection takes it: times its gate if there is one.
  [[nodiscard]] const std::uint16_t* gated_attention(cudaStream_t stream, const CudaRecord& record,
                                                     std::int64_t rows, std::byte* workspace) const;
  void attend(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
              std::byte* workspace);
  void project_out(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   Span span, std::byte* workspace);
  /// Parts of a block that has experts, from the router to the sum over a token's experts; defined
  /// in engine/cuda/layers/expert_block.cpp.
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
  void backward_router(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                       cuda::Into into, const CudaRecord& record, const float* counts,
                       std::byte* workspace) const;
  /// Size in bytes of one of the two sums, fp32 [experts], that lie behind the tokens of the
  /// residual stream and that blocks add to for load balancing: numbers of routes, and
  /// probabilities. Zero if there is no load-balancing loss.
  [[nodiscard]] std::size_t counts_bytes() const;
  [[nodiscard]] cuda::RouteShape route_shape(const CudaLayer& layer, const std::uint16_t* weights,
                                             std::int64_t tokens) const;

  // Defined in engine/cuda/layers/shared_expert.cpp: the expert that all tokens pass through, whose
  // rows of gate and up lie behind those of all routes.
  void expand_shared(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                     std::int64_t tokens, std::byte* workspace);
  /// Result of the shared expert in the workspace; null without one.
  [[nodiscard]] const std::uint16_t* contract_shared(cudaStream_t stream,
                                                     const std::uint16_t* weights,
                                                     const CudaRecord& record, std::int64_t tokens,
                                                     std::byte* workspace);
  /// Backward pass of the shared expert from d, the gradient of its result; returns the gradient of
  /// its input in the workspace, null without such an expert.
  [[nodiscard]] const std::uint16_t* backward_shared(cudaStream_t stream,
                                                     const std::uint16_t* weights, float* gradient,
                                                     cuda::Into into, const CudaRecord& record,
                                                     const std::uint16_t* d, std::byte* workspace);
  void switch_shares(cudaStream_t stream, const std::uint16_t* weights, const CudaLayer& layer,
                     std::int64_t tokens, std::byte* workspace) const;
  void backward_switch(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                       cuda::Into into, const CudaLayer& layer, std::byte* workspace) const;

  // Defined in engine/cuda/layers/delta_half.cpp.
  /// Arguments of a gated delta net's kernels for tokens of a call.
  struct DeltaCall {
    cuda::DeltaConvShape conv;
    cuda::DeltaGates gates;
    cuda::DeltaRule rule;
    cuda::GatedNorm norm;
    const std::uint16_t* rows;  ///< Projections.
  };
  [[nodiscard]] DeltaCall delta_call(const std::uint16_t* weights, const CudaRecord& record,
                                     std::int64_t tokens, std::byte* workspace) const;
  [[nodiscard]] std::byte* delta_at(std::byte* workspace, Bytes offset) const {
    return workspace + (space_.delta_begin + offset).count();
  }
  void project_delta(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                     std::int64_t tokens, std::byte* workspace);
  void mix_inputs(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                  const DeltaCall& call, std::byte* workspace) const;
  void mix(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
           std::byte* workspace);
  void mix_kept(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                const CudaKeptKeys& kept, std::byte* workspace);
  /// The rule's output as the o projection takes it.
  [[nodiscard]] const std::uint16_t* normed_mix(cudaStream_t stream, const std::uint16_t* weights,
                                                const CudaRecord& record, std::int64_t tokens,
                                                std::byte* workspace) const;
  void backward_mix(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                    cuda::Into into, const CudaRecord& record, std::byte* workspace);
  void backward_delta(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                      cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                      std::byte* workspace);

  /// The half of a block with latent attention, defined in engine/cuda/layers/latent_half.hpp.
  class LatentHalf;

  // Defined in engine/cuda/layers/rotation.cpp.
  void rotate(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
              Span span, const std::int32_t* starts, std::byte* rotated);
  void rotate_backward(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                       cuda::Into into, const CudaRecord& record, const std::int32_t* starts,
                       std::byte* workspace);

  // Defined in engine/cuda/layers/mlp.cpp.
  /// Tokens that the MLP computes at one time (Job::mlp_chunk), and where their values lie.
  struct MlpChunk {
    const CudaLayer& layer;
    Span rows;  ///< Range of these tokens among those of the call.
    const std::uint16_t* residual;
    std::uint16_t* gate_up;
    std::uint16_t* output;  ///< Output of the MLP, where a norm follows it.
    bool fp8;
  };
  [[nodiscard]] MlpChunk mlp_chunk(const CudaRecord& record, Span rows, std::byte* workspace) const;
  template <class Body>
  void for_mlp_chunks(const CudaRecord& record, std::int64_t tokens, std::byte* workspace,
                      Body body) const;
  void expand(cudaStream_t stream, const std::uint16_t* weights, const MlpChunk& chunk,
              std::byte* workspace);
  void contract(cudaStream_t stream, const std::uint16_t* weights, const MlpChunk& chunk,
                std::byte* next_input, std::byte* workspace);
  /// Activation of a chunk, bf16 in the workspace; null where it was quantized to FP8 instead.
  [[nodiscard]] const std::uint16_t* activate(cudaStream_t stream, const MlpChunk& chunk,
                                              std::byte* workspace) const;
  /// Computes a chunk's output again where a norm's backward pass reads it.
  void rebuild_output(cudaStream_t stream, const std::uint16_t* weights, const MlpChunk& chunk,
                      std::byte* workspace);
  /// Computes the next block's input, next_input, from the residual stream after attention, by the
  /// MLP or by experts.
  void feed_forward(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                    Span span, std::byte* next_input, std::byte* workspace);
  void rebuild_mlp(cudaStream_t stream, const std::uint16_t* weights, const CudaRecord& record,
                   std::byte* workspace);
  /// Quantizes the gradients of gate and up, which are not stored in bf16, and the activation, as
  /// add_weight_gradient takes it; their transposes lie where gradients in bf16 would.
  [[nodiscard]] ResultGradient quantized_expansion_gradient(cudaStream_t stream,
                                                            const MlpChunk& chunk,
                                                            const std::uint16_t* d_activation,
                                                            std::byte* workspace) const;
  void backward_chunk(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                      cuda::Into into, const MlpChunk& chunk, std::uint16_t* d_stream,
                      std::byte* workspace);
  void backward_mlp(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                    cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                    std::byte* workspace);
  // Defined in engine/cuda/layers/block_backward.cpp.
  void backward_attention(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                          cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                          std::byte* workspace);
  void backward_out(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                    cuda::Into into, const CudaRecord& record, const std::uint16_t* d_stream,
                    std::byte* workspace);
  void backward_qkv(cudaStream_t stream, const std::uint16_t* weights, float* gradient,
                    cuda::Into into, const CudaRecord& record, std::uint16_t* d_stream,
                    std::byte* workspace);

  planner::Job job_;
  planner::BlockRecord layout_;
  planner::CudaWorkspace space_;
  EndSlots ends_;
  std::int64_t tokens_, hidden_, query_, key_, qkv_;
  float embedding_factor_;  ///< Factor of the embedding's rows.
  float residual_factor_;   ///< Factor of what joins the residual stream.
  cuda::LogitChange logit_change_;
  CudaGemm gemm_;
  Cudnn cudnn_;
  /// Attentions of whole sequences, each of another shape; none for jobs that compute sequences
  /// part by part (Job::sequence_chunk).
  std::vector<std::pair<planner::AttentionShape, std::unique_ptr<CudaAttention>>> attentions_;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Fp8Weights> fp8_weights_;
  std::vector<CudaLayer> layers_;  ///< Kinds of layers, as the model numbers them.
};

}  // namespace sluice::engine
