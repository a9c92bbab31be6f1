#include <cuda_runtime.h>

#include "engine/cuda/kernels/launch.hpp"
#include "engine/cuda/kernels/muon.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "engine/optimizer/master_weights.hpp"
#include "planner/models/slices.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSumThreads = 1024;
constexpr int kTile = 32;     ///< Rows and columns of a tile that one block transposes.
constexpr int kTileRows = 8;  ///< Rows of a tile that its threads cover at one time.

__device__ float gradient_at(const float* gradient, std::int64_t i) { return gradient[i]; }
__device__ float gradient_at(const std::uint16_t* gradient, std::int64_t i) {
  return bf16_to_float(gradient[i]);
}

/// Direction u of one element, from its new momentum and its gradient.
__device__ float direction(float m, float g, const MuonConstants& constants) {
  if (!constants.nesterov) return m;
  return __fadd_rn(__fmul_rn(constants.one_minus_momentum, g), __fmul_rn(constants.momentum, m));
}

/// Updates the momentum of kNormBlock elements and sums the squares of u over them.
template <class Wire>
__global__ void __launch_bounds__(kThreads)
    momentum(float* m, const Wire* gradient, std::int64_t elements, MuonConstants constants,
             double* norms, const AdamWStep* step) {
  __shared__ double warp_sums[kWarp];
  const bool changes_nothing = step->changes_nothing;
  const float scale = step->clip_scale;
  const std::int64_t begin = blockIdx.x * planner::kNormBlock;
  const std::int64_t end = min(begin + planner::kNormBlock, elements);
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const float g = __fmul_rn(gradient_at(gradient, i), scale);
    float now = m[i];
    if (!changes_nothing) {
      now =
          __fadd_rn(__fmul_rn(constants.momentum, now), __fmul_rn(constants.one_minus_momentum, g));
      m[i] = now;
    }
    const auto u = static_cast<double>(direction(now, g, constants));
    sum = fma(u, u, sum);
  }
  sum = block_sum(sum, warp_sums);
  if (threadIdx.x == 0) norms[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kSumThreads) sum_norms(double* norms, std::int64_t count) {
  __shared__ double warp_sums[kWarp];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kSumThreads) sum += norms[i];
  sum = block_sum(sum, warp_sums);
  if (threadIdx.x == 0) norms[count] = sum;
}

/// A matrix [rows, cols] that blocks of threads visit in tiles; X is its transpose where
/// `transposed`.
struct Tiles {
  std::int64_t rows, cols;
  bool transposed;
};

template <class Wire>
__global__ void __launch_bounds__(kTile* kTileRows)
    first_iterate(const float* m, const Wire* gradient, Tiles tiles, MuonConstants constants,
                  const double* norm, std::uint16_t* x, const AdamWStep* step) {
  __shared__ std::uint16_t tile[kTile][kTile + 1];
  const float scale = step->clip_scale;
  const float root = __double2float_rn(sqrt(*norm));
  const float divisor = root > kMuonEps ? root : kMuonEps;
  const std::int64_t row0 = std::int64_t{blockIdx.y} * kTile;
  const std::int64_t col0 = std::int64_t{blockIdx.x} * kTile;
  for (int r = threadIdx.y; r < kTile; r += kTileRows) {
    const std::int64_t row = row0 + r, col = col0 + threadIdx.x;
    if (row >= tiles.rows || col >= tiles.cols) continue;
    const std::int64_t i = row * tiles.cols + col;
    const float g = __fmul_rn(gradient_at(gradient, i), scale);
    const std::uint16_t value = float_to_bf16(__fdiv_rn(direction(m[i], g, constants), divisor));
    if (!tiles.transposed) {
      x[i] = value;
    } else {
      tile[r][threadIdx.x] = value;
    }
  }
  if (!tiles.transposed) return;
  __syncthreads();
  for (int c = threadIdx.y; c < kTile; c += kTileRows) {
    const std::int64_t row = row0 + threadIdx.x, col = col0 + c;
    if (row < tiles.rows && col < tiles.cols) x[col * tiles.rows + row] = tile[threadIdx.x][c];
  }
}

