// Typed addresses in the record and the workspace, as kernels take them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/host/unit_slots.hpp"

namespace sluice::engine {

inline std::uint16_t* bf16(std::byte* memory) { return reinterpret_cast<std::uint16_t*>(memory); }
inline const std::uint16_t* bf16(const std::byte* memory) {
  return reinterpret_cast<const std::uint16_t*>(memory);
}
inline float* fp32(std::byte* memory) { return reinterpret_cast<float*>(memory); }
inline const float* fp32(const std::byte* memory) { return reinterpret_cast<const float*>(memory); }

/// Address of a vector, a norm's weight or a bias, among the weights of its unit; null if the model
/// has no such vector.
inline const std::uint16_t* vector_of(const std::uint16_t* weights, const Slot& slot) {
  return slot.exists() ? weights + slot.offset : nullptr;
}

}  // namespace sluice::engine
