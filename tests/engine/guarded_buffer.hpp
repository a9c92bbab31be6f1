// Memory between guard bytes, which detects an overrun of one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine::testing {

/// Exactly `bytes` bytes at a 64-byte boundary, with 256 guard bytes on both sides.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(Bytes bytes)
      : bytes_(bytes), memory_(static_cast<std::size_t>(bytes.count()) + 2 * kGuard + 64, kMark) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data() + kGuard);
    data_ = memory_.data() + kGuard + (64 - address % 64) % 64;
    poison();
  }
  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Makes every fp32 and bf16 value in the buffer a NaN.
  void poison() { std::memset(data_, 0xff, static_cast<std::size_t>(bytes_.count())); }
  [[nodiscard]] bool intact() const {
    for (const std::byte* p = memory_.data(); p < data_; ++p) {
      if (*p != kMark) return false;
    }
    for (const std::byte* p = data_ + bytes_.count(); p < memory_.data() + memory_.size(); ++p) {
      if (*p != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::byte kMark{0xa5};
  Bytes bytes_;
  std::vector<std::byte> memory_;
  std::byte* data_;
};

}  // namespace sluice::engine::testing
