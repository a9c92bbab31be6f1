// The tile model of matrix products; internal to planner/kernels.
#pragma once

#include <array>
#include <span>

#include "planner/kernels/kernel_shape.hpp"

namespace sluice::planner {

/// A tile of the product's result (rows x columns), as a matrix library can choose it for one
/// multiprocessor to compute.
struct GemmTile {
  double rows, columns;
};
inline constexpr std::array kGemmTiles = {
    GemmTile{256, 128}, GemmTile{128, 256}, GemmTile{128, 128}, GemmTile{192, 128},
    GemmTile{128, 192}, GemmTile{64, 256},  GemmTile{256, 64},  GemmTile{128, 64},
    GemmTile{64, 128},  GemmTile{64, 64},   GemmTile{128, 32},  GemmTile{64, 32}};

/// Number of the model's constants that come before the rates of the tiles in kGemmTiles, one each.
inline constexpr std::size_t kGemmScalars = 14;

/// Seconds of the product of an [m, k] by a [k, n] matrix by the model's `constants`, which are in
/// the order of kernel_constants(); `result_bytes` is the bytes that an element of the result is
/// read and written with (Gemm::result_bytes).
[[nodiscard]] double gemm_seconds(double multiprocessors, std::span<const double> constants,
                                  double m, double n, double k, double result_bytes = 2);

}  // namespace sluice::planner
