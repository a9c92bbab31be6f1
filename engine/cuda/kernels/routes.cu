#include "engine/cuda/kernels/router_logits.cuh"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

using planner::kExpertTile;
using planner::kRouteChunks;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kNobody = 0x7fffffff;

struct Candidate {
  float value;
  int expert;
};

/// The candidate that is chosen before the other: the larger value, and the first among equal ones
/// and NaNs. A taken candidate is kNobody and loses to all.
__device__ Candidate better(Candidate a, Candidate b) {
  if (a.value > b.value) return a;
  if (b.value > a.value) return b;
  return a.expert < b.expert ? a : b;
}

/// Chooses a token's experts: lane i < active gets the expert of the i-th largest logit.
__device__ int choose(Logits& logits, const RouteShape& shape, int lane) {
  int mine = kNobody;
  unsigned taken = 0;  // Bits of the experts already taken, by position in this lane.
  for (int i = 0; i < shape.active; ++i) {
    Candidate best{-INFINITY, kNobody};
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int expert = lane + j * kWarp;
      if (expert < shape.experts && (taken >> j & 1) == 0) {
        best = better(best, {logits.value[j], expert});
      }
    }
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      best = better(best, {__shfl_xor_sync(kAllLanes, best.value, distance),
                           __shfl_xor_sync(kAllLanes, best.expert, distance)});
    }
    const int expert = __shfl_sync(kAllLanes, best.expert, 0);
    if (expert % kWarp == lane) taken |= 1u << (expert / kWarp);
    if (i == lane) mine = expert;
  }
  return mine;
}

/// Largest of a group's `size` values, or the sum of its two largest, of which one counts alone.
__device__ float group_value(const float* values, int size, planner::GroupScore score) {
  float best = -INFINITY, second = -INFINITY;
  for (int i = 0; i < size; ++i) {
    second = fmaxf(second, fminf(best, values[i]));
    best = fmaxf(best, values[i]);
  }
  return score == planner::GroupScore::two_best && size > 1 ? best + second : best;
}

/// Takes experts out of the choice whose group is not among the best; `values` is the warp's own
/// shared memory, of all experts. Lane g has group g.
__device__ void leave_groups(Logits& choices, const RouteShape& shape, int lane, float* values) {
  const int experts = static_cast<int>(shape.experts), groups = static_cast<int>(shape.groups);
  const int size = experts / groups;
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    const int expert = lane + j * kWarp;
    if (expert < experts) values[expert] = choices.value[j];
  }
  __syncwarp();
  const float mine =
      lane < groups ? group_value(values + lane * size, size, shape.group_score) : -INFINITY;
  int better_groups = 0;
  for (int other = 0; other < groups; ++other) {
    const float rival = __shfl_sync(kAllLanes, mine, other);
    better_groups += rival > mine || (rival == mine && other < lane) ? 1 : 0;
  }
  const unsigned kept =
      __ballot_sync(kAllLanes, lane < groups && better_groups < shape.active_groups);
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    const int expert = lane + j * kWarp;
    if (expert < experts && (kept >> (expert / size) & 1) == 0) choices.value[j] = -INFINITY;
  }
}

/// Returns the values by which experts are chosen: the logits, whose order is that of their
/// softmax, or the scores with their corrections, without the groups that are left out.
__device__ Logits choices_of(const Logits& logits, const RouterScores& scores,
                             const RouteShape& shape, int lane, float* values) {
  const bool by_logits = shape.score == planner::RouterScore::softmax &&
                         shape.correction == nullptr && shape.groups == 1;
  if (by_logits) return logits;
  Logits choices;
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    const int expert = lane + j * kWarp;
    choices.value[j] = -INFINITY;
    if (expert >= shape.experts) continue;
    choices.value[j] = scores.score(logits.value[j]);
    if (shape.correction != nullptr) choices.value[j] += low_half(shape.correction[expert]);
  }
  if (shape.groups > 1) leave_groups(choices, shape, lane, values);
  return choices;
}

/// One warp per token. Shares lie at [token, choice] in d_share until rows are numbered.
__global__ void __launch_bounds__(kThreads)
    choose_experts(const float* logits, RouteShape shape, RouteArrays routes) {
  __shared__ float of_warps[kWarps][kMostExperts];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t token =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (token >= shape.tokens) return;
  const float* own = logits + token * shape.experts;
  const Logits values = Logits::load(own, static_cast<int>(shape.experts), lane);
  const RouterScores scores = RouterScores::of(values, shape.score);
  Logits choices = choices_of(values, scores, shape, lane, of_warps[threadIdx.x / kWarp]);
  const int expert = choose(choices, shape, lane);
  const bool chosen = lane < shape.active;
  const float probability = chosen ? scores.score(own[expert]) : 0.0f;
  const float total = shape.normalized ? lane_sum(probability) : 1.0f;
  int rank = 0;
  for (int i = 0; i < shape.active; ++i) rank += __shfl_sync(kAllLanes, expert, i) < expert ? 1 : 0;
  if (!chosen) return;
  routes.expert[token * shape.active + rank] = expert;
  routes.d_share[token * shape.active + rank] = shape.scaling * (probability / total);
}

