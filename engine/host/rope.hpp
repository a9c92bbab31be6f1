// Tables of rotary position embedding, from config.json's rope_theta and rope_scaling.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/block.hpp"

namespace sluice::engine {

/// Angle per position, in radians, of each of the rotated pairs of a head, which are half of
/// `rotated` elements, or of `head_dim`: theta^(-2i / elements), then scaled. "linear" divides all
/// by the factor; "llama3" divides long wavelengths, keeps short ones and blends linearly between
/// (Llama 3.1's reference code); "yarn" blends over the pairs' numbers instead (arXiv 2309.00071
/// and transformers' _compute_yarn_parameters).
[[nodiscard]] std::vector<double> rope_frequencies(const planner::RotaryTable& table,
                                                   std::int64_t head_dim);

/// Factor by which the tables of cos and sin are multiplied: yarn's attention factor, else 1.
[[nodiscard]] double rope_amplitude(const planner::RotaryTable& table);

/// Tables of cos and sin, fp32 [seq_len, pairs] each, rounded once from double.
struct RopeTableValues {
  std::vector<float> cos, sin;
};
[[nodiscard]] RopeTableValues rope_table_values(const planner::RotaryTable& table,
                                                std::int64_t head_dim, std::int64_t seq_len);

}  // namespace sluice::engine
