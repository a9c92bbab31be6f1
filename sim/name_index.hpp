// Index of positions by name, fast for the hundreds of thousands of tasks that a graph may have.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::sim {

/// Index from names to positions 0, 1, ... in the order of adding: a hash table in two flat arrays.
/// Looking up an absent name mostly reads one slot, a present one takes one more comparison. The
/// names must outlive the index.
class NameIndex {
 public:
  /// Makes an empty index with room for `most` names.
  explicit NameIndex(std::size_t most) : slots_(std::bit_ceil(2 * most + 2)) {
    names_.reserve(most);
  }

  /// Adds `name` at the next position; returns false, and adds nothing, if the index has it
  /// already.
  bool add(std::string_view name) {
    const std::size_t hash = std::hash<std::string_view>{}(name);
    Slot& slot = slots_[slot_of(name, hash)];
    if (slot.position != kEmpty) return false;
    slot = {tag_of(hash), static_cast<std::uint32_t>(names_.size())};
    names_.push_back(name);
    return true;
  }

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const {
    const Slot& slot = slots_[slot_of(name, std::hash<std::string_view>{}(name))];
    return slot.position == kEmpty ? std::nullopt : std::optional(slot.position);
  }

  [[nodiscard]] const std::vector<std::string_view>& names() const { return names_; }

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;
  struct Slot {
    std::uint32_t tag = 0;  ///< Upper half of the name's hash.
    std::uint32_t position = kEmpty;
  };

  static std::uint32_t tag_of(std::size_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }

  /// Slot of `name`, or the empty slot where it belongs. There always is one, as at most half of
  /// the slots are full.
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::size_t hash) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].position != kEmpty &&
           (slots_[at].tag != tag_of(hash) || names_[slots_[at].position] != name)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::vector<Slot> slots_;
  std::vector<std::string_view> names_;
};

}  // namespace sluice::sim
