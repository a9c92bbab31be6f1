// A table from pairs of numbers to merges.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine {

/// Hash table with linear probing, from pairs of 32-bit numbers to a rank and a token.
class PairTable {
 public:
  struct Entry {
    std::uint64_t key;
    std::int32_t rank;
    std::int32_t merged;
  };

  /// Sets the rank and the merged token of a pair. `left` and `right` must not both be 2^32 - 1.
  void set(std::uint32_t left, std::uint32_t right, std::int32_t rank, std::int32_t merged);
  /// The entry of a pair of numbers; null if there is none.
  [[nodiscard]] const Entry* find(std::uint32_t left, std::uint32_t right) const {
    if (entries_.empty()) return nullptr;
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = place(key);; at = (at + 1) & (entries_.size() - 1)) {
      if (entries_[at].key == key) return &entries_[at];
      if (entries_[at].key == kFree) return nullptr;
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32U | right;
  }
  /// Fibonacci hashing: the upper bits of a product with 2^64 over the golden ratio.
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> shift_);
  }
  void grow();

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
  unsigned shift_ = 64;
};

}  // namespace sluice::engine
