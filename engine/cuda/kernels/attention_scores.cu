#include "engine/cuda/kernels/attention_scores.hpp"
#include "engine/cuda/kernels/product_tile.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr auto kInRow = Layout::terms_in_row;
constexpr auto kInColumn = Layout::terms_in_column;

/// First element of head `head` of the token at `position` of sequence `sequence`.
__device__ std::int64_t at(const ScoreBlock& block, std::int64_t stride, std::int64_t sequence,
                           std::int64_t head, std::int64_t position) {
  return (sequence * block.length + position) * stride + head * block.head_dim;
}

/// First key of the block that a query at `position` may see by the window.
__device__ std::int64_t first_in_window(const ScoreBlock& block, std::int64_t position) {
  if (block.window == 0) return 0;
  return max(std::int64_t{0}, position + 1 - block.window - block.first_key);
}

/// Block (x, y, z) computes tile x of queries against tile y of keys of head z.
__global__ void __launch_bounds__(kProductThreads)
    pair_tile(ScoreBlock block, HeadRows queries, HeadRows keys, float* products) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t rows = min(std::int64_t{kTile}, block.queries - row);
  const std::int64_t position = block.first_query + row;
  if (block.first_key + column > position + rows - 1) return;
  if (column + kTile <= first_in_window(block, position)) return;
  const std::int64_t sequence = blockIdx.z / block.heads, head = blockIdx.z % block.heads;
  const std::int64_t kv_head = head / (block.heads / block.kv_heads);
  const OperandTile a{queries.data + at(block, queries.stride, sequence, head, position),
                      nullptr,
                      queries.stride,
                      0,
                      0,
                      rows,
                      block.head_dim};
  const OperandTile b{
      keys.data + at(block, keys.stride, sequence, kv_head, block.first_key + column),
      nullptr,
      keys.stride,
      0,
      0,
      min(std::int64_t{kTile}, block.keys - column),
      block.head_dim};
  float* out = products + (blockIdx.z * block.queries + row) * block.score_row + column;
  product_tile<kInRow, kInRow>(a, b, ResultTile<float>{out, block.score_row, Into::overwrite});
}

/// Block (x, y, z) computes tile x of queries and tile y of a head's elements of head z.
__global__ void __launch_bounds__(kProductThreads)
    weigh_tile(ScoreBlock block, const std::uint16_t* weights, HeadRows values, std::uint16_t* out,
               std::int64_t out_stride) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t rows = min(std::int64_t{kTile}, block.queries - row);
  const std::int64_t position = block.first_query + row;
  const std::int64_t sequence = blockIdx.z / block.heads, head = blockIdx.z % block.heads;
  const std::int64_t kv_head = head / (block.heads / block.kv_heads);
  const std::int64_t first = first_in_window(block, position) / kTile * kTile;
  const std::int64_t terms = position + rows - block.first_key - first;
  const std::int64_t scores = (blockIdx.z * block.queries + row) * block.score_row + first;
  const OperandTile a{weights + scores, nullptr, block.score_row, 0, 0, rows, terms};
  const OperandTile b{
      values.data + at(block, values.stride, sequence, kv_head, block.first_key + first),
      nullptr,
      values.stride,
      0,
      column,
      min(std::int64_t{kTile}, block.head_dim - column),
      terms};
  std::uint16_t* to = out + at(block, out_stride, sequence, head, position) + column;
  product_tile<kInRow, kInColumn>(a, b, ResultTile<std::uint16_t>{to, out_stride, Into::overwrite});
}

/// Block (x, y, z) computes tile x of keys and tile y of a head's elements of key head z.
__global__ void __launch_bounds__(kProductThreads)
    key_tile(ScoreBlock block, std::int64_t member, const std::uint16_t* weights, HeadRows rows,
             float* sums) {
  const std::int64_t key = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t keys = min(std::int64_t{kTile}, block.keys - key);
  const std::int64_t sequence = blockIdx.z / block.kv_heads, kv_head = blockIdx.z % block.kv_heads;
  const std::int64_t head = kv_head * (block.heads / block.kv_heads) + member;
  const std::int64_t position = block.first_key + key;
  const std::int64_t first = max(std::int64_t{0}, position - block.first_query) / kDepth * kDepth;
  std::int64_t end = block.queries;
  if (block.window > 0) end = min(end, position + keys - 1 + block.window - block.first_query);
  if (end <= first) return;
  const std::int64_t z = sequence * block.heads + head;
  const OperandTile a{weights + (z * block.queries + first) * block.score_row,
                      nullptr,
                      block.score_row,
                      0,
                      key,
                      keys,
                      end - first};
  const OperandTile b{rows.data + at(block, rows.stride, sequence, head, block.first_query + first),
                      nullptr,
                      rows.stride,
                      0,
                      column,
                      min(std::int64_t{kTile}, block.head_dim - column),
                      end - first};
  float* out = sums + (blockIdx.z * block.length + position) * block.head_dim + column;
  product_tile<kInColumn, kInColumn>(a, b,
                                     ResultTile<float>{out, block.head_dim, Into::accumulate});
}

