// Which of the cuda backend's kernels norm and turn queries and keys: those for whole heads, or the
// general ones.
#pragma once

#include <bit>
#include <cstdint>

#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Whether norms and rotation of layers of `uniform`, a model whose layers are of one kind, need
/// their general form (engine/cuda/kernels/rotary.hpp) in sequences of `seq_len` tokens.
[[nodiscard]] inline bool turns_generally(const ModelShape& uniform, std::int64_t seq_len) {
  const RotaryTable* table = rotary_table(uniform, uniform.kinds.front());
  const std::int64_t rotated = table == nullptr ? 0 : table->rotated.value_or(uniform.head_dim);
  const std::int64_t parts = uniform.head_dim / 16;
  const bool whole = rotated == uniform.head_dim && uniform.head_dim % 16 == 0;
  switch (uniform.head_norm) {
    case HeadNorm::full_width:
    case HeadNorm::per_head_weightless:
      return true;
    case HeadNorm::per_head:
      if (uniform.norms.one_plus_weight || parts > 32 ||
          !std::has_single_bit(static_cast<std::uint64_t>(parts))) {
        return true;
      }
      break;
    case HeadNorm::none:
      break;
  }
  const Scales& scales = uniform.scales;
  return !whole || (scales.query_growth != 0 && seq_len > scales.query_growth_from);
}

}  // namespace sluice::planner
