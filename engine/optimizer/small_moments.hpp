// Moments of AdamW in fewer than 32 bits, and the update on them: block by block of kMomentBlock
// elements they are read as fp32, updated as adamw.hpp says, and stored again. The update itself
// sees the moments before they are rounded.
//   bf16  each moment rounded stochastically (stochastic_rounding.hpp): m by the lower 16 of its
//         element's 32 random bits, v by the upper ones
//   int8  codes of the nearest values of a map, and behind the codes of whole blocks one scale a
//         block (moment_codes.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/moment_codes.hpp"
#include "engine/optimizer/moment_layout.hpp"
#include "engine/optimizer/stochastic_rounding.hpp"

namespace sluice::engine {

/// Stored moments of a part of a unit.
struct SmallMoments {
  planner::StateType type = planner::StateType::bf16;  ///< bf16 or int8.
  std::byte* m = nullptr;
  std::byte* v = nullptr;
  std::int64_t elements = 0;  ///< Elements that both have: those of the part.
  std::int64_t unit = 0;      ///< Number of the unit, which its random bits depend on.
};

/// One block of stored moments, of at most kMomentBlock elements.
struct MomentBlock {
  std::byte* m;
  std::byte* v;
  std::int64_t count;  ///< Elements; those of a block in int8 are always kMomentBlock.
  float* m_scale;      ///< Null for bf16, as is `v_scale`.
  float* v_scale;
};

/// One compiled version of reading and storing a block for an instruction set. All versions give
/// equal bits.
struct MomentPath {
  std::string_view name;
  bool supported;  ///< Whether this processor can run it.
  void (*read)(planner::StateType type, const MomentBlock& block, float* m, float* v);
  /// `position`: of the block's first element in the unit's whole vector.
  void (*store)(planner::StateType type, const MomentBlock& block, const float* m, const float* v,
                RoundingKey key, std::int64_t position);
};
/// All compiled versions, fastest first.
[[nodiscard]] std::span<const MomentPath> moment_paths();
/// The fastest version that this processor can run.
[[nodiscard]] const MomentPath& moment_path();

/// The block of elements from `first` on, a multiple of kMomentBlock.
[[nodiscard]] MomentBlock moment_block(const SmallMoments& moments, std::int64_t first);

/// As adamw_update with `operands`, whose m and v are not used, on `moments`. The part begins at a
/// multiple of kMomentBlock elements, and has the elements of `moments`. The result depends neither
/// on threads nor on the instruction set, nor on the parts that a unit is updated in.
void adamw_update(const AdamWOperands& operands, const SmallMoments& moments,
                  std::span<const AdamWSpan> spans, const AdamWStep& step, ThreadPool& pool,
                  int threads, std::int64_t first = 0);

}  // namespace sluice::engine
