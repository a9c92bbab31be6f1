#include "engine/host/quantized.hpp"

#include <algorithm>
#include <bit>

#include "engine/host/block_scale.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/scratch/workspace.hpp"

namespace sluice::engine {
namespace {

/// Bits of the magnitude of a bf16 value.
std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) >> 16 & 0x7fffu; }

float rounded(float value, BlockScale scale) {
  return e4m3_value(to_e4m3(value * scale.inverse)) * scale.scale;
}

/// Writes rows [row, row + rows) of the weight, rounded, to `panel`.
void round_panel(const WeightMatrix& weight, std::int64_t row, std::int64_t rows, float* panel) {
  for (std::int64_t top = row / kScaleBlock * kScaleBlock; top < row + rows; top += kScaleBlock) {
    const std::int64_t bottom = std::min(top + kScaleBlock, weight.rows);
    for (std::int64_t left = 0; left < weight.cols; left += kScaleBlock) {
      const std::int64_t right = std::min(left + kScaleBlock, weight.cols);
      std::uint32_t largest = 0;
      for (std::int64_t r = top; r < bottom; ++r) {
        for (std::int64_t c = left; c < right; ++c) {
          largest = std::max<std::uint32_t>(largest, weight.high[r * weight.cols + c] & 0x7fffu);
        }
      }
      const BlockScale scale = block_scale(largest);
      for (std::int64_t r = std::max(top, row); r < std::min(bottom, row + rows); ++r) {
        for (std::int64_t c = left; c < right; ++c) {
          panel[(r - row) * weight.cols + c] =
              rounded(bf16_to_float(weight.high[r * weight.cols + c]), scale);
        }
      }
    }
  }
}

/// Calls `body` with the first row and the number of rows of each panel of the weight.
template <class Body>
void for_panels(const WeightMatrix& weight, float* panel, Body body) {
  const std::int64_t step = planner::panel_rows(weight.rows, weight.cols);
  for (std::int64_t row = 0; row < weight.rows; row += step) {
    const std::int64_t rows = std::min(step, weight.rows - row);
    round_panel(weight, row, rows, panel);
    body(row, rows);
  }
}

}  // namespace

void round_along(const float* x, std::int64_t rows, std::int64_t cols, float* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t left = 0; left < cols; left += kScaleBlock) {
      const std::int64_t begin = r * cols + left;
      const std::int64_t end = begin + std::min(kScaleBlock, cols - left);
      std::uint32_t largest = 0;
      for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, magnitude(x[i]));
      const BlockScale scale = block_scale(largest);
      for (std::int64_t i = begin; i < end; ++i) out[i] = rounded(x[i], scale);
    }
  }
}

void round_across(const float* x, std::int64_t rows, std::int64_t cols, float* out) {
  for (std::int64_t top = 0; top < rows; top += kScaleBlock) {
    const std::int64_t bottom = std::min(top + kScaleBlock, rows);
    for (std::int64_t c = 0; c < cols; ++c) {
      std::uint32_t largest = 0;
      for (std::int64_t r = top; r < bottom; ++r) {
        largest = std::max(largest, magnitude(x[r * cols + c]));
      }
      const BlockScale scale = block_scale(largest);
      for (std::int64_t r = top; r < bottom; ++r) {
        out[r * cols + c] = rounded(x[r * cols + c], scale);
      }
    }
  }
}

void multiply_quantized(const float* x, std::int64_t n, const WeightMatrix& weight, float* panel,
                        float* y) {
  for_panels(weight, panel, [&](std::int64_t row, std::int64_t rows) {
    product(n, rows, weight.cols, Transpose::right, {const_cast<float*>(x), weight.cols},
            {panel, weight.cols}, Into::overwrite, {y + row, weight.rows});
  });
}

void multiply_transposed_quantized(const float* dy, std::int64_t n, const WeightMatrix& weight,
                                   float* panel, Into into, float* dx) {
  for_panels(weight, panel, [&](std::int64_t row, std::int64_t rows) {
    product(n, weight.cols, rows, Transpose::none, {const_cast<float*>(dy) + row, weight.rows},
            {panel, weight.cols}, row == 0 ? into : Into::accumulate, {dx, weight.cols});
  });
}

}  // namespace sluice::engine
