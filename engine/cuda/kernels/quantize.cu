// A thread block quantizes a tile of 128 x 128 elements: a thread holds 8 columns of 8 rows, so
// that 16 neighbouring lanes hold 8 whole rows of the tile. Transposed numbers pass through shared
// memory.
#include <cuda_fp8.h>

#include "engine/cuda/kernels/activations.cuh"
#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "engine/host/block_scale.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kTile = static_cast<int>(kScaleBlock);
constexpr int kThreads = 256;
constexpr int kRows = 8;                    // Rows of a thread.
constexpr int kRowLanes = kTile / kVector;  // Lanes that hold a row of the tile.
constexpr int kGroups = kThreads / kRowLanes;

/// Elements of a matrix in memory.
struct Stored {
  const std::uint16_t* x;
  std::int64_t stride;
  __device__ uint4 load_eight(std::int64_t row, std::int64_t column) const {
    return load(x, row * stride + column);
  }
};

/// Activations, computed from rows of gate and up.
template <class Function>
struct Activated {
  const std::uint16_t* gate_up;
  std::int64_t width, stride;
  __device__ uint4 load_eight(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * stride + column;
    const uint4 none = make_uint4(0, 0, 0, 0);
    Eight gate = Eight::unpack(Function::kGated ? load(gate_up, at) : none);
    const Eight up = Eight::unpack(load(gate_up, at + (Function::kGated ? width : 0)));
#pragma unroll
    for (int i = 0; i < kVector; ++i) gate.value[i] = Function::of(gate.value[i], up.value[i]);
    return gate.packed();
  }
};

/// Pairwise largest magnitudes of two pairs of bf16: bits of magnitudes are ordered as numbers.
__device__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return __vmaxu2(a & 0x7fff7fffu, b & 0x7fff7fffu);
}
__device__ std::uint32_t larger_half(std::uint32_t pair) { return max(pair & 0xffffu, pair >> 16); }

template <__nv_fp8_interpretation_t format>
__device__ std::uint32_t to_fp8(float a, float b, float c, float d) {
  const auto low = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, format);
  const auto high = __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, format);
  return static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16;
}

struct Matrix {
  std::int64_t rows, cols;
};

/// Scale of each of the thread's rows, or of the whole tile.
enum class Scaling { vectors, tile };

/// The part of a tile that a thread has, and where it is.
struct Place {
  std::int64_t row_block, column_block;  // Place of the tile, in tiles.
  std::int64_t first_row, first_column;  // First element of the thread.
  int group, lane;
};
__device__ Place place_in_tile(std::int64_t row_block, std::int64_t column_block) {
  const int group = static_cast<int>(threadIdx.x) / kRowLanes;
  const int lane = static_cast<int>(threadIdx.x) % kRowLanes;
  return {row_block,
          column_block,
          row_block * kTile + group * kRows,
          column_block * kTile + lane * kVector,
          group,
          lane};
}

struct Tile : Place {
  uint4 row[kRows];
};

/// Largest magnitudes of the tile's columns, of which this thread gets its eight as pairs.
__device__ uint4 column_maxima(const Tile& tile, std::uint32_t* shared) {
  uint4 most = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    most.x = larger(most.x, tile.row[r].x);
    most.y = larger(most.y, tile.row[r].y);
    most.z = larger(most.z, tile.row[r].z);
    most.w = larger(most.w, tile.row[r].w);
  }
  auto* place = reinterpret_cast<uint4*>(shared);
  place[tile.group * kRowLanes + tile.lane] = most;
  __syncthreads();
  for (int group = 0; group < kGroups; ++group) {
    const uint4 other = place[group * kRowLanes + tile.lane];
    most.x = larger(most.x, other.x);
    most.y = larger(most.y, other.y);
    most.z = larger(most.z, other.z);
    most.w = larger(most.w, other.w);
  }
  __syncthreads();
  return most;
}

