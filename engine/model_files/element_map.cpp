#include "engine/model_files/element_map.hpp"

#include <algorithm>
#include <vector>

namespace sluice::engine {
namespace {

std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return value <= 0 ? 0 : (value + by - 1) / by;
}

/// Reads runs of elements that follow each other in memory and in the file.
void read_rows(const StoredTensor& stored, const ElementMap& map, std::int64_t cols,
               std::int64_t first, std::span<float> out) {
  const std::int64_t last = first + std::ssize(out);
  for (std::int64_t at = first; at < last;) {
    const std::int64_t begin = map.position(at / cols, at % cols);
    std::int64_t end = std::min((at / cols + 1) * cols, last);
    while (end < last && map.position(end / cols, 0) == begin + (end - at)) {
      end = std::min(end + cols, last);
    }
    stored.decode(begin, out.subspan(static_cast<std::size_t>(at - first),
                                     static_cast<std::size_t>(end - at)));
    at = end;
  }
}

/// Reads a matrix whose file holds it column by column: of each column the stretch that its rows
/// lie in, from which they are picked.
void read_columns(const StoredTensor& stored, const ElementMap& map, std::int64_t cols,
                  std::int64_t first, std::span<float> out) {
  const std::int64_t last = first + std::ssize(out);
  std::vector<float> stretch;
  for (std::int64_t col = 0; col < cols; ++col) {
    // Rows r with first <= r cols + col < last.
    const std::int64_t begin = ceil_div(first - col, cols);
    const std::int64_t end = ceil_div(last - col, cols);
    if (begin >= end) continue;
    std::int64_t low = map.position(begin, col), high = low;
    for (std::int64_t row = begin; row < end; ++row) {
      low = std::min(low, map.position(row, col));
      high = std::max(high, map.position(row, col));
    }
    stretch.resize(static_cast<std::size_t>(high - low + 1));
    stored.decode(low, stretch);
    for (std::int64_t row = begin; row < end; ++row) {
      out[static_cast<std::size_t>(row * cols + col - first)] =
          stretch[static_cast<std::size_t>(map.position(row, col) - low)];
    }
  }
}

/// Gathers a tensor whose rows lie in the file as rows.
void gather_rows(const MemoryReader& memory, const ElementMap& map, const MemorySizes& sizes,
                 std::int64_t first, std::span<float> out) {
  const std::int64_t last = first + std::ssize(out);
  for (std::int64_t row = 0; row < sizes.rows;) {
    const std::int64_t begin = map.position(row, 0);
    std::int64_t end_row = row + 1;
    while (end_row < sizes.rows &&
           map.position(end_row, 0) == begin + (end_row - row) * sizes.cols) {
      ++end_row;
    }
    const std::int64_t end = begin + (end_row - row) * sizes.cols;
    const std::int64_t low = std::max(begin, first), high = std::min(end, last);
    if (low < high) {
      memory(row * sizes.cols + low - begin, out.subspan(static_cast<std::size_t>(low - first),
                                                         static_cast<std::size_t>(high - low)));
    }
    row = end_row;
  }
}

/// Gathers a matrix whose columns lie in the file as rows.
void gather_columns(const MemoryReader& memory, const ElementMap& map, const MemorySizes& sizes,
                    std::int64_t first, std::span<float> out) {
  const std::int64_t last = first + std::ssize(out);
  std::vector<float> part;
  for (std::int64_t row = 0; row < sizes.rows; ++row) {
    const std::int64_t begin = map.position(row, 0);
    // Columns c with first <= begin + c col_step < last.
    const std::int64_t low = ceil_div(first - begin, map.col_step);
    const std::int64_t high = std::min(ceil_div(last - begin, map.col_step), sizes.cols);
    if (low >= high) continue;
    part.resize(static_cast<std::size_t>(high - low));
    memory(row * sizes.cols + low, part);
    for (std::int64_t col = low; col < high; ++col) {
      out[static_cast<std::size_t>(begin + col * map.col_step - first)] =
          part[static_cast<std::size_t>(col - low)];
    }
  }
}

}  // namespace

bool is_vector(const planner::TensorSpec& tensor) {
  const bool by_role = tensor.role == planner::TensorRole::sinks ||
                       tensor.role == planner::TensorRole::delta_log_rate;
  return tensor.rows == 1 && (!tensor.decays || by_role);
}

MemorySizes memory_sizes(const planner::TensorSpec& tensor) {
  if (is_vector(tensor)) return {tensor.cols, 1};
  return {tensor.rows, tensor.cols};
}

std::int64_t ElementMap::position(std::int64_t row, std::int64_t col) const {
  const std::int64_t in_file = paired ? paired->in_checkpoint(row) : row;
  const std::int64_t matrix_row = first + in_file / block * step + in_file % block;
  return base + matrix_row * row_step + col * col_step;
}

ElementMap own_map(const MemorySizes& sizes, std::optional<planner::PairedRows> paired) {
  return {.row_step = sizes.cols, .paired = paired};
}

ElementMap map_of(const planner::DiskPlace& place, std::int64_t matrix_rows,
                  std::int64_t matrix_cols, std::optional<planner::PairedRows> paired) {
  return {.base = place.stacked.value_or(0) * matrix_rows * matrix_cols,
          .first = place.first,
          .block = place.block,
          .step = place.step,
          .row_step = place.transposed ? 1 : matrix_cols,
          .col_step = place.transposed ? matrix_rows : 1,
          .paired = paired};
}

void read_mapped(const StoredTensor& stored, const ElementMap& map, const MemorySizes& sizes,
                 std::int64_t first, std::span<float> out) {
  if (map.col_step == 1) return read_rows(stored, map, sizes.cols, first, out);
  read_columns(stored, map, sizes.cols, first, out);
}

void gather_mapped(const MemoryReader& memory, const ElementMap& map, const MemorySizes& sizes,
                   std::int64_t first, std::span<float> out) {
  if (map == own_map(sizes, std::nullopt)) return memory(first, out);
  if (map.col_step == 1) return gather_rows(memory, map, sizes, first, out);
  gather_columns(memory, map, sizes, first, out);
}

}  // namespace sluice::engine