__global__ void __launch_bounds__(kTile* kTileRows)
    update_weights(std::uint16_t* high, std::uint16_t* low, Tiles tiles, bool decays, float factor,
                   const std::uint16_t* x, const AdamWStep* step) {
  __shared__ std::uint16_t tile[kTile][kTile + 1];
  if (step->changes_nothing) return;  // The same for all threads.
  const float rate = __fmul_rn(step->minus_lr, factor);
  const float decay = step->minus_decay;
  const std::int64_t row0 = std::int64_t{blockIdx.y} * kTile;
  const std::int64_t col0 = std::int64_t{blockIdx.x} * kTile;
  if (tiles.transposed) {
    for (int c = threadIdx.y; c < kTile; c += kTileRows) {
      const std::int64_t row = row0 + threadIdx.x, col = col0 + c;
      if (row < tiles.rows && col < tiles.cols) tile[threadIdx.x][c] = x[col * tiles.rows + row];
    }
    __syncthreads();
  }
  for (int r = threadIdx.y; r < kTile; r += kTileRows) {
    const std::int64_t row = row0 + r, col = col0 + threadIdx.x;
    if (row >= tiles.rows || col >= tiles.cols) continue;
    const std::int64_t i = row * tiles.cols + col;
    const float direction = bf16_to_float(tiles.transposed ? tile[r][threadIdx.x] : x[i]);
    float p = join_master({high[i], low[i]});
    if (decays) p = __fadd_rn(p, __fmul_rn(decay, p));
    const SplitMaster halves = split_master(__fadd_rn(p, __fmul_rn(rate, direction)));
    high[i] = halves.high;
    low[i] = halves.low;
  }
}

dim3 grid_of(const MuonMatrix& matrix) {
  return {static_cast<unsigned>(ceil_div(matrix.cols, kTile)),
          static_cast<unsigned>(ceil_div(matrix.rows, kTile))};
}

Tiles tiles_of(const MuonMatrix& matrix) {
  return {matrix.rows, matrix.cols, matrix.rows > matrix.cols};
}

template <class Wire>
void start(const MuonOperands& operands, const MuonConstants& constants, const AdamWStep* step,
           CUstream_st* stream) {
  const MuonMatrix& matrix = operands.matrix;
  const std::int64_t elements = matrix.rows * matrix.cols;
  const std::int64_t blocks = ceil_div(elements, planner::kNormBlock);
  const auto* gradient = static_cast<const Wire*>(operands.gradient);
  momentum<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(operands.m, gradient, elements,
                                                                   constants, operands.norms, step);
  check_launch("Muon's momentum");
  sum_norms<<<1, kSumThreads, 0, stream>>>(operands.norms, blocks);
  check_launch("Muon's norm");
  first_iterate<<<grid_of(matrix), dim3(kTile, kTileRows), 0, stream>>>(
      operands.m, gradient, tiles_of(matrix), constants, operands.norms + blocks, operands.x, step);
  check_launch("Muon's first iterate");
}

}  // namespace

void muon_start(const MuonOperands& operands, const MuonConstants& constants, const AdamWStep* step,
                CUstream_st* stream) {
  if (operands.wire == planner::GradientWire::bf16) {
    start<std::uint16_t>(operands, constants, step, stream);
  } else {
    start<float>(operands, constants, step, stream);
  }
}

void muon_apply(const MuonOperands& operands, const AdamWStep* step, CUstream_st* stream) {
  const MuonMatrix& matrix = operands.matrix;
  update_weights<<<grid_of(matrix), dim3(kTile, kTileRows), 0, stream>>>(
      operands.high, operands.low, tiles_of(matrix), matrix.decays, matrix.factor, operands.x,
      step);
  check_launch("Muon's update");
}

}  // namespace sluice::engine::cuda