constexpr int kRowThreads = 256;

/// One row of scores: a query of a head.
struct ScoreRow {
  std::int64_t row;        ///< Index of the row in arrays of scores.
  std::int64_t low, high;  ///< Visible keys [low, high), counted from the block's first.
  std::int64_t lse;        ///< Index in arrays of log-sum-exp.
};

__device__ ScoreRow row_of(const ScoreBlock& block) {
  const std::int64_t query = blockIdx.x, z = blockIdx.y;
  const std::int64_t sequence = z / block.heads, head = z % block.heads;
  const std::int64_t position = block.first_query + query;
  std::int64_t low = first_in_window(block, position);
  if (block.starts != nullptr) {
    const std::int64_t start = block.starts[sequence * block.length + position];
    low = max(low, start - block.first_key);
  }
  return {z * block.queries + query, low, position + 1 - block.first_key,
          (sequence * block.lse_heads + head) * block.length + position};
}

__device__ float score_of(const ScoreBlock& block, float product) {
  const float scaled = block.scale * product;
  return block.softcap == 0 ? scaled : block.softcap * tanhf(scaled / block.softcap);
}

__device__ std::uint16_t bf16_bits(float value) {
  const __nv_bfloat16 rounded_value = __float2bfloat16_rn(value);
  return *reinterpret_cast<const std::uint16_t*>(&rounded_value);
}

__device__ float block_max(float value, float* scratch) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = value;
  __syncthreads();
  for (int warp = 0; warp < kRowThreads / kWarp; ++warp) value = fmaxf(value, scratch[warp]);
  return value;
}

__global__ void __launch_bounds__(kRowThreads)
    softmax_row(ScoreBlock block, const float* products, std::uint16_t* weights, float* lse) {
  __shared__ float tops[kWarp], totals[kWarp];
  const ScoreRow row = row_of(block);
  const float* in = products + row.row * block.score_row;
  const int thread = static_cast<int>(threadIdx.x);
  float top = -INFINITY;
  for (std::int64_t i = row.low + thread; i < row.high; i += kRowThreads) {
    top = fmaxf(top, score_of(block, in[i]));
  }
  top = block_max(top, tops);
  float total = 0;
  for (std::int64_t i = row.low + thread; i < row.high; i += kRowThreads) {
    total += expf(score_of(block, in[i]) - top);
  }
  total = block_sum(total, totals);
  std::uint16_t* out = weights + row.row * block.score_row;
  for (std::int64_t i = thread; i < block.score_row; i += kRowThreads) {
    const bool visible = i >= row.low && i < row.high;
    out[i] = visible ? bf16_bits(expf(score_of(block, in[i]) - top) / total) : 0;
  }
  if (thread == 0) lse[row.lse] = top + logf(total);
}

__global__ void __launch_bounds__(kRowThreads)
    softmax_row_backward(ScoreBlock block, const float* products, const float* d_weights,
                         const float* lse, HeadRows out, HeadRows d_out, std::uint16_t* weights,
                         std::uint16_t* d_products) {
  __shared__ float sums[kWarp];
  const ScoreRow row = row_of(block);
  const std::int64_t z = blockIdx.y;
  const std::int64_t sequence = z / block.heads, head = z % block.heads;
  const std::int64_t position = block.first_query + blockIdx.x;
  const std::uint16_t* result = out.data + at(block, out.stride, sequence, head, position);
  const std::uint16_t* d_result = d_out.data + at(block, d_out.stride, sequence, head, position);
  const int thread = static_cast<int>(threadIdx.x);
  float dot = 0;
  for (std::int64_t i = thread; i < block.head_dim; i += kRowThreads) {
    dot = fmaf(low_half(result[i]), low_half(d_result[i]), dot);
  }
  dot = block_sum(dot, sums);
  const std::int64_t base = row.row * block.score_row;
  const float log_sum = lse[row.lse];
  for (std::int64_t i = thread; i < block.score_row; i += kRowThreads) {
    const bool visible = i >= row.low && i < row.high;
    float weight = 0, d = 0;
    if (visible) {
      const float score = score_of(block, products[base + i]);
      weight = expf(score - log_sum);
      d = weight * (d_weights[base + i] - dot) * block.scale;
      if (block.softcap != 0) {
        const float t = score / block.softcap;
        d *= 1.0f - t * t;
      }
    }
    weights[base + i] = bf16_bits(weight);
    d_products[base + i] = bf16_bits(d);
  }
}

