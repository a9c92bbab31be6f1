// Wider numbers that were read as token ids by their halves.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine {

/// Tells, while a file of ids is read, whether every second id is next to nothing and the others
/// are not: then ids of twice the size were read by their halves.
class HalvedIds {
 public:
  /// Adds ids of the file in order, an even number of them but for the last time.
  void add(std::span<const std::int64_t> ids);
  [[nodiscard]] bool found() const;
  /// The largest of the second, fourth, ... id; 0 without any.
  [[nodiscard]] std::int64_t largest_second() const { return largest_second_; }

 private:
  std::int64_t seconds_ = 0, larger_firsts_ = 0, largest_second_ = 0;
};

}  // namespace sluice::engine
