// Place of a tensor in a checkpoint that has it otherwise than as a tensor of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Where a tensor's rows lie in a checkpoint that has it otherwise than as a tensor of its own:
/// row r of the tensor is row first + (r / block) * step + r % block of the matrix called `name`.
struct DiskPlace {
  std::string name;  ///< The checkpoint's tensor.
  std::int64_t first = 0;
  std::int64_t block = 1;
  std::int64_t step = 1;
  /// Number of this matrix in a stack of them, whose first dimension counts matrices; none for a
  /// tensor of two dimensions or one.
  std::optional<std::int64_t> stacked{};
  /// Whether the checkpoint has the matrix as [columns, rows].
  bool transposed = false;
};

/// Pairs of rows that lie side by side in a checkpoint: of each head's `head` rows, row i < rotated
/// / 2 of the first `rotated` is the checkpoint's row 2i, and row i + rotated / 2 its row 2i + 1.
struct PairedRows {
  std::int64_t head, rotated;
  friend bool operator==(const PairedRows&, const PairedRows&) = default;
};

[[nodiscard]] inline const DiskPlace* disk_place(const planner::TensorSpec&) { return nullptr; }
[[nodiscard]] inline std::optional<PairedRows> paired_rows(const planner::TensorSpec&) {
  return std::nullopt;
}

}  // namespace sluice::engine
