// Eight bf16 values as one 16-byte access, and sums over a block in a fixed order.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/cuda/kernels/launch.hpp"

namespace sluice::engine::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Value of the bf16 in the lower (low_half) or upper (high_half) 16 bits of a pair packed into 32.
__device__ inline float low_half(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_half(std::uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}
/// Rounds two values to bf16, to nearest even, and packs them: `low` into the lower 16 bits.
__device__ inline std::uint32_t pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
__device__ inline float rounded(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

struct Eight {
  float value[kVector];

  __device__ static Eight unpack(uint4 packed) {
    return {{low_half(packed.x), high_half(packed.x), low_half(packed.y), high_half(packed.y),
             low_half(packed.z), high_half(packed.z), low_half(packed.w), high_half(packed.w)}};
  }
  [[nodiscard]] __device__ uint4 packed() const {
    return make_uint4(pack(value[0], value[1]), pack(value[2], value[3]), pack(value[4], value[5]),
                      pack(value[6], value[7]));
  }
};

/// The eight bf16 values from element `index`, a multiple of 8, on.
__device__ inline uint4 load(const std::uint16_t* data, std::int64_t index) {
  return *reinterpret_cast<const uint4*>(data + index);
}
__device__ inline void store(std::uint16_t* data, std::int64_t index, uint4 packed) {
  *reinterpret_cast<uint4*>(data + index) = packed;
}
/// The eight bf16 values from element `index`, a multiple of 8, on, marked as not needed again
/// soon, so that they leave the cache first.
__device__ inline uint4 load_once(const std::uint16_t* data, std::int64_t index) {
  return __ldcs(reinterpret_cast<const uint4*>(data + index));
}

/// Sum of `value` over `Lanes` neighbouring lanes of a warp (a power of 2), computed by a butterfly
/// and returned in all of them.
template <int Lanes = kWarp, class T>
__device__ T lane_sum(T value) {
  for (int distance = Lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

/// Sum of `value` over the thread block, returned in every thread: over the lanes of each warp by a
/// butterfly, then over warps in order. `scratch` holds one T per warp; the block must pass a
/// barrier before `scratch` is used again.
template <class T>
__device__ T block_sum(T value, T* scratch) {
  value = lane_sum(value);
  const int warps = (static_cast<int>(blockDim.x) + kWarp - 1) / kWarp;
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = value;
  __syncthreads();
  T sum = scratch[0];
  for (int warp = 1; warp < warps; ++warp) sum += scratch[warp];
  return sum;
}

}  // namespace sluice::engine::cuda
