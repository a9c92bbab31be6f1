#include "engine/cuda/kernels/latent_heads.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

using planner::LatentColumns;
using planner::LatentElement;
using planner::LatentSource;
using planner::LatentTurn;

constexpr int kThreads = 256;

/// Sizes of a LatentHeads as kernels use them.
struct Sizes {
  LatentColumns columns;
  std::int64_t first;
  int seq_len;
  const std::int32_t* starts;

  /// Index in the tables of the first angle of a token.
  [[nodiscard]] __device__ std::int64_t angles(std::int64_t token) const {
    const auto at = static_cast<int>((first + token) % seq_len);
    const int position = starts == nullptr ? at : at - starts[token];
    return static_cast<std::int64_t>(position) * (columns.rotated / 2);
  }
};

/// Turns eight elements against their partners, by angles from the index `angle` of the tables on.
/// `sign`: -1 turns back.
__device__ Eight turned(const Eight& own, const Eight& partner, LatentTurn turn,
                        const RopeTables& tables, std::int64_t angle, float sign) {
  const float side = turn == LatentTurn::first ? -sign : sign;
  Eight out;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const float cos = tables.cos[angle + i], sin = side * tables.sin[angle + i];
    out.value[i] = own.value[i] * cos + partner.value[i] * sin;
  }
  return out;
}

/// Elements from an element to its partner.
__device__ int to_partner(const LatentColumns& columns, LatentTurn turn) {
  const int half = columns.rotated / 2;
  return turn == LatentTurn::first ? half : -half;
}

/// One block per token. Eight neighbouring columns are alike, as all widths are multiples of eight.
__global__ void __launch_bounds__(kThreads)
    put_together(Sizes sizes, RopeTables tables, LatentProjections from, std::uint16_t* rows) {
  const LatentColumns& columns = sizes.columns;
  const std::int64_t token = blockIdx.x, angles = sizes.angles(token);
  const std::uint16_t* query = from.query + token * columns.query_row();
  const std::uint16_t* shared = from.shared_key + token * columns.rotated;
  const std::uint16_t* key_value = from.key_value + token * columns.key_value_row();
  for (int column = static_cast<int>(threadIdx.x) * kVector; column < columns.row();
       column += kThreads * kVector) {
    const LatentElement element = columns.at(column);
    uint4 packed = make_uint4(0, 0, 0, 0);
    if (element.source != LatentSource::nothing) {
      const std::uint16_t* source = element.source == LatentSource::query        ? query
                                    : element.source == LatentSource::shared_key ? shared
                                                                                 : key_value;
      packed = load(source, element.column);
      if (element.turn != LatentTurn::none) {
        const Eight partner =
            Eight::unpack(load(source, element.column + to_partner(columns, element.turn)));
        packed = turned(Eight::unpack(packed), partner, element.turn, tables, angles + element.pair,
                        1.0f)
                     .packed();
      }
    }
    store(rows, token * columns.row() + column, packed);
  }
}

/// Gradients of the shared key from the column `column` on, summed over heads.
__device__ Eight sum_over_heads(const LatentColumns& columns, const std::uint16_t* d, int column) {
  Eight sum{};
#pragma unroll 4
  for (int head = 0; head < columns.heads; ++head) {
    const Eight one = Eight::unpack(load(d, columns.of_shared_key(column, head)));
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum.value[i] += one.value[i];
  }
  return sum;
}

