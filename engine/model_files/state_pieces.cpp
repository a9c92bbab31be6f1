#include "engine/model_files/state_pieces.hpp"

#include <algorithm>
#include <thread>

#include "planner/requests/phase_memory.hpp"

namespace sluice::engine {

StatePieces::StatePieces(const planner::ModelShape& shape, const std::vector<StatePart>& parts) {
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    units_.push_back(planner::unit_tensors(shape, unit));
  }
  for (const StatePart part : parts) {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      for (std::size_t tensor = 0; tensor < units_[unit].tensors.size(); ++tensor) {
        const std::int64_t size = units_[unit].tensors[tensor].size();
        for (std::int64_t first = 0; first < size; first += planner::kStatePiece) {
          pieces_.push_back(
              {part, unit, tensor, first, std::min(planner::kStatePiece, size - first)});
        }
        elements_ += size;
      }
    }
  }
}

std::int64_t state_threads() {
  return std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, planner::kStateThreads);
}

}  // namespace sluice::engine
