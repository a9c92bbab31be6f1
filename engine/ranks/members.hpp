// Some of all ranks, at equal distances.
#pragma once

namespace sluice::engine {

/// Ranks first, first + step, ..., `count` of them.
struct Members {
  int first = 0, step = 1, count = 1;

  [[nodiscard]] int rank(int index) const { return first + index * step; }
  [[nodiscard]] bool has(int rank) const {
    const int behind = rank - first;
    return behind >= 0 && behind % step == 0 && behind / step < count;
  }
  /// Number of members before `rank`, which is one.
  [[nodiscard]] int index_of(int rank) const { return (rank - first) / step; }
};

/// All of so many ranks.
[[nodiscard]] constexpr Members all_ranks(int size) { return {0, 1, size}; }
/// The ranks of the host of `rank`, where each has `local` consecutive ones.
[[nodiscard]] constexpr Members ranks_of_host(int rank, int local) {
  return {rank / local * local, 1, local};
}
/// The ranks with the place that `rank` has on its host, where `size` ranks are `local` on each.
[[nodiscard]] constexpr Members ranks_at_place(int rank, int local, int size) {
  return {rank % local, local, size / local};
}

}  // namespace sluice::engine
