#include "planner/models/unit_classes.hpp"

#include <algorithm>

namespace sluice::planner {

std::vector<BlockClass> block_classes(const ModelShape& shape) {
  std::vector<BlockClass> classes;
  std::vector<bool> seen(shape.kinds.size(), false);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::size_t kind = kind_index(shape, layer);
    if (seen[kind]) continue;
    seen[kind] = true;
    classes.push_back({static_cast<std::size_t>(layer) + 1, layers_of_kind(shape, kind)});
    if (shape.kind_of_layer.empty()) break;
  }
  return classes;
}

std::size_t class_representative(const ModelShape& shape, std::size_t unit) {
  if (unit == 0 || unit + 1 == unit_count(shape)) return unit;
  if (shape.kind_of_layer.empty()) return 1;
  const auto found = std::ranges::find(shape.kind_of_layer, shape.kind_of_layer[unit - 1]);
  return static_cast<std::size_t>(found - shape.kind_of_layer.begin()) + 1;
}

std::vector<std::size_t> representatives(const ModelShape& shape) {
  std::vector<std::size_t> units{0};
  for (const BlockClass& each : block_classes(shape)) units.push_back(each.unit);
  units.push_back(unit_count(shape) - 1);
  return units;
}

std::vector<std::int64_t> padded_sizes(const ModelShape& shape) {
  std::vector<std::int64_t> sizes;
  for (std::size_t unit = 0; unit < unit_count(shape); ++unit) {
    const std::size_t alike = class_representative(shape, unit);
    sizes.push_back(alike < unit ? sizes[alike] : unit_padded_size(shape, unit));
  }
  return sizes;
}

std::int64_t least_block_size(const ModelShape& shape) {
  std::int64_t least = unit_padded_size(shape, 1);
  for (const BlockClass& each : block_classes(shape)) {
    least = std::min(least, unit_padded_size(shape, each.unit));
  }
  return least;
}

Job uniform_job(const Job& job, std::size_t unit) {
  const bool block = unit > 0 && unit + 1 < unit_count(job.model);
  Job uniform = job;
  uniform.model = uniform_shape(
      job.model, block ? kind_index(job.model, static_cast<std::int64_t>(unit) - 1) : 0);
  // Whether MLPs pass in chunks is one choice for the whole model.
  if (!job.chunks_mlp()) uniform.mlp_chunk = std::max(job.mlp_chunk, job.micro_tokens());
  return uniform;
}

}  // namespace sluice::planner