__device__ std::uint32_t row_maximum(uint4 eight) {
  std::uint32_t most = larger_half(larger(larger(eight.x, eight.y), larger(eight.z, eight.w)));
#pragma unroll
  for (int distance = kRowLanes / 2; distance > 0; distance /= 2) {
    most = max(most, __shfl_xor_sync(kAllLanes, most, distance));
  }
  return most;
}

template <__nv_fp8_interpretation_t format = __NV_E4M3>
__device__ void store_row(const Tile& tile, int r, float inverse, Matrix matrix,
                          std::uint8_t* values) {
  const std::int64_t row = tile.first_row + r;
  if (row >= matrix.rows || tile.first_column >= matrix.cols) return;
  const Eight v = Eight::unpack(tile.row[r]);
  const uint2 packed = make_uint2(to_fp8<format>(v.value[0] * inverse, v.value[1] * inverse,
                                                 v.value[2] * inverse, v.value[3] * inverse),
                                  to_fp8<format>(v.value[4] * inverse, v.value[5] * inverse,
                                                 v.value[6] * inverse, v.value[7] * inverse));
  *reinterpret_cast<uint2*>(values + row * matrix.cols + tile.first_column) = packed;
}

/// Value of column `i` of the eight in a row of the thread.
__device__ float element(uint4 row, int i) {
  const std::uint32_t pair = i < 4 ? (i < 2 ? row.x : row.y) : (i < 6 ? row.z : row.w);
  return i % 2 == 0 ? low_half(pair) : high_half(pair);
}

/// Writes the thread's columns to `shared`, [128 columns][16 units of 8 rows]. Units are permuted
/// by column, so that lanes write to different banks.
template <__nv_fp8_interpretation_t format = __NV_E4M3>
__device__ void turn_columns(const Tile& tile, const float (&inverse)[kVector], uint2* shared) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    float v[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) v[r] = element(tile.row[r], i) * inverse[i];
    shared[(tile.lane * kVector + i) * kGroups + (tile.group ^ tile.lane)] =
        make_uint2(to_fp8<format>(v[0], v[1], v[2], v[3]), to_fp8<format>(v[4], v[5], v[6], v[7]));
  }
}

__device__ void store_columns(const uint2* shared, std::int64_t tile_row, std::int64_t tile_column,
                              Matrix matrix, std::uint8_t* values) {
  constexpr int kUnits = kGroups / 2;  // Units of 16 rows.
  for (int at = static_cast<int>(threadIdx.x); at < kTile * kUnits; at += kThreads) {
    const int column = at / kUnits, unit = at % kUnits;
    const std::int64_t row = tile_row + unit * 16;
    if (tile_column + column >= matrix.cols || row >= matrix.rows) continue;
    const int turn = column / static_cast<int>(kVector);
    const uint2 low = shared[column * kGroups + ((2 * unit) ^ turn)];
    const uint2 high = shared[column * kGroups + ((2 * unit + 1) ^ turn)];
    *reinterpret_cast<uint4*>(values + (tile_column + column) * matrix.rows + row) =
        make_uint4(low.x, low.y, high.x, high.y);
  }
}

/// One scale for the tile, and with it both forms.
__device__ void quantize_tile(const Tile& tile, Matrix matrix, const QuantizedForms& forms,
                              std::uint32_t* shared) {
  const uint4 columns = column_maxima(tile, shared);
  const BlockScale scale = block_scale(row_maximum(columns));
  const std::int64_t row_block = tile.row_block, column_block = tile.column_block;
  const std::int64_t row_blocks = gridDim.y, column_blocks = gridDim.x;
  if (forms.along.values != nullptr) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) store_row(tile, r, scale.inverse, matrix, forms.along.values);
    if (threadIdx.x == 0) {
      forms.along.scales[row_block * ((column_blocks + 3) / 4 * 4) + column_block] = scale.scale;
    }
  }
  if (forms.across.values == nullptr) return;
  float inverse[kVector];
