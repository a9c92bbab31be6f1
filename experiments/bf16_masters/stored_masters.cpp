#include "experiments/bf16_masters/stored_masters.hpp"

#include <span>

#include "engine/optimizer/master_weights.hpp"

namespace sluice::experiments {
namespace {

/// Elements of one tensor in a unit's vector.
template <class Vector>
auto part_of(Vector& unit, const planner::TensorSpec& tensor) {
  return std::span(unit).subspan(static_cast<std::size_t>(tensor.offset),
                                 static_cast<std::size_t>(tensor.size()));
}

void write_back(engine::TrainingState& state, std::size_t unit, std::span<const float> masters) {
  std::vector<std::uint16_t> high(masters.size()), low(masters.size());
  for (std::size_t i = 0; i < masters.size(); ++i) {
    const engine::SplitMaster halves = engine::split_master(masters[i]);
    high[i] = halves.high;
    low[i] = halves.low;
  }
  state.write_weights(unit, high, low);
}

}  // namespace

StoredMasters::StoredMasters(const planner::ModelShape& shape, MasterType type)
    : shape_(shape), type_(type), before_(planner::unit_count(shape)) {}

void StoredMasters::begin(engine::TrainingState& state) {
  for (std::size_t unit = 0; unit < before_.size(); ++unit) before_[unit] = stored(state, unit);
}

std::vector<float> StoredMasters::stored(engine::TrainingState& state, std::size_t unit) const {
  const planner::UnitTensors tensors = planner::unit_tensors(shape_, unit);
  std::vector<float> masters(static_cast<std::size_t>(tensors.padded_size));
  for (const planner::TensorSpec& tensor : tensors.tensors) {
    state.read(engine::StatePart::weights, unit, tensor, 0, part_of(masters, tensor));
  }
  if (type_ == MasterType::fp32) return masters;
  for (float& master : masters) master = engine::bf16_to_float(engine::float_to_bf16(master));
  write_back(state, unit, masters);
  return masters;
}

std::vector<UpdateCount> StoredMasters::store(engine::TrainingState& state) {
  std::vector<UpdateCount> counts;
  for (std::size_t unit = 0; unit < before_.size(); ++unit) {
    std::vector<float> now = stored(state, unit);
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape_, unit).tensors) {
      std::vector<float> moments(static_cast<std::size_t>(tensor.size()));
      state.read(engine::StatePart::m, unit, tensor, 0, moments);
      const auto was = part_of(before_[unit], tensor);
      const auto is = part_of(now, tensor);
      UpdateCount& count =
          counts.emplace_back(UpdateCount{.tensor = tensor.name, .parameters = tensor.size()});
      for (std::size_t i = 0; i < moments.size(); ++i) {
        if (moments[i] == 0) continue;  // A row of the embedding that no token has named yet.
        ++count.moved;
        if (is[i] == was[i]) ++count.vanished;
      }
    }
    before_[unit] = std::move(now);
  }
  return counts;
}

}  // namespace sluice::experiments
