// Tables of rotary position embedding, from config.json's rope_theta and rope_scaling.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Angle per position, in radians, of each of the head_dim / 2 rotated pairs: theta^(-2i /
/// head_dim), then scaled. "linear" divides all by the factor; "llama3" divides long wavelengths,
/// keeps short ones and blends linearly between (Llama 3.1's reference code); "yarn" blends over
/// the pairs' numbers instead (arXiv 2309.00071 and transformers' _compute_yarn_parameters).
[[nodiscard]] std::vector<double> rope_frequencies(const planner::ModelShape& shape);

/// Factor by which the tables of cos and sin are multiplied: yarn's attention factor, else 1.
[[nodiscard]] double rope_amplitude(const planner::ModelShape& shape);

/// Tables of cos and sin, fp32 [seq_len, head_dim / 2] each, rounded once from double.
struct RopeTableValues {
  std::vector<float> cos, sin;
};
[[nodiscard]] RopeTableValues rope_table_values(const planner::ModelShape& shape,
                                                std::int64_t seq_len);

}  // namespace sluice::engine
