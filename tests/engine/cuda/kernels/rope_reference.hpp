// Rotary embedding with and without head norms, by plain loops in double.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cuda/kernels/rope.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {

inline constexpr float kRopeEps = 1e-6F;

/// Tables of cos and sin for a shape, [seq_len, head_dim / 2] each.
struct Angles {
  std::vector<float> cos, sin;
  explicit Angles(const RopeShape& shape);
};

/// Heads of q or k, which begin at `offset` in packed rows of `stride` elements.
struct RopePart {
  std::int64_t heads, offset, stride;
  const Halves* norm;  ///< Null if there is no norm.
};

/// Replaces projected heads by rotated (and normed) ones.
void rotate(const RopeShape& shape, const Angles& angles, const RopePart& part,
            const Halves& packed, std::vector<double>& out, std::vector<double>& scales);

/// Gradient of `rotate`, in place of the incoming one, and gradient of the norm's weight.
void rotate_back(const RopeShape& shape, const Angles& angles, const RopePart& part,
                 const Halves& packed, const Halves& d, std::vector<double>& out,
                 std::vector<double>& d_norm);

[[nodiscard]] std::vector<double> doubles(const Halves& values);

}  // namespace sluice::engine::cuda::testing
