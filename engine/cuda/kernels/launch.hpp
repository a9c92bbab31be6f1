// Launch sizes, and the check that follows every launch.
#pragma once

#include <cstdint>

namespace sluice::engine::cuda {

/// Throws EnvironmentError naming `kernel` if the calling thread's last kernel launch was refused.
void check_launch(const char* kernel);

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Number of bf16 elements that a thread reads or writes at once, in 16 bytes.
inline constexpr std::int64_t kVector = 8;

/// Whether all addresses are multiples of 16 bytes, as 16-byte accesses need; null counts as
/// aligned.
template <class... Pointers>
[[nodiscard]] bool aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

}  // namespace sluice::engine::cuda
