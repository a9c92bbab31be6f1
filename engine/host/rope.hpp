// Rotary position embedding: the frequencies of config.json's rope_theta and rope_scaling.
#pragma once

#include <vector>

#include "planner/shape.hpp"

namespace sluice::engine {

/// Angle per position of each of the head_dim / 2 rotated pairs, radians: theta^(-2i / head_dim),
/// then "linear" (all divided by the factor) or "llama3" scaling (long wavelengths divided, short
/// ones kept, a linear blend between; Llama 3.1's reference code). Throws BadRequest for yarn.
[[nodiscard]] std::vector<double> rope_frequencies(const planner::ModelShape& shape);

}  // namespace sluice::engine
