// Queue of the lanes' next events by time: a tournament tree in one flat array.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::sim {

/// Queue of numbered entries by time: each has one key, an ordered integer such as an instant, or
/// kNever. Changing a key takes O(log entries), reading the least O(1).
class EventQueue {
 public:
  using Key = std::int64_t;
  static constexpr Key kNever = std::numeric_limits<Key>::max();

  explicit EventQueue(std::size_t slots)
      : leaves_(std::bit_ceil(std::max<std::size_t>(slots, 1))), keys_(2 * leaves_, kNever) {}

  [[nodiscard]] Key least() const { return keys_[1]; }
  [[nodiscard]] Key key(std::uint32_t slot) const { return keys_[leaves_ + slot]; }

  void set(std::uint32_t slot, Key key) {
    std::size_t node = leaves_ + slot;
    keys_[node] = key;
    for (node /= 2; node > 0; node /= 2) {
      const Key least = std::min(keys_[2 * node], keys_[2 * node + 1]);
      if (keys_[node] == least) break;
      keys_[node] = least;
    }
  }

  /// Appends to `slots`, in ascending order, the numbers of all entries whose key is `key`, which
  /// must be the least key of all.
  void collect(Key key, std::vector<std::uint32_t>& slots) const { collect(1, key, slots); }

 private:
  void collect(std::size_t node, Key key, std::vector<std::uint32_t>& slots) const {
    if (keys_[node] != key) return;
    if (node >= leaves_) {
      slots.push_back(static_cast<std::uint32_t>(node - leaves_));
      return;
    }
    collect(2 * node, key, slots);
    collect(2 * node + 1, key, slots);
  }

  std::size_t leaves_;
  std::vector<Key> keys_;
};

}  // namespace sluice::sim