#pragma unroll
  for (float& each : inverse) each = scale.inverse;
  auto* units = reinterpret_cast<uint2*>(shared);
  turn_columns(tile, inverse, units);
  __syncthreads();
  store_columns(units, row_block * kTile, column_block * kTile, matrix, forms.across.values);
  if (threadIdx.x == 0) {
    forms.across.scales[column_block * ((row_blocks + 3) / 4 * 4) + row_block] = scale.scale;
  }
}

/// A scale for each row of the tile, and one for each column.
__device__ void quantize_vectors(const Tile& tile, Matrix matrix, const QuantizedForms& forms,
                                 std::uint32_t* shared) {
  const std::int64_t row_block = tile.row_block, column_block = tile.column_block;
  if (forms.along.values != nullptr) {
    const std::int64_t stride = (matrix.rows + 3) / 4 * 4;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const BlockScale scale = block_scale(row_maximum(tile.row[r]));
      store_row(tile, r, scale.inverse, matrix, forms.along.values);
      if (tile.lane == 0 && tile.first_row + r < matrix.rows) {
        forms.along.scales[column_block * stride + tile.first_row + r] = scale.scale;
      }
    }
  }
  if (forms.across.values == nullptr) return;
  const std::int64_t stride = (matrix.cols + 3) / 4 * 4;
  const uint4 most = column_maxima(tile, shared);
  const std::uint32_t pairs[kVector / 2] = {most.x, most.y, most.z, most.w};
  float inverse[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const BlockScale scale = block_scale(i % 2 == 0 ? pairs[i / 2] & 0xffffu : pairs[i / 2] >> 16);
    inverse[i] = scale.inverse;
    if (tile.group == 0 && tile.first_column + i < matrix.cols) {
      forms.across.scales[row_block * stride + tile.first_column + i] = scale.scale;
    }
  }
  auto* units = reinterpret_cast<uint2*>(shared);
  turn_columns(tile, inverse, units);
  __syncthreads();
  store_columns(units, row_block * kTile, column_block * kTile, matrix, forms.across.values);
}

/// Writes a tile of a matrix whose largest magnitude is the bf16 with bits `largest`. One thread
/// block writes the scale.
template <__nv_fp8_interpretation_t format>
__device__ void quantize_whole(const Tile& tile, Matrix matrix, std::uint32_t largest,
                               const QuantizedForms& forms, std::uint32_t* shared) {
  const BlockScale scale =
      block_scale(largest, format == __NV_E4M3 ? kE4m3Exponent : kE5m2Exponent);
  const bool states = blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0;
  if (forms.along.values != nullptr) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      store_row<format>(tile, r, scale.inverse, matrix, forms.along.values);
    }
    if (states) forms.along.scales[0] = scale.scale;
  }
  if (forms.across.values == nullptr) return;
  float inverse[kVector];
#pragma unroll
  for (float& each : inverse) each = scale.inverse;
  auto* units = reinterpret_cast<uint2*>(shared);
  turn_columns<format>(tile, inverse, units);
  __syncthreads();
  store_columns(units, tile.row_block * kTile, tile.column_block * kTile, matrix,
                forms.across.values);
  if (states) forms.across.scales[0] = scale.scale;
}

template <class Source>
__device__ Tile read_tile(const Source& source, Matrix matrix) {
  Tile tile{place_in_tile(blockIdx.y, blockIdx.x), {}};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const bool within = tile.first_row + r < matrix.rows && tile.first_column < matrix.cols;
    tile.row[r] =
        within ? source.load_eight(tile.first_row + r, tile.first_column) : make_uint4(0, 0, 0, 0);
  }
  return tile;
}

__device__ std::uint32_t largest_of(std::uint32_t most, uint4 eight) {
  return larger(most, larger(larger(eight.x, eight.y), larger(eight.z, eight.w)));
}

/// Raises `largest` to the bits of the largest magnitude, of which the thread's is one of a pair.
__device__ void raise_largest(std::uint32_t* largest, std::uint32_t pair) {
  std::uint32_t most = larger_half(pair);
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    most = max(most, __shfl_xor_sync(kAllLanes, most, distance));
  }
  if (threadIdx.x % kWarp == 0) atomicMax(largest, most);
}

