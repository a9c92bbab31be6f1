// Launch sizes and the check that follows every launch.
#pragma once

#include <cstdint>

namespace sluice::engine::cuda {

/// Throws EnvironmentError naming `kernel` if the launch just made was refused.
void check_launch(const char* kernel);

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Elements of a 16-byte access to bf16.
inline constexpr std::int64_t kVector = 8;

/// Whether 16-byte accesses may be made at every one of these addresses; null is.
template <class... Pointers>
[[nodiscard]] bool aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

}  // namespace sluice::engine::cuda
