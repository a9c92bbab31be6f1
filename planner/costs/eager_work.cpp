// Bytes that the eager operators of a decoder layer read and write for each token, in bf16 (e = 2
// bytes), counted operator by operator in the layer of Hugging Face transformers 5 (Llama, Qwen2:
// the same operators) and its derivatives in PyTorch 2. h, q, k, i: widths of the residual stream,
// of all query heads, of all key heads, and of the MLP.
//
//   RMSNorm, forward    to fp32 (2+4), square (4+4), mean (4), times rsqrt (4+4), to bf16 (4+2),
//                       times weight (2+2)                                         36 h
//   RMSNorm, backward   of weight (4+2 and 4+2), its sum (2), to fp32 (2+4), of the product with
//                       rsqrt (8+4 and 8+4), its sum (4), of mean (4), of square (8+4), their sum
//                       (8+4), to bf16 (4+2)                                       82 h
//   RoPE                x cos (2+2), negate half (1+1), join (2+2), times sin (2+2), sum (4+2)
//                                                                                  20 (q + k)
//   RoPE, backward      the same operators, and the sum of both ways' gradients   26 (q + k)
//   SwiGLU              SiLU (2+2), times up (4+2)                                 10 i
//   SwiGLU, backward    of the product (4+2 and 4+2), of SiLU (4+2)                18 i
//   residual            two sums (4+2)                                             12 h
//   sums of gradients   at both residuals, of q, k and v, of gate and up           5 (4+2) h
//   loss                log-softmax of the logits (2+2); backward: zeros (2), its derivative (4+2)
//                                                                                  12 a logit
//
// A layer thus launches 34 operators forward and about twice as many backward.
//
// An operator costs about 10 us on the host: 5 to 10 us are usual for PyTorch's dispatcher and
// autograd, and a layer's modules add Python's own calls. They hide behind kernels of any size that
// this planner streams weights for, so nothing depends on the number but small batches.
#include "planner/costs/eager_work.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kForwardOperators = 34, kBackwardOperators = 2 * kForwardOperators;
constexpr std::int64_t kLogitBytes = 12;

/// Bytes for each token of one layer's operators, in bf16.
struct LayerBytes {
  std::int64_t forward, backward;
  explicit LayerBytes(const ModelShape& m) {
    const std::int64_t turned = (m.heads + m.kv_heads) * m.head_dim;
    const std::int64_t wide =
        m.experts ? m.experts->active * m.experts->intermediate : m.intermediate;
    forward = (2 * 36 + 12) * m.hidden + 20 * turned + 10 * wide;
    backward = (2 * 82 + 30) * m.hidden + 26 * turned + 18 * wide;
  }
};

bool rebuilds(Pass pass) {
  return pass == Pass::block_recompute_input || pass == Pass::block_recompute_selective ||
         pass == Pass::block_recompute_attention || pass == Pass::block_recompute_kv;
}

}  // namespace

Work eager_work(const Job& job, Pass pass, std::size_t unit, std::int64_t position) {
  Job fused = job;
  fused.operators = Operators::fused;
  fused.mlp_chunk = job.micro_tokens();
  const Pass whole = rebuilds(pass) ? Pass::block_forward : pass;
  Work work = work_of(fused, whole, unit, position);
  for (AttentionWork& attention : work.attention) {
    attention.sums = Bytes(0);  // Only this engine's attention needs these.
    attention.narrow_keys = 0;
  }
  const LayerBytes layer(job.model);
  const std::int64_t half = job.compute_element().count() / 2;  // The counts are for bf16.
  const std::int64_t tokens = job.micro_tokens();
  switch (whole) {
    case Pass::block_forward:
      work.streamed = Bytes(tokens * layer.forward * half);
      work.kernels = kForwardOperators;
      break;
    case Pass::block_backward:
      work.streamed = Bytes(tokens * layer.backward * half);
      work.kernels = kBackwardOperators;
      break;
    case Pass::loss:
      work.streamed = Bytes(tokens * job.model.vocab * kLogitBytes * half);
      break;
    default:
      break;
  }
  return work;
}

}  // namespace sluice::planner
