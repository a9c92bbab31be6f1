// Queue of the lanes' next events by time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::sim {

/// Queue of numbered entries by time: each has one key, an ordered integer such as an instant, or
/// kNever. Up to kFlat entries it is an array, in which changing a key takes one store and finding
/// the least a look at all; with more of them a tournament tree, in which changing a key takes
/// O(log entries) and finding the least O(1).
class EventQueue {
 public:
  using Key = std::int64_t;
  static constexpr Key kNever = std::numeric_limits<Key>::max();
  /// Each event changes the keys of many entries, which a tree pays for one by one.
  static constexpr std::size_t kFlat = 16;

  explicit EventQueue(std::size_t slots)
      : leaves_(slots <= kFlat ? 0 : std::bit_ceil(slots)),
        keys_(leaves_ == 0 ? std::max<std::size_t>(slots, 1) : 2 * leaves_, kNever) {}

  [[nodiscard]] Key least() const {
    if (leaves_ > 0) return keys_[1];
    Key least = kNever;
    for (const Key key : keys_) least = std::min(least, key);
    return least;
  }
  [[nodiscard]] Key key(std::uint32_t slot) const { return keys_[leaves_ + slot]; }

  void set(std::uint32_t slot, Key key) {
    std::size_t node = leaves_ + slot;
    keys_[node] = key;
    if (leaves_ == 0) return;
    for (node /= 2; node > 0; node /= 2) {
      const Key least = std::min(keys_[2 * node], keys_[2 * node + 1]);
      if (keys_[node] == least) break;
      keys_[node] = least;
    }
  }

  /// Appends to `slots`, in ascending order, the numbers of all entries whose key is `key`, which
  /// must be the least key of all.
  void collect(Key key, std::vector<std::uint32_t>& slots) const {
    if (leaves_ > 0) {
      collect(1, key, slots);
      return;
    }
    for (std::uint32_t slot = 0; slot < keys_.size(); ++slot) {
      if (keys_[slot] == key) slots.push_back(slot);
    }
  }

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

  std::size_t leaves_;  ///< Number of the tree's leaves; 0 for an array.
  std::vector<Key> keys_;
};

}  // namespace sluice::sim