/// Raises `largest` to the bits of the largest magnitude of the tile that the thread block has.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    largest_kernel(Source source, Matrix matrix, std::uint32_t* largest) {
  const Tile tile = read_tile(source, matrix);
  std::uint32_t most = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) most = largest_of(most, tile.row[r]);
  raise_largest(largest, most);
}

template <__nv_fp8_interpretation_t format, class Source>
__global__ void __launch_bounds__(kThreads)
    quantize_whole_kernel(Source source, Matrix matrix, const std::uint32_t* largest,
                          QuantizedForms forms) {
  __shared__ __align__(16) std::uint32_t shared[kTile * kTile / 4];
  quantize_whole<format>(read_tile(source, matrix), matrix, *largest, forms, shared);
}

template <Scaling scaling, class Source>
__global__ void __launch_bounds__(kThreads)
    quantize_kernel(Source source, Matrix matrix, QuantizedForms forms) {
  __shared__ __align__(16) std::uint32_t shared[kTile * kTile / 4];
  const Tile tile = read_tile(source, matrix);
  if constexpr (scaling == Scaling::tile) {
    quantize_tile(tile, matrix, forms, shared);
  } else {
    quantize_vectors(tile, matrix, forms, shared);
  }
}

/// Backward pass of an activation, of which the gradients of gate and up and the activation are
/// quantized and never stored in bf16. What waits for its turn lies in shared memory, each thread's
/// own, so that two thread blocks share a multiprocessor.
struct Waiting {
  uint4 up[kRows][kThreads], activation[kRows][kThreads];
};
constexpr int kBackwardShared = kTile * kTile + static_cast<int>(sizeof(Waiting));

/// Eight elements of one row of an activation's gradients and of the activation, in bf16.
struct Slopes {
  uint4 gate, up, activation;
};

template <class Function>
__device__ Slopes slopes_at(const GateUp& in, const std::uint16_t* d_activation, Matrix matrix,
                            std::int64_t row, std::int64_t column) {
  const uint4 none = make_uint4(0, 0, 0, 0);
  if (row >= matrix.rows) return {none, none, none};
  const std::int64_t at = row * in.stride + column;
  const Eight g = Eight::unpack(Function::kGated ? load(in.gate, at) : none);
  const Eight u = Eight::unpack(load(in.up, at));
  const Eight d = Eight::unpack(load(d_activation, row * matrix.cols + column));
  Eight d_gate, d_up, value;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const ActivationSlopes slopes = Function::slopes(g.value[i], u.value[i], d.value[i]);
    d_gate.value[i] = slopes.d_gate;
    d_up.value[i] = slopes.d_up;
    value.value[i] = slopes.value;
  }
  return {d_gate.packed(), d_up.packed(), value.packed()};
}

/// Raises `of_gradients` and `of_activation` to the bits of the largest magnitudes of an
/// activation's gradients, and of the activation.
template <class Function>
__global__ void __launch_bounds__(kThreads)
    largest_backward_kernel(GateUp in, const std::uint16_t* d_activation, Matrix matrix,
                            std::uint32_t* of_gradients, std::uint32_t* of_activation) {
  const Place place = place_in_tile(blockIdx.y, blockIdx.x);
  std::uint32_t gradients = 0, activation = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Slopes slopes =
        slopes_at<Function>(in, d_activation, matrix, place.first_row + r, place.first_column);
    gradients = largest_of(largest_of(gradients, slopes.gate), slopes.up);
    activation = largest_of(activation, slopes.activation);
  }
  raise_largest(of_gradients, gradients);
  raise_largest(of_activation, activation);
}

/// The largest magnitudes of an activation's gradients and of the activation, where one scale is of
/// each; null for block scales.
struct LargestSlopes {
  const std::uint32_t *gradients = nullptr, *activation = nullptr;
};

