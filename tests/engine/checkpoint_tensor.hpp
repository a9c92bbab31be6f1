// A tensor's values out of a checkpoint that may have them in other orders and larger tensors.
#pragma once

#include <string>
#include <vector>

#include "planner/models/tensor_spec.hpp"
#include "tests/engine/safetensors.hpp"

namespace sluice::engine::testing {

/// Row of the checkpoint's matrix that holds row `row` of a tensor.
[[nodiscard]] inline std::int64_t checkpoint_row(const planner::TensorSpec& tensor,
                                                 std::int64_t row) {
  if (const auto& pairs = tensor.paired) {
    const std::int64_t within = row % pairs->head;
    const std::int64_t half = pairs->rotated / 2;
    row += pairs->first;
    if (within < pairs->rotated) {
      if (pairs->adjacent) row += 2 * (within % half) + within / half - within;
    } else if (within < pairs->rotated + pairs->first) {
      row -= pairs->rotated + pairs->first;
    } else {
      row -= pairs->first;
    }
  }
  if (const auto& place = tensor.on_disk) {
    row = place->first + row / place->block * place->step + row % place->block;
  }
  return row;
}

/// Values of `tensor`, as they lie in memory, from the fixture's tensors whose names begin with
/// `prefix`.
[[nodiscard]] inline std::vector<double> from_checkpoint(const Fixture& fixture,
                                                         const std::string& prefix,
                                                         const planner::TensorSpec& tensor) {
  const FixtureTensor& stored =
      fixture.tensor(prefix + (tensor.on_disk ? tensor.on_disk->name : tensor.name));
  const bool vector = tensor.rows == 1;
  const std::int64_t rows = vector ? tensor.cols : tensor.rows;
  const std::int64_t cols = vector ? 1 : tensor.cols;
  std::int64_t start = 0;
  std::int64_t stored_rows = static_cast<std::int64_t>(stored.values.size()) / cols;
  if (tensor.on_disk && tensor.on_disk->stacked) {
    stored_rows /= static_cast<std::int64_t>(stored.shape.at(0));
    start = *tensor.on_disk->stacked * stored_rows * cols;
  }
  const bool transposed = tensor.on_disk && tensor.on_disk->transposed;
  std::vector<double> values;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t from = checkpoint_row(tensor, row);
    for (std::int64_t col = 0; col < cols; ++col) {
      const std::int64_t at = transposed ? col * stored_rows + from : from * cols + col;
      values.push_back(stored.values.at(static_cast<std::size_t>(start + at)));
    }
  }
  return values;
}

}  // namespace sluice::engine::testing
