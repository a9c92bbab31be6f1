#include "engine/cuda/attention/attention.hpp"

#include <optional>

#include "engine/cuda/attention/attention_backward.hpp"
#include "engine/cuda/attention/attention_bindings.hpp"
#include "engine/cuda/attention/attention_graph.hpp"
#include "engine/cuda/attention/tiled_attention.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

void refuse_unless(bool holds, const std::string& what) {
  if (!holds) throw BadRequest("attention: " + what);
}

void check_shape(const AttentionShape& shape) {
  refuse_unless(shape.sequences > 0 && shape.length > 0 && shape.heads > 0 && shape.kv_heads > 0 &&
                    shape.head_dim > 0,
                "sequences, length, heads, kv_heads and head_dim must be positive");
  refuse_unless(shape.heads % shape.kv_heads == 0, "kv_heads " + std::to_string(shape.kv_heads) +
                                                       " must divide heads " +
                                                       std::to_string(shape.heads));
  refuse_unless(shape.head_dim % 8 == 0 && shape.qkv_row % 8 == 0 && shape.out_row % 8 == 0,
                "head_dim and rows must be multiples of 8 elements (16 bytes of bf16)");
  refuse_unless(shape.qkv_row >= shape.heads * shape.head_dim &&
                    shape.out_row >= shape.heads * shape.head_dim,
                "a row must hold all heads");
  refuse_unless(!shape.window || *shape.window > 0, "a window must be positive");
  refuse_unless(!shape.queries, "queries are of a run of the backward pass");
  refuse_unless(!shape.softcap || *shape.softcap > 0, "a bound of scores must be positive");
  refuse_unless(!shape.documents || !shape.window || *shape.window >= shape.length,
                "a sequence of several documents has no window");
}

/// The shape without its window, if that is at least as long as the sequence and so hides nothing.
AttentionShape without_idle_window(AttentionShape shape) {
  if (shape.window && *shape.window >= shape.length) shape.window = std::nullopt;
  return shape;
}

AttentionShape checked(const AttentionShape& shape) {
  check_shape(shape);
  return without_idle_window(shape);
}

}  // namespace

struct CudaAttention::Plans {
  Plans(const Cudnn& library, const AttentionShape& asked, const AttentionOptions& options)
      : cudnn(library), shape(checked(asked)), scalars(shape) {
    if (planner::computed_in_tiles(shape)) {
      tiled.emplace(shape);
      return;
    }
    forward.emplace(attention_forward_plan(library, shape));
    backward.emplace(library, shape, options.order, options.limits);
  }

  const Cudnn& cudnn;
  AttentionShape shape;
  AttentionScalars scalars;
  std::optional<TiledAttention> tiled;  ///< Set where the library's plans are not used.
  std::optional<CudnnPlan> forward;
  std::optional<AttentionBackward> backward;
};

CudaAttention::CudaAttention(const Cudnn& cudnn, const AttentionShape& shape,
                             const AttentionOptions& options)
    : plans_(std::make_unique<Plans>(cudnn, shape, options)) {}
CudaAttention::~CudaAttention() = default;
CudaAttention::CudaAttention(CudaAttention&&) noexcept = default;

Bytes CudaAttention::forward_workspace() const {
  return plans_->tiled ? plans_->tiled->forward_workspace() : plans_->forward->workspace();
}

Bytes CudaAttention::backward_workspace() const {
  return plans_->tiled ? plans_->tiled->backward_workspace() : plans_->backward->workspace();
}

std::string CudaAttention::engines() const {
  if (plans_->tiled) return "in tiles 1";
  return "cudnn " + std::to_string(plans_->cudnn.version()) + " forward " +
         plans_->forward->engine() + " backward " + plans_->backward->engines();
}

// The operands' usual order. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaAttention::forward(cudaStream_t stream, const void* q, const void* k, const void* v,
                            void* out, float* lse, void* workspace,
                            const std::int32_t* starts) const {
  if (plans_->tiled) {
    return plans_->tiled->forward(stream, {q, k, v, out, lse, starts}, workspace);
  }
  AttentionBindings bindings;
  bindings.add(AttentionTensor::q, q);
  bindings.add(AttentionTensor::k, k);
  bindings.add(AttentionTensor::v, v);
  bindings.add(AttentionTensor::out, out);
  bindings.add(AttentionTensor::lse, lse);
  if (plans_->shape.documents) bindings.add(AttentionTensor::starts, starts);
  plans_->scalars.bind(bindings);
  plans_->forward->execute(plans_->cudnn, stream, bindings.view(), workspace, "attention forward");
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaAttention::backward(cudaStream_t stream, const void* q, const void* k, const void* v,
                             const void* out, const float* lse, const void* d_out, void* d_q,
                             void* d_k, void* d_v, void* workspace,
                             const std::int32_t* starts) const {
  const AttentionGradients operands{.q = q,
                                    .k = k,
                                    .v = v,
                                    .out = out,
                                    .lse = lse,
                                    .d_out = d_out,
                                    .d_q = d_q,
                                    .d_k = d_k,
                                    .d_v = d_v,
                                    .starts = starts};
  if (plans_->tiled) return plans_->tiled->backward(stream, operands, workspace);
  plans_->backward->run(stream, operands, workspace);
}

}  // namespace sluice::engine
