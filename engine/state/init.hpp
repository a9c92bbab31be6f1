// Initial master weights. They are a pure function of seed, tensor name and element, so that
// neither order nor threads change a bit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Writes the initial values of elements [first, first + high.size()) of one tensor into `high` and
/// `low`, which must be equally long; `first` must be even. Matrices are normal(0, shape.init_std),
/// norms 1, biases 0.
void initialize_range(const planner::ModelShape& shape, const planner::TensorSpec& tensor,
                      std::uint64_t seed, std::int64_t first, std::span<std::uint16_t> high,
                      std::span<std::uint16_t> low);

/// Number of a tensor's stream of the generator: FNV-1a of its name.
[[nodiscard]] std::uint64_t normal_stream(std::string_view name);

/// Element `index` of the normal(0, 1) stream of tensor `name` under `seed`: Philox4x32-10 (Salmon
/// et al., SC 2011) and the Box-Muller transform.
[[nodiscard]] double normal_at(std::uint64_t seed, const char* name, std::uint64_t index);

}  // namespace sluice::engine
