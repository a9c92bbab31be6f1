#include "engine/cuda/layers/layer_kind.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using planner::TensorRole;

/// Whether kernels take a tensor of this role alone, whatever its size is.
bool stands_alone(TensorRole role) {
  return role == TensorRole::sinks || role == TensorRole::router_bias ||
         role == TensorRole::correction_bias || role == TensorRole::delta_log_rate ||
         role == TensorRole::delta_time_bias || role == TensorRole::delta_norm;
}

}  // namespace

std::vector<UnwrittenRange> unwritten_ranges(const planner::ModelShape& uniform) {
  const planner::UnitTensors unit = planner::unit_tensors(uniform, 1);
  std::vector<UnwrittenRange> ranges;
  for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
    const planner::TensorSpec& tensor = unit.tensors[i];
    const std::int64_t next =
        i + 1 < unit.tensors.size() ? unit.tensors[i + 1].offset : unit.padded_size;
    const std::int64_t first = tensor.frozen ? tensor.offset : tensor.offset + tensor.size();
    if (first < next) ranges.push_back({first, next - first});
  }
  return ranges;
}

void require_whole_tensors(const planner::ModelShape& shape) {
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    const planner::UnitTensors tensors = planner::unit_tensors(shape, unit);
    const bool whole = std::ranges::all_of(tensors.tensors, [](const planner::TensorSpec& tensor) {
      return tensor.size() % planner::kTensorAlign == 0 || stands_alone(tensor.role);
    });
    if (whole) continue;
    throw BadRequest("model: the cuda backend needs tensor sizes that are multiples of " +
                     std::to_string(planner::kTensorAlign) + " elements; " +
                     planner::unit_name(shape, unit) + " has others");
  }
}

}  // namespace sluice::engine