/// Eight elements of a key's row for each thread.
__global__ void __launch_bounds__(kRowThreads)
    round_rows(ScoreBlock block, const float* sums, std::uint16_t* rows, std::int64_t stride) {
  const std::int64_t vectors = block.head_dim / kVector;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (index >= block.sequences * block.kv_heads * block.length * vectors) return;
  const std::int64_t row = index / vectors, column = index % vectors * kVector;
  const std::int64_t position = row % block.length, z = row / block.length;
  Eight values;
#pragma unroll
  for (int i = 0; i < kVector; ++i) values.value[i] = sums[row * block.head_dim + column + i];
  store(rows, at(block, stride, z / block.kv_heads, z % block.kv_heads, position) + column,
        values.packed());
}

unsigned tiles(std::int64_t count) { return static_cast<unsigned>(ceil_div(count, kTile)); }

void check_block(const ScoreBlock& block) {
  check(block.sequences > 0 && block.kv_heads > 0 && block.heads % block.kv_heads == 0 &&
            block.sequences * block.heads <= UINT16_MAX && block.queries > 0 &&
            block.queries <= INT32_MAX && block.score_row <= INT32_MAX,
        "a run has groups of heads");
  check(block.first_key + block.keys == block.first_query + block.queries &&
            block.first_query + block.queries <= block.length && block.score_row >= block.keys &&
            block.score_row % kTile == 0,
        "a block's keys end where its queries do");
  check(block.head_dim > 0 && block.head_dim % kVector == 0, "a head has a multiple of 8 elements");
}

dim3 grid_of(std::int64_t x, std::int64_t y, std::int64_t z) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

}  // namespace

void multiply_pairs(CUstream_st* stream, const ScoreBlock& block, const HeadRows& queries,
                    const HeadRows& keys, float* products) {
  check_block(block);
  check(aligned(queries.data, keys.data, products) && queries.stride % kVector == 0 &&
            keys.stride % kVector == 0,
        "rows of heads are 16-byte aligned");
  pair_tile<<<grid_of(tiles(block.queries), tiles(block.keys), block.sequences * block.heads),
              kProductThreads, 0, stream>>>(block, queries, keys, products);
  check_launch("multiply_pairs");
}

void softmax_rows(CUstream_st* stream, const ScoreBlock& block, const float* products,
                  std::uint16_t* weights, float* lse) {
  check_block(block);
  softmax_row<<<grid_of(block.queries, block.sequences * block.heads, 1), kRowThreads, 0, stream>>>(
      block, products, weights, lse);
  check_launch("softmax_rows");
}

void weigh_keys(CUstream_st* stream, const ScoreBlock& block, const std::uint16_t* weights,
                const HeadRows& values, std::uint16_t* out, std::int64_t out_stride) {
  check_block(block);
  check(aligned(weights, values.data, out) && values.stride % kVector == 0 &&
            out_stride % kVector == 0,
        "rows of heads are 16-byte aligned");
  weigh_tile<<<grid_of(tiles(block.queries), tiles(block.head_dim), block.sequences * block.heads),
               kProductThreads, 0, stream>>>(block, weights, values, out, out_stride);
  check_launch("weigh_keys");
}

void softmax_rows_backward(CUstream_st* stream, const ScoreBlock& block, const float* products,
                           const float* d_weights, const float* lse, const HeadRows& out,
                           const HeadRows& d_out, std::uint16_t* weights,
                           std::uint16_t* d_products) {
  check_block(block);
  softmax_row_backward<<<grid_of(block.queries, block.sequences * block.heads, 1), kRowThreads, 0,
                         stream>>>(block, products, d_weights, lse, out, d_out, weights,
                                   d_products);
  check_launch("softmax_rows_backward");
}

void add_over_queries(CUstream_st* stream, const ScoreBlock& block, std::int64_t member,
                      const std::uint16_t* weights, const HeadRows& rows, float* sums) {
  check_block(block);
  check(aligned(weights, rows.data, sums) && rows.stride % kVector == 0,
        "rows of heads are 16-byte aligned");
  key_tile<<<grid_of(tiles(block.keys), tiles(block.head_dim), block.sequences * block.kv_heads),
             kProductThreads, 0, stream>>>(block, member, weights, rows, sums);
  check_launch("add_over_queries");
}

void round_keys(CUstream_st* stream, const ScoreBlock& block, const float* sums,
                std::uint16_t* rows, std::int64_t stride) {
  check_block(block);
  check(aligned(rows) && stride % kVector == 0, "rows of heads are 16-byte aligned");
  const std::int64_t threads =
      block.sequences * block.kv_heads * block.length * (block.head_dim / kVector);
  round_rows<<<static_cast<unsigned>(ceil_div(threads, kRowThreads)), kRowThreads, 0, stream>>>(
      block, sums, rows, stride);
  check_launch("round_keys");
}

}  // namespace sluice::engine::cuda
