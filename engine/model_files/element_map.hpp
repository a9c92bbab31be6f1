// Where the elements of a tensor in memory lie within a tensor of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/model_files/stored_tensor.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Sizes of a tensor in memory as rows and columns; a vector is a column.
struct MemorySizes {
  std::int64_t rows, cols;
};
[[nodiscard]] MemorySizes memory_sizes(const planner::TensorSpec& tensor);
/// Whether a tensor is a vector: its checkpoints have one dimension.
[[nodiscard]] bool is_vector(const planner::TensorSpec& tensor);

/// Element [r, c] in memory is the number base + d row_step + c col_step of the tensor in the file,
/// with d = first + (f / block) step + f % block the row in the file's matrix, and f the row that r
/// has in the order of the file.
struct ElementMap {
  std::int64_t base = 0;
  std::int64_t first = 0, block = 1, step = 1;
  std::int64_t row_step = 1, col_step = 1;
  std::optional<planner::PairedRows> paired{};

  [[nodiscard]] std::int64_t position(std::int64_t row, std::int64_t col) const;
  friend bool operator==(const ElementMap&, const ElementMap&) = default;
};

/// The map of a tensor that a file has as it is in memory, but for the order of its rows.
[[nodiscard]] ElementMap own_map(const MemorySizes& sizes,
                                 std::optional<planner::PairedRows> paired);

/// The map of a tensor at `place` in a tensor of `matrix_rows` (of `matrix_cols` elements) that
/// may be transposed and one of a stack. Both sizes are those before transposition.
[[nodiscard]] ElementMap map_of(const planner::DiskPlace& place, std::int64_t matrix_rows,
                                std::int64_t matrix_cols,
                                std::optional<planner::PairedRows> paired);

/// Reads elements first .. first + out.size() - 1 of a tensor in memory, row by row, from `stored`.
void read_mapped(const StoredTensor& stored, const ElementMap& map, const MemorySizes& sizes,
                 std::int64_t first, std::span<float> out);

/// Reads elements first .. first + out.size() - 1 of a tensor in memory into `out`.
using MemoryReader = std::function<void(std::int64_t first, std::span<float> out)>;
/// Puts those elements of a tensor in memory that are numbers first .. first + out.size() - 1 of a
/// tensor in a file to their places in `out`; leaves the others as they are.
void gather_mapped(const MemoryReader& memory, const ElementMap& map, const MemorySizes& sizes,
                   std::int64_t first, std::span<float> out);

}  // namespace sluice::engine