template <class Function, bool whole>
__global__ void __launch_bounds__(kThreads, 2)
    quantize_backward_kernel(GateUp in, const std::uint16_t* d_activation, Matrix matrix,
                             QuantizedForms gradients, Quantized activation,
                             LargestSlopes largest) {
  extern __shared__ __align__(16) std::byte memory[];
  auto* shared = reinterpret_cast<std::uint32_t*>(memory);
  auto& waiting = *reinterpret_cast<Waiting*>(memory + kTile * kTile);
  const unsigned self = threadIdx.x;
  Tile tile{place_in_tile(blockIdx.y, blockIdx.x), {}};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Slopes slopes =
        slopes_at<Function>(in, d_activation, matrix, tile.first_row + r, tile.first_column);
    tile.row[r] = slopes.gate;
    waiting.up[r][self] = slopes.up;
    waiting.activation[r][self] = slopes.activation;
  }
  const Matrix both{matrix.rows, (Function::kGated ? 2 : 1) * matrix.cols};
  const auto of_gradients = [&](const Tile& part) {
    if constexpr (whole) {
      quantize_whole<__NV_E5M2>(part, both, *largest.gradients, gradients, shared);
    } else {
      quantize_vectors(part, both, gradients, shared);
    }
  };
  if constexpr (Function::kGated) {
    of_gradients(tile);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) tile.row[r] = waiting.up[r][self];
  Tile up = tile;
  if constexpr (Function::kGated) {
    up.column_block += matrix.cols / kTile;
    up.first_column += matrix.cols;
  }
  of_gradients(up);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRows; ++r) tile.row[r] = waiting.activation[r][self];
  if constexpr (whole) {
    quantize_whole<__NV_E4M3>(tile, matrix, *largest.activation, {.across = activation}, shared);
  } else {
    quantize_vectors(tile, matrix, {.across = activation}, shared);
  }
}

void check_forms(Matrix matrix, std::int64_t stride, const QuantizedForms& forms) {
  check(matrix.rows > 0 && matrix.cols > 0, "a quantized matrix has elements");
  check(matrix.cols % kVector == 0 && stride % kVector == 0 && stride >= matrix.cols,
        "columns and row stride of a quantized matrix are multiples of 8");
  check(forms.across.values == nullptr || matrix.rows % 16 == 0,
        "a transposed quantized matrix has rows of 16 elements");
  check(aligned(forms.along.values, forms.along.scales, forms.across.values, forms.across.scales),
        "a quantized matrix is 16-byte aligned");
}

/// Whether the forms that are wanted have one scale.
bool tensorwise(const QuantizedForms& forms) {
  const bool along = forms.along.values != nullptr, across = forms.across.values != nullptr;
  check(!along || !across || forms.along.tensorwise == forms.across.tensorwise,
        "both forms of a quantized matrix have as many scales");
  return along ? forms.along.tensorwise : forms.across.tensorwise;
}

template <class Source>
void launch_whole(CUstream_st* stream, const Source& source, Matrix matrix, dim3 blocks,
                  const QuantizedForms& forms, Fp8Format format) {
  float* const scales = forms.along.values != nullptr ? forms.along.scales : forms.across.scales;
  auto* const largest = reinterpret_cast<std::uint32_t*>(scales + 1);
  cudaMemsetAsync(largest, 0, sizeof *largest, stream);
  largest_kernel<<<blocks, kThreads, 0, stream>>>(source, matrix, largest);
  const auto kernel = format == Fp8Format::e4m3 ? quantize_whole_kernel<__NV_E4M3, Source>
                                                : quantize_whole_kernel<__NV_E5M2, Source>;
  kernel<<<blocks, kThreads, 0, stream>>>(source, matrix, largest, forms);
  check_launch("quantize");
}

