// A unit's initial weights in the layout of its arenas.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/state/init.hpp"

namespace sluice::engine::testing {

/// High and low halves of a unit, [padded] each; padding is zero.
struct InitialUnit {
  InitialUnit(const planner::ModelShape& shape, std::size_t unit, std::uint64_t seed) {
    const planner::UnitTensors tensors = planner::unit_tensors(shape, unit);
    high.resize(static_cast<std::size_t>(tensors.padded_size));
    low.resize(high.size());
    for (const planner::TensorSpec& tensor : tensors.tensors) {
      const auto at = static_cast<std::size_t>(tensor.offset);
      const auto size = static_cast<std::size_t>(tensor.size());
      initialize_range(shape, tensor, seed, 0, std::span(high).subspan(at, size),
                       std::span(low).subspan(at, size));
    }
  }
  std::vector<std::uint16_t> high, low;
};

}  // namespace sluice::engine::testing
