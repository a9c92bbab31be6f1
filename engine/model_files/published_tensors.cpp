#include "engine/model_files/published_tensors.hpp"

#include <algorithm>
#include <map>

namespace sluice::engine {
namespace {

/// Tensors in memory that share a published one.
struct Group {
  std::string name;
  std::vector<std::pair<planner::TensorSpec, planner::DiskPlace>> parts;
};

PublishedTensor alone(std::size_t unit, const planner::TensorSpec& tensor,
                      std::optional<planner::PairedRows> paired) {
  return {.name = tensor.name,
          .shape = own_shape(tensor),
          .parts = {{unit, tensor, own_map(memory_sizes(tensor), paired)}}};
}

PublishedTensor joined_tensor(std::size_t unit, const Group& group, StackOrder order) {
  std::int64_t rows = 0, stack = 0;
  for (const auto& [tensor, place] : group.parts) {
    const std::int64_t last = memory_sizes(tensor).rows - 1;
    rows = std::max(rows, place.first + last / place.block * place.step + last % place.block + 1);
    stack = std::max(stack, place.stacked.value_or(-1) + 1);
  }
  const auto& [first, any] = group.parts.front();
  const std::int64_t cols = memory_sizes(first).cols;
  const bool vector = is_vector(first);
  const bool transposed = any.transposed && !vector && order == StackOrder::published;
  PublishedTensor published{.name = group.name, .shape = {}, .parts = {}};
  if (stack > 0) published.shape.push_back(stack);
  if (!vector && transposed) published.shape.push_back(cols);
  published.shape.push_back(rows);
  if (!vector && !transposed) published.shape.push_back(cols);
  published.expert_matrices = stack > 0 && !vector;
  for (const auto& [tensor, place] : group.parts) {
    planner::DiskPlace placed = place;
    placed.transposed = transposed;
    published.parts.push_back({unit, tensor, map_of(placed, rows, cols, tensor.paired)});
  }
  return published;
}

}  // namespace

std::vector<std::int64_t> own_shape(const planner::TensorSpec& tensor) {
  if (tensor.is_row) return {1, tensor.cols};
  if (is_vector(tensor)) return {tensor.cols};
  // A convolution's weights have a dimension of the one input that each output sees.
  if (tensor.role == planner::TensorRole::delta_conv) return {tensor.rows, 1, tensor.cols};
  return {tensor.rows, tensor.cols};
}

std::vector<PublishedTensor> published_tensors(const planner::ModelShape& shape, StackOrder order) {
  std::vector<PublishedTensor> all;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    std::vector<Group> groups;
    std::map<std::string, std::size_t> known;
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      const std::optional<planner::DiskPlace>& place = tensor.on_disk;
      const std::string& name = place ? place->name : tensor.name;
      const auto [at, fresh] = known.emplace(name, groups.size());
      if (fresh) groups.push_back({name, {}});
      groups[at->second].parts.emplace_back(tensor, place.value_or(planner::DiskPlace{}));
    }
    for (const Group& group : groups) {
      const planner::TensorSpec& first = group.parts.front().first;
      all.push_back(first.on_disk ? joined_tensor(unit, group, order)
                                  : alone(unit, first, first.paired));
    }
  }
  return all;
}

std::vector<PublishedTensor> tensors_in_memory(const planner::ModelShape& shape) {
  std::vector<PublishedTensor> all;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      all.push_back(alone(unit, tensor, std::nullopt));
    }
  }
  return all;
}

}  // namespace sluice::engine
