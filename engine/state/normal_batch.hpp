// Batches of normal values as master weights, computed many lanes at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sluice::engine {

/// Consecutive elements of a stream of normal values, times their standard deviation, as halves of
/// master weights.
struct NormalBatch {
  static constexpr std::int64_t kPairs = 256;
  static constexpr std::int64_t kElements = 2 * kPairs;
  std::array<std::uint16_t, kElements> high, low;
  /// Nonzero where the value is too close to the middle of two floats to say which one the
  /// reference (normal_at) rounds to: the caller must compute these.
  std::array<std::uint8_t, kElements> unsure;
};

/// Stream of normal values of one tensor.
struct NormalStream {
  std::uint64_t seed = 0, stream = 0;
  double deviation = 0;
};

/// One compiled version of the computation. All give the same bits where they are sure.
struct NormalPath {
  const char* name = "";
  bool supported = false;  ///< Whether this processor can run it.
  /// Fills `batch` with the elements from pair `first` on.
  void (*fill)(const NormalStream& stream, std::uint64_t first, NormalBatch& batch) = nullptr;
};

/// All versions, the fastest first.
[[nodiscard]] std::span<const NormalPath> normal_paths();
/// The fastest version that this processor can run.
[[nodiscard]] const NormalPath& fastest_normal_path();

}  // namespace sluice::engine
