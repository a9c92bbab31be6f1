// Sums over what ranks sent each other, in the job's order. The rules of
// engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>
#include <span>

struct CUstream_st;

namespace sluice::engine::cuda {

/// Largest number of ranks whose gradients one kernel adds.
inline constexpr int kMostSummedRanks = 8;

/// Adds the ranks' sums of a piece of a gradient along their tree: sum = T(0, ranks), where
///   T(r, r + 1) = rank r's,
///   T(lo, hi) = T(lo, lo + k) + T(lo + k, hi), k the largest power of two below hi - lo,
/// element by element in fp32. `own` is that of rank `rank`; `received`, fp32 [ranks - 1,
/// elements], has the others' in order of ranks. `sum` may be `own`. `elements` is a multiple of 4;
/// 2 <= ranks <= kMostSummedRanks.
void sum_ranks(CUstream_st* stream, const float* own, const float* received, int rank, int ranks,
               std::int64_t elements, float* sum);

/// Doubles of all ranks, in one run for each rank.
struct RunsOfDoubles {
  const double* first;  ///< Where rank 0's run begins.
  std::int64_t stride;  ///< Doubles from the beginning of a run to that of the following one.
  int ranks;
};
/// A range of every run, in doubles from its beginning.
struct PartOfRuns {
  std::int64_t offset, count;
};

/// sums[u] = sum of what part u of all runs holds, one run's behind the other's, in the order in
/// which sum_blocks adds as many numbers; zeros at the end change no bit. `sums` may be mapped host
/// memory.
void sum_parts(CUstream_st* stream, const RunsOfDoubles& runs, std::span<const PartOfRuns> parts,
               double* sums);

/// Copies what a part of all runs holds to `out`, one run's behind the other's. `out` may be mapped
/// host memory.
void copy_part(CUstream_st* stream, const RunsOfDoubles& runs, PartOfRuns part, double* out);

}  // namespace sluice::engine::cuda
