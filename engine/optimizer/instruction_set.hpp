// Instruction sets of this processor. The compiled versions of a function differ in speed, never in
// bits.
#pragma once

namespace sluice::engine {

#if defined(__x86_64__)
/// Whether this processor has every instruction that files compiled for avx512 may use.
[[nodiscard]] inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("fma");
}
/// Whether this processor has every instruction that files compiled for avx2 may use.
[[nodiscard]] inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
[[nodiscard]] inline bool has_avx512() { return false; }
[[nodiscard]] inline bool has_avx2() { return false; }
#endif

}  // namespace sluice::engine