/// One block per token.
__global__ void __launch_bounds__(kThreads)
    take_apart(Sizes sizes, RopeTables tables, const std::uint16_t* d_rows, LatentGradients to) {
  const LatentColumns& columns = sizes.columns;
  const std::int64_t token = blockIdx.x, angles = sizes.angles(token);
  const std::uint16_t* d = d_rows + token * columns.row();
  const int first = static_cast<int>(threadIdx.x) * kVector;
  // The longest sums begin first.
  for (int column = first; column < columns.rotated; column += kThreads * kVector) {
    const LatentElement element = columns.at(columns.of_shared_key(column, 0));
    const Eight own = sum_over_heads(columns, d, column);
    const Eight partner = sum_over_heads(columns, d, column + to_partner(columns, element.turn));
    store(to.shared_key, token * columns.rotated + column,
          turned(own, partner, element.turn, tables, angles + element.pair, -1.0f).packed());
  }
  for (int column = first; column < columns.query_row(); column += kThreads * kVector) {
    const LatentElement element = columns.at(column);
    uint4 packed = load(d, column);
    if (element.turn != LatentTurn::none) {
      const Eight partner = Eight::unpack(load(d, column + to_partner(columns, element.turn)));
      packed =
          turned(Eight::unpack(packed), partner, element.turn, tables, angles + element.pair, -1.0f)
              .packed();
    }
    store(to.query, token * columns.query_row() + column, packed);
  }
  for (int column = first; column < columns.key_value_row(); column += kThreads * kVector) {
    store(to.key_value, token * columns.key_value_row() + column,
          load(d, columns.of_key_value(column)));
  }
}

/// One thread for eight elements of a head of the result.
__global__ void __launch_bounds__(kThreads)
    copy_heads(const std::uint16_t* from, std::int64_t vectors, int width, int to_width,
               std::uint16_t* to) {
  const std::int64_t v = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= vectors) return;
  const std::int64_t head = v * kVector / to_width;
  const auto at = static_cast<int>(v * kVector % to_width);
  const uint4 packed = at < width ? load(from, head * width + at) : make_uint4(0, 0, 0, 0);
  store(to, v * kVector, packed);
}

Sizes sizes_of(const LatentHeads& shape) {
  const LatentColumns& columns = shape.columns;
  check(shape.tokens > 0 && shape.tokens <= INT32_MAX && shape.seq_len > 0, "there are tokens");
  check(columns.heads > 0 && columns.rotated > 0 && columns.rotated % (2 * kVector) == 0 &&
            columns.plain > 0 && columns.plain % kVector == 0,
        "16 elements of a head turn together, and 8 do not");
  check(columns.value > 0 && columns.value % kVector == 0 && columns.value <= columns.head(),
        "heads of values are no wider than those of keys, in steps of 8 elements");
  return {columns, shape.first, static_cast<int>(shape.seq_len), shape.starts};
}

}  // namespace

void latent_heads(CUstream_st* stream, const LatentHeads& shape, const RopeTables& tables,
                  const LatentProjections& from, std::uint16_t* rows) {
  check(aligned(from.query, from.shared_key, from.key_value, rows), "rows are 16-byte aligned");
  put_together<<<static_cast<unsigned>(shape.tokens), kThreads, 0, stream>>>(sizes_of(shape),
                                                                             tables, from, rows);
  check_launch("latent_heads");
}

void latent_heads_backward(CUstream_st* stream, const LatentHeads& shape, const RopeTables& tables,
                           const std::uint16_t* d_rows, const LatentGradients& to) {
  check(aligned(d_rows, to.query, to.shared_key, to.key_value), "rows are 16-byte aligned");
  take_apart<<<static_cast<unsigned>(shape.tokens), kThreads, 0, stream>>>(sizes_of(shape), tables,
                                                                           d_rows, to);
  check_launch("latent_heads_backward");
}

void resize_heads(CUstream_st* stream, const std::uint16_t* from, std::int64_t heads,
                  std::int64_t width, std::int64_t to_width, std::uint16_t* to) {
  check(heads > 0 && width > 0 && to_width > 0 && width % kVector == 0 && to_width % kVector == 0,
        "heads have multiples of 8 elements");
  check(aligned(from, to), "heads are 16-byte aligned");
  const std::int64_t vectors = heads * to_width / kVector;
  copy_heads<<<static_cast<unsigned>(ceil_div(vectors, kThreads)), kThreads, 0, stream>>>(
      from, vectors, static_cast<int>(width), static_cast<int>(to_width), to);
  check_launch("resize_heads");
}

}  // namespace sluice::engine::cuda
