// Where each tensor of a unit lies in the unit's flat vector, found once by name.
#pragma once

#include <cstdint>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// A tensor's place in its unit's vector.
struct Slot {
  std::int64_t offset = 0;  ///< Elements.
  std::int64_t rows = 0;    ///< 0: this family does not have the tensor.
  std::int64_t cols = 0;
  [[nodiscard]] bool exists() const { return rows != 0; }
  [[nodiscard]] std::int64_t size() const { return rows * cols; }
};

/// A projection's matrix [outputs, inputs] and bias [1, outputs].
struct Projection {
  Slot weight;
  Slot bias;
};

/// A block's feed-forward experts, where it has any: expert i lies i * stride elements behind the
/// first.
struct ExpertSlots {
  Slot router;  ///< [experts, hidden]
  Slot gate, up, down;
  std::int64_t stride = 0;
  /// Of expert `index`, from the first one's.
  [[nodiscard]] Slot of(Slot first, std::int64_t index) const {
    first.offset += index * stride;
    return first;
  }
};

struct BlockSlots {
  Slot input_norm, post_norm, q_norm, k_norm;
  Projection q, k, v, o, gate, up, down;
  ExpertSlots experts;      ///< In place of gate, up and down.
  std::int64_t padded = 0;  ///< Elements of the unit's vector.
};

struct EndSlots {
  Slot embedding;  ///< [vocab, hidden] in the embed unit.
  Slot final_norm;
  Slot lm_head;  ///< In the head unit; absent when tied.
  std::int64_t embed_padded = 0;
  std::int64_t head_padded = 0;
};

[[nodiscard]] BlockSlots block_slots(const planner::ModelShape& shape);
[[nodiscard]] EndSlots end_slots(const planner::ModelShape& shape);

}  // namespace sluice::engine
