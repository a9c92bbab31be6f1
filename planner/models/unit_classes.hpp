// Units that are equal to each other: same tensors, same passes, same times.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"

namespace sluice::planner {

/// Blocks of one kind of layer.
struct BlockClass {
  std::size_t unit;     ///< The first such block's unit.
  std::int64_t layers;  ///< Number of such blocks.
};

/// The classes of a model's blocks, in the order of their first units.
[[nodiscard]] std::vector<BlockClass> block_classes(const ModelShape& shape);

/// The first unit that is equal to `unit`: embedding and head are equal to themselves alone.
[[nodiscard]] std::size_t class_representative(const ModelShape& shape, std::size_t unit);

/// One unit of each class: the embedding, the first block of each kind, and the head.
[[nodiscard]] std::vector<std::size_t> representatives(const ModelShape& shape);

/// Number of elements of each unit's vector, padding included, in the order of units.
[[nodiscard]] std::vector<std::int64_t> padded_sizes(const ModelShape& shape);

/// Least elements of a block's vector.
[[nodiscard]] std::int64_t least_block_size(const ModelShape& shape);

/// The job of a model whose blocks are all equal to `unit`; where that is no block, to the first
/// kind. Passes of the unit are passes of that job.
[[nodiscard]] Job uniform_job(const Job& job, std::size_t unit);

}  // namespace sluice::planner
