#include "planner/models/muon.hpp"

#include <algorithm>

#include "planner/models/slices.hpp"
#include "planner/models/tensor_list.hpp"
#include "planner/models/unit_classes.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// A tensor of which a block has `count` equal ones.
struct Counted {
  TensorSpec tensor;
  std::int64_t count = 1;
};

bool is_of_expert(TensorRole role) {
  switch (role) {
    case TensorRole::expert_gate:
    case TensorRole::expert_up:
    case TensorRole::expert_gate_bias:
    case TensorRole::expert_up_bias:
    case TensorRole::expert_down:
    case TensorRole::expert_down_bias:
      return true;
    default:
      return false;
  }
}

/// Tensors of a unit, with those of all experts counted rather than named.
std::vector<Counted> counted_tensors(const ModelShape& shape, std::size_t unit) {
  ModelShape one = shape;
  if (one.experts) one.experts->count = 1;
  std::vector<Counted> all;
  for (TensorSpec& tensor : unit_tensors(one, unit).tensors) {
    Counted each{std::move(tensor)};
    const TensorRole role = each.tensor.role;
    if (role == TensorRole::router) each.tensor.rows = shape.experts->count;
    if (role == TensorRole::router_bias || role == TensorRole::correction_bias) {
      each.tensor.cols = shape.experts->count;
    }
    if (is_of_expert(role)) each.count = shape.experts->count;
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace

bool is_muons(const TensorSpec& tensor) {
  switch (tensor.role) {
    case TensorRole::embedding:
    case TensorRole::head:
    case TensorRole::delta_conv:
      return false;
    default:
      return tensor.rows > 1 && tensor.cols > 1;
  }
}

bool muon_updates(const Job& job, std::size_t unit) {
  return job.optimizer.kind == OptimizerKind::muon && unit > 0 && unit + 1 < unit_count(job.model);
}

SecondMoments muon_second_moments(const UnitTensors& unit) {
  SecondMoments second;
  for (const TensorSpec& tensor : unit.tensors) {
    if (is_muons(tensor)) {
      second.begin.emplace_back();
      continue;
    }
    second.begin.emplace_back(second.elements);
    second.elements += padded(tensor.size());
  }
  second.elements = std::max(second.elements, kTensorAlign);
  return second;
}

std::int64_t muon_second_size(const Job& job, std::size_t unit) {
  std::int64_t second = 0;
  for (const auto& [tensor, count] : counted_tensors(job.model, unit)) {
    if (!is_muons(tensor)) second += count * padded(tensor.size());
  }
  return std::max(second, kTensorAlign);
}

std::vector<MuonSides> muon_matrices(const Job& job, std::size_t unit) {
  std::vector<MuonSides> all;
  for (const auto& [tensor, count] : counted_tensors(job.model, unit)) {
    if (!is_muons(tensor)) continue;
    const std::int64_t side = std::min(tensor.rows, tensor.cols);
    const std::int64_t other = std::max(tensor.rows, tensor.cols);
    const auto known = std::ranges::find_if(
        all, [&](const MuonSides& each) { return each.side == side && each.other == other; });
    if (known == all.end()) {
      all.push_back({side, other, count});
    } else {
      known->count += count;
    }
  }
  return all;
}

std::vector<Gemm> muon_products(const Job& job, std::size_t unit) {
  std::vector<Gemm> all;
  for (const auto& [side, other, count] : muon_matrices(job, unit)) {
    const std::int64_t times = count * job.optimizer.muon.ns_steps;
    const double slowing = row_slowing(side);
    all.push_back({.m = side, .n = side, .k = other, .count = times, .slowing = slowing});
    all.push_back({.m = side, .n = side, .k = side, .count = times, .slowing = slowing});
    all.push_back({.m = side, .n = other, .k = side, .count = times, .slowing = slowing});
  }
  return all;
}

MuonWorkspace muon_workspace(const Job& job, Bytes element) {
  MuonWorkspace space{};
  if (job.optimizer.kind != OptimizerKind::muon) return space;
  std::int64_t elements = 0, most = 0;
  for (const BlockClass& each : block_classes(job.model)) {
    for (const auto& [side, other, count] : muon_matrices(job, each.unit)) {
      elements = std::max(elements, side * other);
      most = std::max(most, side);
    }
  }
  constexpr std::int64_t kAlign = 256;
  const auto take = [&space](std::int64_t bytes) {
    const Bytes start = space.total;
    space.total += Bytes((bytes + kAlign - 1) / kAlign * kAlign);
    return start;
  };
  space.x = take(element.count() * elements);
  space.next = take(element.count() * elements);
  space.gram = take(element.count() * most * most);
  space.update = take(element.count() * most * most);
  space.norms = take(8 * ((elements + kNormBlock - 1) / kNormBlock + 1));
  return space;
}

}  // namespace sluice::planner
