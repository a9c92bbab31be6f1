#include "planner/attention_shape.hpp"

#include <algorithm>
#include <string>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// What a plan may take beside what grows with the shape: counters and alignment. cuDNN 9.19 takes
/// 256 bytes on compute capability 9.0, 128 on 8.0.
constexpr Bytes kFixedScratch = Bytes(std::int64_t{1} << 16);

}  // namespace

Bytes attention_forward_workspace_bound(const AttentionShape& shape) {
  (void)shape;  // The fused kernel keeps everything on chip.
  return kFixedScratch;
}

Bytes attention_backward_workspace_bound(const AttentionShape& shape, GradientOrder order) {
  const std::int64_t rows = shape.sequences * shape.heads * shape.length;
  std::int64_t bytes = 4 * rows;  // Per query, fp32: the sum over d_out * out.
  if (order == GradientOrder::fixed) {
    // The gradient of the scores in bf16, tiles of 64 queries by 128 keys, from which the
    // gradient of the queries is a product in a fixed order.
    bytes += 2 * shape.sequences * shape.heads * round_up(shape.length, 64) *
             round_up(shape.length, 128);
  } else {
    // The gradient of the queries in fp32; the engines for compute capability 8.0 keep it twice.
    bytes += 8 * rows * shape.head_dim;
  }
  if (shape.heads != shape.kv_heads) {
    // The gradients of keys and values for each head of queries, before a group is added up.
    bytes += 4 * rows * shape.head_dim;
  }
  return Bytes(bytes) + kFixedScratch;
}

Bytes attention_workspace_bound(const AttentionShape& shape, GradientOrder order) {
  return std::max(attention_forward_workspace_bound(shape),
                  attention_backward_workspace_bound(shape, order));
}

AttentionShape attention_backward_part(const AttentionShape& shape, GradientOrder order,
                                       Bytes limit) {
  AttentionShape part = shape;
  for (std::int64_t sequences = shape.sequences; sequences >= 1; --sequences) {
    if (shape.sequences % sequences != 0) continue;
    part.sequences = sequences;
    if (attention_backward_workspace_bound(part, order) <= limit) return part;
  }
  for (std::int64_t groups = shape.kv_heads; groups >= 1; --groups) {
    if (shape.kv_heads % groups != 0) continue;
    part.kv_heads = groups;
    part.heads = shape.heads / shape.kv_heads * groups;
    if (attention_backward_workspace_bound(part, order) <= limit) return part;
  }
  throw BadRequest("attention: the backward pass of one group of " + std::to_string(part.heads) +
                   " heads at length " + std::to_string(shape.length) + " needs " +
                   std::to_string(attention_backward_workspace_bound(part, order).count()) +
                   " bytes of scratch, more than the limit of " + std::to_string(limit.count()) +
                   ": raise the limit or shorten the sequences");
}

}  // namespace sluice::planner
