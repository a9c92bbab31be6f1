// Rotary position embedding: the tables of config.json's rope_theta and rope_scaling.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Angle per position of each of the head_dim / 2 rotated pairs, radians: theta^(-2i / head_dim),
/// then "linear" (all divided by the factor), "llama3" (long wavelengths divided, short ones kept,
/// a linear blend between; Llama 3.1's reference code) or "yarn" scaling (likewise, with the blend
/// over the pairs' numbers; arXiv 2309.00071 and transformers' _compute_yarn_parameters).
[[nodiscard]] std::vector<double> rope_frequencies(const planner::ModelShape& shape);

/// What cos and sin are multiplied by: yarn's attention factor, else 1.
[[nodiscard]] double rope_amplitude(const planner::ModelShape& shape);

/// fp32 [seq_len, head_dim / 2] each, rounded once from double.
struct RopeTableValues {
  std::vector<float> cos, sin;
};
[[nodiscard]] RopeTableValues rope_table_values(const planner::ModelShape& shape,
                                                std::int64_t seq_len);

}  // namespace sluice::engine
