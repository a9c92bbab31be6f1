#include "engine/optimizer/muon.hpp"

#include <algorithm>
#include <cmath>

#include "planner/models/muon.hpp"

namespace sluice::engine {
namespace {

double factor_of(planner::MuonRate rate, const planner::TensorSpec& tensor) {
  const auto rows = static_cast<double>(tensor.rows), cols = static_cast<double>(tensor.cols);
  if (rate == planner::MuonRate::original) return std::sqrt(std::max(1.0, rows / cols));
  return 0.2 * std::sqrt(std::max(rows, cols));
}

}  // namespace

MuonUnit muon_unit(const planner::MuonSettings& settings, const planner::UnitTensors& unit) {
  const planner::SecondMoments second = planner::muon_second_moments(unit);
  MuonUnit updates;
  for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
    const planner::TensorSpec& tensor = unit.tensors[i];
    if (second.begin[i]) {
      updates.vectors.push_back({tensor.offset, tensor.size(), *second.begin[i], tensor.decays});
    } else {
      const double factor = factor_of(settings.adjust_lr_fn, tensor);
      updates.matrices.push_back(
          {tensor.offset, tensor.rows, tensor.cols, tensor.decays, static_cast<float>(factor)});
    }
  }
  return updates;
}

MuonConstants muon_constants(const planner::MuonSettings& settings) {
  return {.momentum = static_cast<float>(settings.momentum),
          .one_minus_momentum = static_cast<float>(1 - settings.momentum),
          .nesterov = settings.nesterov};
}

}  // namespace sluice::engine
