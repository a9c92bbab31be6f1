// Causal grouped-query attention in double precision, query by query, with bounds for the error of
// a bf16 implementation.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/scratch/attention_shape.hpp"

namespace sluice::engine {

using planner::AttentionShape;

/// Operands of one shape, with rows as AttentionShape states them: qkv [tokens, qkv_row] holds the
/// heads of query, key and value from columns 0, heads * head_dim and (heads + kv_heads) * head_dim
/// on.
struct AttentionOperands {
  std::vector<double> qkv;    ///< [tokens, qkv_row]
  std::vector<double> d_out;  ///< [tokens, out_row]
  /// First position of each token's document, [sequences, length]; empty without documents.
  std::vector<std::int32_t> starts{};
};

/// A result and, for each element, the sum of the magnitudes whose rounding causes its error.
struct Bounded {
  std::vector<double> value;
  std::vector<double> magnitude;
};

struct AttentionReference {
  Bounded out;              ///< [tokens, out_row]; magnitude: sum of weight * |v|, plus |out|.
  Bounded d_qkv;            ///< [tokens, qkv_row]; magnitudes as attention_reference.cpp derives.
  std::vector<double> lse;  ///< [sequences, heads, length]
};

[[nodiscard]] AttentionReference reference_attention(const AttentionShape& shape,
                                                     const AttentionOperands& operands);

}  // namespace sluice::engine
