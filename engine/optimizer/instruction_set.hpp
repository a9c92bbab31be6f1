// What this processor can run. Paths differ in speed, never in bits.
#pragma once

namespace sluice::engine {

#if defined(__x86_64__)
/// What files compiled for the avx512 path may use.
[[nodiscard]] inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("fma");
}
/// What files compiled for the avx2 path may use.
[[nodiscard]] inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
[[nodiscard]] inline bool has_avx512() { return false; }
[[nodiscard]] inline bool has_avx2() { return false; }
#endif

}  // namespace sluice::engine