/// Visits the routes of a chunk in order: body(route, expert) on every thread.
template <class Body>
__device__ void walk_chunk(const std::int32_t* experts, std::int64_t routes, std::int64_t chunk,
                           const Body& body) {
  __shared__ std::int32_t piece[kThreads];
  const std::int64_t first = blockIdx.x * chunk;
  const std::int64_t end = min(routes, first + chunk);
  for (std::int64_t begin = first; begin < end; begin += kThreads) {
    const std::int64_t mine = begin + threadIdx.x;
    __syncthreads();
    piece[threadIdx.x] = mine < end ? experts[mine] : -1;
    __syncthreads();
    const int count = static_cast<int>(min(std::int64_t{kThreads}, end - begin));
    for (int i = 0; i < count; ++i) body(begin + i, piece[i]);
  }
}

__global__ void __launch_bounds__(kThreads)
    count_chunk(RouteArrays routes, std::int64_t total, std::int64_t chunk, int experts) {
  for (int first = 0; first < experts; first += kThreads) {
    const int expert = first + static_cast<int>(threadIdx.x);
    int count = 0;
    walk_chunk(routes.expert, total, chunk,
               [&](std::int64_t, int other) { count += other == expert ? 1 : 0; });
    if (expert < experts) routes.counts[blockIdx.x * experts + expert] = count;
  }
}

constexpr int kScanThreads = static_cast<int>(kMostExperts);

/// Sum of `value` over the block's threads before this one.
__device__ int sum_before(int value, int* scratch) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  scratch[thread] = value;
  __syncthreads();
  for (int distance = 1; distance < kScanThreads; distance *= 2) {
    const int other = thread >= distance ? scratch[thread - distance] : 0;
    __syncthreads();
    scratch[thread] += other;
    __syncthreads();
  }
  return scratch[thread] - value;
}

/// One block with a thread per expert: turns counts of chunks into their first rows.
__global__ void __launch_bounds__(kScanThreads)
    place_groups(RouteArrays routes, int chunks, int experts, std::int64_t most_tiles) {
  __shared__ int scratch[kScanThreads];
  const int expert = static_cast<int>(threadIdx.x);
  const bool real = expert < experts;
  int rows = 0;
#pragma unroll 8
  for (int chunk = 0; chunk < chunks; ++chunk) {
    rows += real ? routes.counts[chunk * experts + expert] : 0;
  }
  int row = sum_before(rows, scratch);
  const int tiles = (rows + static_cast<int>(kExpertTile) - 1) / static_cast<int>(kExpertTile);
  const int first_tile = sum_before(tiles, scratch);
  for (std::int64_t tile = scratch[kScanThreads - 1] + expert; tile < most_tiles;
       tile += kScanThreads) {
    routes.tiles[2 * tile] = -1;
  }
  if (!real) return;
  for (int i = 0; i < tiles; ++i) {
    routes.tiles[2 * (first_tile + i)] = expert;
    routes.tiles[2 * (first_tile + i) + 1] = row + i * static_cast<int>(kExpertTile);
  }
  routes.begin[expert] = row;
  if (expert == experts - 1) routes.begin[experts] = row + rows;
#pragma unroll 8
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int count = routes.counts[chunk * experts + expert];
    routes.counts[chunk * experts + expert] = row;
    row += count;
  }
}

__global__ void __launch_bounds__(kThreads)
    number_rows(RouteArrays routes, RouteShape shape, std::int64_t chunk) {
  const int experts = static_cast<int>(shape.experts);
  for (int first = 0; first < experts; first += kThreads) {
    const int expert = first + static_cast<int>(threadIdx.x);
    int row = expert < experts ? routes.counts[blockIdx.x * experts + expert] : 0;
    walk_chunk(routes.expert, shape.tokens * shape.active, chunk,
               [&](std::int64_t route, int other) {
                 if (other != expert) return;
                 routes.row[route] = row;
                 routes.token[row] = static_cast<std::int32_t>(route / shape.active);
                 routes.share[row] = routes.d_share[route];
                 ++row;
               });
  }
}

