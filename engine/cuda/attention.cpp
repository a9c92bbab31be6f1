#include "engine/cuda/attention.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "engine/cuda/attention_graph.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kBf16Bytes = 2;
constexpr std::int64_t kAddressMultiple = 256;

Bytes aligned(Bytes bytes) {
  return Bytes((bytes.count() + kAddressMultiple - 1) / kAddressMultiple * kAddressMultiple);
}

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
}

/// A window at least as long as the sequence hides nothing.
AttentionShape without_idle_window(AttentionShape shape) {
  if (shape.window && *shape.window >= shape.length) shape.window = std::nullopt;
  return shape;
}

AttentionShape checked(const AttentionShape& shape) {
  check_shape(shape);
  return without_idle_window(shape);
}

AttentionShape part_of(const AttentionShape& shape, const AttentionOptions& options) {
  return options.backward_workspace_limit
             ? attention_backward_part(shape, options.order, *options.backward_workspace_limit)
             : shape;
}

void* at(const void* base, std::int64_t bytes) {
  // cuDNN takes every address as writable, and writes results only.
  return const_cast<std::byte*>(static_cast<const std::byte*>(base)) + bytes;
}

struct Scalars {
  explicit Scalars(const AttentionShape& shape)
      : scale(1.0F / std::sqrt(static_cast<float>(shape.head_dim))),
        window(static_cast<float>(shape.window.value_or(0))) {}
  float scale;
  float one = 1.0F;
  float masked = -std::numeric_limits<float>::infinity();
  float window;
};

/// At most as many tensors as a plan can have.
class Bindings {
 public:
  void add(AttentionTensor name, void* address) {
    entries_.at(count_++) = {.id = static_cast<std::int64_t>(name), .address = address};
  }
  [[nodiscard]] std::span<const CudnnBinding> view() const { return {entries_.data(), count_}; }

 private:
  std::array<CudnnBinding, 16> entries_{};
  std::size_t count_ = 0;
};

}  // namespace

struct CudaAttention::Plans {
  Plans(const Cudnn& library, const AttentionShape& asked, const AttentionOptions& options)
      : cudnn(library),
        shape(checked(asked)),
        part(part_of(shape, options)),
        order(options.order),
        scalars(shape),
        forward(attention_forward_plan(library, shape)),
        backward(attention_backward_plan(library, part, order)) {}

  [[nodiscard]] Bytes out_sum_bytes() const {
    return aligned(Bytes(std::int64_t{4} * part.sequences * part.heads * part.length));
  }
  [[nodiscard]] Bytes d_q_sum_bytes() const {
    if (order == GradientOrder::fixed) return Bytes(0);
    return aligned(
        Bytes(std::int64_t{4} * part.sequences * part.heads * part.length * part.head_dim));
  }
  void bind_scalars(Bindings& bindings) {
    bindings.add(AttentionTensor::scale, &scalars.scale);
    bindings.add(AttentionTensor::masked, &scalars.masked);
    if (shape.window) bindings.add(AttentionTensor::window, &scalars.window);
  }

  const Cudnn& cudnn;
  AttentionShape shape;
  AttentionShape part;  ///< What one run of the backward plan covers.
  GradientOrder order;
  Scalars scalars;
  CudnnPlan forward;
  CudnnPlan backward;
};

CudaAttention::CudaAttention(const Cudnn& cudnn, const AttentionShape& shape,
                             const AttentionOptions& options)
    : plans_(std::make_unique<Plans>(cudnn, shape, options)) {}
CudaAttention::~CudaAttention() = default;
CudaAttention::CudaAttention(CudaAttention&&) noexcept = default;

Bytes CudaAttention::forward_workspace() const { return plans_->forward.workspace(); }

Bytes CudaAttention::backward_workspace() const {
  return plans_->out_sum_bytes() + plans_->d_q_sum_bytes() + plans_->backward.workspace();
}

std::string CudaAttention::engines() const {
  return "cudnn " + std::to_string(plans_->cudnn.version()) + " forward " +
         plans_->forward.engine() + " backward " + plans_->backward.engine();
}

// The operands' usual order. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaAttention::forward(cudaStream_t stream, const void* q, const void* k, const void* v,
                            void* out, float* lse, void* workspace) const {
  Bindings bindings;
  bindings.add(AttentionTensor::q, at(q, 0));
  bindings.add(AttentionTensor::k, at(k, 0));
  bindings.add(AttentionTensor::v, at(v, 0));
  bindings.add(AttentionTensor::out, out);
  bindings.add(AttentionTensor::lse, lse);
  plans_->bind_scalars(bindings);
  plans_->forward.execute(plans_->cudnn, stream, bindings.view(), workspace, "attention forward");
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void CudaAttention::backward(cudaStream_t stream, const void* q, const void* k, const void* v,
                             const void* out, const float* lse, const void* d_out, void* d_q,
                             void* d_k, void* d_v, void* workspace) const {
  const AttentionShape& shape = plans_->shape;
  const AttentionShape& part = plans_->part;
  void* const d_q_sum = at(workspace, plans_->out_sum_bytes().count());
  void* const rest = at(d_q_sum, plans_->d_q_sum_bytes().count());
  for (std::int64_t sequence = 0; sequence < shape.sequences; sequence += part.sequences) {
    for (std::int64_t kv_head = 0; kv_head < shape.kv_heads; kv_head += part.kv_heads) {
      const std::int64_t head = kv_head * (shape.heads / shape.kv_heads);
      const std::int64_t token = sequence * shape.length;
      const std::int64_t q_bytes = kBf16Bytes * (token * shape.qkv_row + head * shape.head_dim);
      const std::int64_t kv_bytes = kBf16Bytes * (token * shape.qkv_row + kv_head * shape.head_dim);
      const std::int64_t out_bytes = kBf16Bytes * (token * shape.out_row + head * shape.head_dim);
      const std::int64_t lse_bytes =
          std::int64_t{sizeof(float)} * (sequence * shape.heads + head) * shape.length;
      Bindings bindings;
      bindings.add(AttentionTensor::q, at(q, q_bytes));
      bindings.add(AttentionTensor::k, at(k, kv_bytes));
      bindings.add(AttentionTensor::v, at(v, kv_bytes));
      bindings.add(AttentionTensor::out, at(out, out_bytes));
      bindings.add(AttentionTensor::lse, at(lse, lse_bytes));
      bindings.add(AttentionTensor::d_out, at(d_out, out_bytes));
      bindings.add(AttentionTensor::d_q, at(d_q, q_bytes));
      bindings.add(AttentionTensor::d_k, at(d_k, kv_bytes));
      bindings.add(AttentionTensor::d_v, at(d_v, kv_bytes));
      bindings.add(AttentionTensor::out_sum, workspace);
      if (plans_->order == GradientOrder::any) bindings.add(AttentionTensor::d_q_sum, d_q_sum);
      bindings.add(AttentionTensor::one, &plans_->scalars.one);
      plans_->bind_scalars(bindings);
      plans_->backward.execute(plans_->cudnn, stream, bindings.view(), rest, "attention backward");
    }
  }
}

}  // namespace sluice::engine
