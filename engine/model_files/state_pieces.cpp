#include "engine/model_files/state_pieces.hpp"

#include <algorithm>

namespace sluice::engine {

StatePieces::StatePieces(const planner::ModelShape& shape, const std::vector<StatePart>& parts) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 20;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    units_.push_back(planner::unit_tensors(shape, unit));
  }
  for (const StatePart part : parts) {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      for (std::size_t tensor = 0; tensor < units_[unit].tensors.size(); ++tensor) {
        const std::int64_t size = units_[unit].tensors[tensor].size();
        for (std::int64_t first = 0; first < size; first += kMostElements) {
          pieces_.push_back({part, unit, tensor, first, std::min(kMostElements, size - first)});
        }
        elements_ += size;
      }
    }
  }
}

}  // namespace sluice::engine