template <Scaling scaling, class Source>
void launch(CUstream_st* stream, const Source& source, Matrix matrix, const QuantizedForms& forms,
            Fp8Format format = Fp8Format::e4m3) {
  const dim3 blocks(static_cast<unsigned>(ceil_div(matrix.cols, kTile)),
                    static_cast<unsigned>(ceil_div(matrix.rows, kTile)));
  check(blocks.y < 65536, "a quantized matrix has fewer than 8 million rows");
  if (tensorwise(forms)) return launch_whole(stream, source, matrix, blocks, forms, format);
  check(format == Fp8Format::e4m3, "block-scaled numbers are E4M3");
  quantize_kernel<scaling><<<blocks, kThreads, 0, stream>>>(source, matrix, forms);
  check_launch("quantize");
}

}  // namespace

void quantize(CUstream_st* stream, const std::uint16_t* x, std::int64_t rows, std::int64_t cols,
              std::int64_t stride, const QuantizedForms& forms, Fp8Format format) {
  check_forms({rows, cols}, stride, forms);
  check(aligned(x), "a matrix to quantize is 16-byte aligned");
  launch<Scaling::vectors>(stream, Stored{x, stride}, {rows, cols}, forms, format);
}

void quantize_weight(CUstream_st* stream, const std::uint16_t* weight, std::int64_t rows,
                     std::int64_t cols, const QuantizedForms& forms) {
  check_forms({rows, cols}, cols, forms);
  check(aligned(weight), "a matrix to quantize is 16-byte aligned");
  launch<Scaling::tile>(stream, Stored{weight, cols}, {rows, cols}, forms);
}

void quantize_activation(CUstream_st* stream, planner::Activation function,
                         const std::uint16_t* gate_up, std::int64_t rows, std::int64_t width,
                         std::int64_t stride, const QuantizedForms& forms) {
  check_forms({rows, width}, stride, forms);
  check(aligned(gate_up), "gate and up are 16-byte aligned");
  with_activation(function, [&](auto chosen) {
    using Function = decltype(chosen);
    launch<Scaling::vectors>(stream, Activated<Function>{gate_up, width, stride}, {rows, width},
                             forms);
  });
}

void quantize_activation_backward(CUstream_st* stream, planner::Activation function,
                                  const GateUp& in, const std::uint16_t* d_activation,
                                  std::int64_t rows, std::int64_t width,
                                  const QuantizedForms& gradients, const Quantized& activation) {
  check_forms({rows, width}, in.stride, gradients);
  check(rows % 16 == 0 && width % kTile == 0,
        "quantized gradients of an activation have rows of 16 and columns of 128 elements");
  check(aligned(in.gate, in.up, d_activation, activation.values, activation.scales),
        "an activation and its gradient are 16-byte aligned");
  const dim3 blocks(static_cast<unsigned>(width / kTile),
                    static_cast<unsigned>(ceil_div(rows, kTile)));
  check(blocks.y < 65536, "a quantized matrix has fewer than 8 million rows");
  const bool whole = tensorwise(gradients);
  check(activation.tensorwise == whole && (!whole || gradients.along.values != nullptr),
        "an activation and its gradients have as many scales");
  with_activation(function, [&](auto chosen) {
    using Function = decltype(chosen);
    LargestSlopes largest;
    if (whole) {
      auto* const of_gradients = reinterpret_cast<std::uint32_t*>(gradients.along.scales + 1);
      auto* const of_activation = reinterpret_cast<std::uint32_t*>(activation.scales + 1);
      cudaMemsetAsync(of_gradients, 0, sizeof *of_gradients, stream);
      cudaMemsetAsync(of_activation, 0, sizeof *of_activation, stream);
      largest_backward_kernel<Function><<<blocks, kThreads, 0, stream>>>(
          in, d_activation, {rows, width}, of_gradients, of_activation);
      largest = {of_gradients, of_activation};
    }
    const auto kernel = whole ? quantize_backward_kernel<Function, true>
                              : quantize_backward_kernel<Function, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBackwardShared);
    kernel<<<blocks, kThreads, kBackwardShared, stream>>>(in, d_activation, {rows, width},
                                                          gradients, activation, largest);
  });
  check_launch("quantize_activation_backward");
}

}  // namespace sluice::engine::cuda