/// One warp per token: d logit = p (dp - sum of dp p), or dp p (1 - p) for sigmoids, and zeros
/// behind the last expert.
__global__ void __launch_bounds__(kThreads)
    logits_gradient(const float* logits, RouteShape shape, RouteArrays routes, float balance,
                    const float* counts, std::uint16_t* d_logits) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t token =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (token >= shape.tokens) return;
  const int experts = static_cast<int>(shape.experts);
  const float* own = logits + token * experts;
  const Logits values = Logits::load(own, experts, lane);
  const RouterScores scores = RouterScores::of(values, shape.score);
  // Lane i has the token's i-th route.
  const bool chosen = lane < shape.active;
  const std::int64_t route = token * shape.active + lane;
  const int expert = chosen ? routes.expert[route] : kNobody;
  float d_chosen = chosen ? routes.d_share[routes.row[route]] : 0.0f;
  if (shape.normalized) {
    const float share = chosen ? routes.share[routes.row[route]] : 0.0f;
    const float probability = chosen ? scores.score(own[expert]) : 0.0f;
    const float mean = lane_sum(d_chosen * share);
    d_chosen = (__fmul_rn(shape.scaling, d_chosen) - mean) / lane_sum(probability);
  } else {
    d_chosen *= shape.scaling;
  }
  float d[kPerLane], p[kPerLane];
  float dot = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int mine = lane + i * kWarp;
    d[i] = balance != 0 && mine < experts ? balance * counts[mine] : 0.0f;
    p[i] = scores.score(values.value[i]);
    for (int j = 0; j < shape.active; ++j) {
      const int other = __shfl_sync(kAllLanes, expert, j);
      const float added = __shfl_sync(kAllLanes, d_chosen, j);
      if (other == mine) d[i] += added;
    }
    dot += p[i] * d[i];
  }
  dot = shape.score == planner::RouterScore::softmax ? lane_sum(dot) : 0.0f;
  const int row = static_cast<int>(planner::router_row(experts));
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int mine = lane + i * kWarp;
    if (mine < row) {
      const float slope =
          shape.score == planner::RouterScore::softmax ? p[i] : p[i] * (1.0f - p[i]);
      const __nv_bfloat16 value = __float2bfloat16_rn(mine < experts ? slope * (d[i] - dot) : 0.0f);
      d_logits[token * row + mine] = *reinterpret_cast<const std::uint16_t*>(&value);
    }
  }
}

unsigned token_blocks(const RouteShape& shape) {
  return static_cast<unsigned>(ceil_div(shape.tokens, kWarps));
}

void check_routes(const RouteShape& shape) {
  check(shape.tokens > 0 && shape.experts > 0 && shape.experts <= kMostExperts &&
            shape.active > 0 && shape.active <= kMostActive && shape.active <= shape.experts &&
            shape.tokens * shape.active <= INT32_MAX,
        "tokens go to some of at most 512 experts, at most 32 each");
  check(shape.groups > 0 && shape.groups <= kMostGroups && shape.experts % shape.groups == 0 &&
            shape.active_groups > 0 && shape.active_groups <= shape.groups,
        "experts are in at most 32 equal groups");
}

}  // namespace

void route(CUstream_st* stream, const float* logits, const RouteShape& shape,
           const RouteArrays& routes) {
  check_routes(shape);
  const std::int64_t total = shape.tokens * shape.active;
  const std::int64_t chunk = ceil_div(ceil_div(total, kRouteChunks), kThreads) * kThreads;
  const auto chunks = static_cast<unsigned>(ceil_div(total, chunk));
  choose_experts<<<token_blocks(shape), kThreads, 0, stream>>>(logits, shape, routes);
  check_launch("choose_experts");
  count_chunk<<<chunks, kThreads, 0, stream>>>(routes, total, chunk,
                                               static_cast<int>(shape.experts));
  check_launch("count_chunk");
  place_groups<<<1, kScanThreads, 0, stream>>>(routes, static_cast<int>(chunks),
                                               static_cast<int>(shape.experts),
                                               planner::route_tiles(total, shape.experts));
  check_launch("place_groups");
  number_rows<<<chunks, kThreads, 0, stream>>>(routes, shape, chunk);
  check_launch("number_rows");
}

void route_backward(CUstream_st* stream, const float* logits, const RouteShape& shape,
                    const RouteArrays& routes, float balance, const float* counts,
                    std::uint16_t* d_logits) {
  check_routes(shape);
  logits_gradient<<<token_blocks(shape), kThreads, 0, stream>>>(logits, shape, routes, balance,
                                                                counts, d_logits);
  check_launch("logits_gradient");
}

}  // namespace sluice::engine::cuda
