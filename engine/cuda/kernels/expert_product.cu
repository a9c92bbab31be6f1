#include "engine/cuda/kernels/expert_product.hpp"
#include "engine/cuda/kernels/product_tile.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

struct RowProduct {
  IndexedRows x;
  RowGroups groups;
  GroupMatrices<const std::uint16_t> weights;
  std::int64_t terms, columns;
  GroupBiases biases{};
};

/// Tiles of rows and of columns that a block computes.
struct TilePlace {
  std::int64_t rows, columns;
};

/// The tiles of a block of a grid [tiles of rows, tiles of columns]. Blocks that run at one time
/// take all tiles of columns of a few tiles of rows, so that both operands stay in the cache.
__device__ TilePlace place_of_block() {
  constexpr unsigned kRowTiles = 8;
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  const unsigned first = block / (kRowTiles * gridDim.y) * kRowTiles;
  const unsigned height = min(kRowTiles, gridDim.x - first);
  const unsigned rest = block - first * gridDim.y;
  return {first + rest % height, rest / height};
}

/// A block computes one tile of rows and columns. `L` is the layout of W_g.
template <Layout L, class Out>
__global__ void __launch_bounds__(kProductThreads) rows_by_matrix(RowProduct product, Out* y) {
  const TilePlace place = place_of_block();
  std::int64_t group = 0;
  std::int64_t row = place.rows * kTile;
  std::int64_t end = product.groups.rows;
  if (product.groups.tiles != nullptr) {
    group = product.groups.tiles[2 * place.rows];
    if (group < 0) return;
    row = product.groups.tiles[2 * place.rows + 1];
    end = product.groups.begin[group + 1];
  }
  const std::int64_t column = place.columns * kTile;
  const std::uint16_t* matrix = product.weights.data + group * product.weights.stride;
  const bool in_row = L == Layout::terms_in_row;
  const OperandTile a{product.x.data,
                      product.x.index,
                      product.x.stride,
                      row,
                      0,
                      min(std::int64_t{kTile}, end - row),
                      product.terms};
  const OperandTile b{matrix,
                      nullptr,
                      in_row ? product.terms : product.columns,
                      in_row ? column : 0,
                      in_row ? 0 : column,
                      min(std::int64_t{kTile}, product.columns - column),
                      product.terms};
  ResultTile<Out> out{y + row * product.columns + column, product.columns, Into::overwrite};
  if (product.biases.data != nullptr) {
    out.bias = product.biases.data + group * product.biases.stride + column;
    if (product.biases.factor != nullptr) out.factor = product.biases.factor + row;
  }
  product_tile<Layout::terms_in_row, L>(a, b, out);
}

struct OuterProduct {
  IndexedRows d_y, x;
  RowGroups groups;
  GroupMatrices<float> gradients;
  std::int64_t in, out;
  Into into;
};

/// Block (x, y, z) computes tile x of out and tile y of in for group z.
__global__ void __launch_bounds__(kProductThreads) sum_of_outer(OuterProduct product) {
  const std::int64_t group = blockIdx.z;
  std::int64_t begin = 0, end = product.groups.rows;
  if (product.groups.begin != nullptr) {
    begin = product.groups.begin[group];
    end = product.groups.begin[group + 1];
  }
  if (begin == end && product.into == Into::accumulate) return;
  const std::int64_t out = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t in = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const OperandTile a{product.d_y.data,
                      product.d_y.index,
                      product.d_y.stride,
                      begin,
                      out,
                      min(std::int64_t{kTile}, product.out - out),
                      end - begin};
  const OperandTile b{product.x.data,
                      product.x.index,
                      product.x.stride,
                      begin,
                      in,
                      min(std::int64_t{kTile}, product.in - in),
                      end - begin};
  float* gradient = product.gradients.data + group * product.gradients.stride;
  product_tile<Layout::terms_in_column, Layout::terms_in_column>(
      a, b, ResultTile<float>{gradient + out * product.in + in, product.in, product.into});
}

/// Checks sizes. `row`: number of elements from one row of y, or of its gradient, to the next.
void check_sizes(const RowGroups& groups, std::int64_t in, std::int64_t out, std::int64_t row) {
  check(groups.rows > 0 && groups.groups > 0 && groups.groups <= 65535 && in > 0 && out > 0 &&
            in % kVector == 0 && row % kVector == 0 && row >= out,
        "experts' rows have sizes that are multiples of 8");
  check((groups.begin == nullptr) == (groups.groups == 1 && groups.tiles == nullptr),
        "one group needs no table, several do");
}

template <Layout L, class Out>
void launch_rows(CUstream_st* stream, const RowProduct& product, Out* y) {
  const RowGroups& groups = product.groups;
  check(aligned(product.x.data, product.weights.data, y) && product.x.stride % kVector == 0 &&
            product.weights.stride % kVector == 0,
        "rows and matrices are 16-byte aligned");
  const std::int64_t tiles = groups.tiles == nullptr
                                 ? ceil_div(groups.rows, kTile)
                                 : planner::route_tiles(groups.rows, groups.groups);
  const dim3 grid(static_cast<unsigned>(tiles),
                  static_cast<unsigned>(ceil_div(product.columns, kTile)));
  rows_by_matrix<L><<<grid, kProductThreads, 0, stream>>>(product, y);
  check_launch("rows_by_matrix");
}

}  // namespace

void multiply_rows(CUstream_st* stream, const IndexedRows& x, const RowGroups& groups,
                   const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                   std::int64_t out, std::uint16_t* y, const GroupBiases& biases) {
  check_sizes(groups, in, out, out);
  launch_rows<Layout::terms_in_row>(stream, {x, groups, weights, in, out, biases}, y);
}

void multiply_rows(CUstream_st* stream, const IndexedRows& x, const RowGroups& groups,
                   const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                   std::int64_t out, float* y, const GroupBiases& biases) {
  check_sizes(groups, in, out, planner::router_row(out));
  launch_rows<Layout::terms_in_row>(stream, {x, groups, weights, in, out, biases}, y);
}

void multiply_rows_transposed(CUstream_st* stream, const IndexedRows& d_y, const RowGroups& groups,
                              const GroupMatrices<const std::uint16_t>& weights, std::int64_t in,
                              std::int64_t out, std::uint16_t* d_x) {
  check_sizes(groups, in, out, d_y.stride);
  launch_rows<Layout::terms_in_column>(stream, {d_y, groups, weights, out, in}, d_x);
}

void accumulate_rows(CUstream_st* stream, const IndexedRows& d_y, const IndexedRows& x,
                     const RowGroups& groups, const GroupMatrices<float>& gradients,
                     std::int64_t in, std::int64_t out, Into into) {
  check_sizes(groups, in, out, d_y.stride);
  check(aligned(d_y.data, x.data, gradients.data) && x.stride % kVector == 0 &&
            gradients.stride % 4 == 0,
        "rows and gradients are 16-byte aligned");
  const dim3 grid(static_cast<unsigned>(ceil_div(out, kTile)),
                  static_cast<unsigned>(ceil_div(in, kTile)), static_cast<unsigned>(groups.groups));
  sum_of_outer<<<grid, kProductThreads, 0, stream>>>({d_y, x, groups, gradients, in, out, into});
  check_launch("sum_of_outer");
}

}  // namespace sluice::engine::cuda
