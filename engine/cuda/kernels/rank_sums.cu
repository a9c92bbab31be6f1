#include <algorithm>
#include <array>

#include "engine/cuda/kernels/rank_sums.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kQuads = 4;  ///< Number of 16-byte vectors that a thread adds.

__device__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/// The largest power of two below a length of at least two (planner/models/group_tree.hpp).
constexpr int left_of(int length) {
  int left = 1;
  while (2 * left < length) left *= 2;
  return left;
}

/// T(Low, High) of one vector of each rank.
template <int Low, int High, int Ranks>
__device__ float4 tree(const float4 (&of_rank)[Ranks]) {
  if constexpr (High - Low == 1) {
    return of_rank[Low];
  } else {
    constexpr int kMiddle = Low + left_of(High - Low);
    return tree<Low, kMiddle>(of_rank) + tree<kMiddle, High>(of_rank);
  }
}

template <int Ranks>
struct Operands {
  const float4* of_rank[Ranks];
};

template <int Ranks>
__global__ void __launch_bounds__(kThreads)
    add_ranks(Operands<Ranks> operands, std::int64_t vectors, float4* sum) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads * kQuads) + threadIdx.x;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const std::int64_t at = first + q * kThreads;
    if (at >= vectors) return;
    float4 of_rank[Ranks];
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) of_rank[rank] = __ldcs(operands.of_rank[rank] + at);
    sum[at] = tree<0, Ranks>(of_rank);
  }
}

template <int Ranks>
void launch_add(CUstream_st* stream, const float* own, const float* received, int rank,
                std::int64_t elements, float* sum) {
  Operands<Ranks> operands{};
  for (int each = 0; each < Ranks; ++each) {
    const int place = each < rank ? each : each - 1;
    operands.of_rank[each] =
        reinterpret_cast<const float4*>(each == rank ? own : received + place * elements);
  }
  const std::int64_t vectors = elements / 4;
  add_ranks<Ranks>
      <<<static_cast<unsigned>(ceil_div(vectors, kThreads * kQuads)), kThreads, 0, stream>>>(
          operands, vectors, reinterpret_cast<float4*>(sum));
  check_launch("sum_ranks");
}

/// Parts that one launch adds up.
constexpr int kParts = 64;
struct Parts {
  PartOfRuns of[kParts];
};

constexpr int kSumThreads = 1024;  ///< As many as sum_blocks has.

/// The number at `index` of a part of all runs, one run's behind the other's.
__device__ double at_index(const RunsOfDoubles& runs, PartOfRuns part, std::int64_t index) {
  return runs.first[index / part.count * runs.stride + part.offset + index % part.count];
}

__global__ void __launch_bounds__(kSumThreads)
    add_parts(RunsOfDoubles runs, Parts parts, double* sums) {
  __shared__ double warp_sums[kWarp];
  const PartOfRuns part = parts.of[blockIdx.x];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < part.count * runs.ranks; i += kSumThreads) {
    sum += at_index(runs, part, i);
  }
  sum = block_sum(sum, warp_sums);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    copy_runs(RunsOfDoubles runs, PartOfRuns part, double* out) {
  for (std::int64_t i = threadIdx.x; i < part.count * runs.ranks; i += kThreads) {
    out[i] = at_index(runs, part, i);
  }
}

}  // namespace

void sum_ranks(CUstream_st* stream, const float* own, const float* received, int rank, int ranks,
               std::int64_t elements, float* sum) {
  if (elements == 0) return;
  check(elements % 4 == 0 && aligned(own, received, sum),
        "pieces of gradients are 16-byte aligned");
  check(rank >= 0 && rank < ranks, "a rank is one of its ranks");
  switch (ranks) {
    case 2:
      return launch_add<2>(stream, own, received, rank, elements, sum);
    case 3:
      return launch_add<3>(stream, own, received, rank, elements, sum);
    case 4:
      return launch_add<4>(stream, own, received, rank, elements, sum);
    case 5:
      return launch_add<5>(stream, own, received, rank, elements, sum);
    case 6:
      return launch_add<6>(stream, own, received, rank, elements, sum);
    case 7:
      return launch_add<7>(stream, own, received, rank, elements, sum);
    case kMostSummedRanks:
      return launch_add<kMostSummedRanks>(stream, own, received, rank, elements, sum);
    default:
      check(false, "a kernel adds the gradients of 2 to 8 ranks");
  }
}

void sum_parts(CUstream_st* stream, const RunsOfDoubles& runs, std::span<const PartOfRuns> parts,
               double* sums) {
  while (!parts.empty()) {
    const std::size_t now = std::min<std::size_t>(parts.size(), kParts);
    Parts some{};
    std::copy_n(parts.begin(), now, some.of);
    add_parts<<<static_cast<unsigned>(now), kSumThreads, 0, stream>>>(runs, some, sums);
    check_launch("sum_parts");
    parts = parts.subspan(now);
    sums += now;
  }
}

void copy_part(CUstream_st* stream, const RunsOfDoubles& runs, PartOfRuns part, double* out) {
  if (part.count == 0) return;
  copy_runs<<<1, kThreads, 0, stream>>>(runs, part, out);
  check_launch("copy_part");
}

}  // namespace sluice::engine::cuda
