// The sizes of causal grouped-query attention on a CUDA device, and the scratch memory it needs, by
// arithmetic alone: no GPU, no library.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/units.hpp"

namespace sluice::planner {

/// Query i of a sequence sees keys max(0, i - window + 1) to i of the same sequence. A token's row
/// holds its heads of query, then of key, then of value, each of `head_dim` elements of bf16.
struct AttentionShape {
  std::int64_t sequences = 0;
  std::int64_t length = 0;    ///< Tokens of a sequence.
  std::int64_t heads = 0;     ///< Of queries and of the result.
  std::int64_t kv_heads = 0;  ///< Divides `heads`; a group of heads / kv_heads shares one.
  std::int64_t head_dim = 0;
  std::int64_t qkv_row =
      0;  ///< Elements from a token's queries (keys, values) to the next token's.
  std::int64_t out_row = 0;                           ///< The same, of the result.
  std::optional<std::int64_t> window = std::nullopt;  ///< Keys visible to a query, itself included.
};

/// How the backward pass adds up the gradient of the queries.
enum class GradientOrder {
  fixed,  ///< Bits repeat; takes scratch in proportion to length squared.
  any,    ///< By atomic additions: bits differ from run to run.
};

/// At least what the forward pass takes.
[[nodiscard]] Bytes attention_forward_workspace_bound(const AttentionShape& shape);
/// At least what the backward pass takes. With cuDNN 9.14 and 9.19 it takes, exactly but for the
/// constant: fixed, 4 b h s + 2 b h s' s" + [4 b h s d] bytes, where s' and s" are s rounded up to
/// 64 and 128 and [] is there only where heads share keys; any, 4 b h s + 4 b h s d + [4 b h s d]
/// on compute capability 9.0 and another 4 b h s d on 8.0.
[[nodiscard]] Bytes attention_backward_workspace_bound(const AttentionShape& shape,
                                                       GradientOrder order);
/// At least what either pass takes.
[[nodiscard]] Bytes attention_workspace_bound(const AttentionShape& shape,
                                              GradientOrder order = GradientOrder::fixed);

/// The largest part of `shape` whose backward pass needs no more than `limit`: whole sequences
/// while they fit, then groups of heads of one sequence. The parts are alike and cover the shape,
/// and as no sum crosses heads of different groups, their results do not depend on the limit.
/// Throws BadRequest if one group of heads needs more than `limit`.
[[nodiscard]] AttentionShape attention_backward_part(const AttentionShape& shape,
                                                     GradientOrder order, Bytes limit);

}  // namespace sluice::planner
