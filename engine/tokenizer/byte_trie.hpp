// A trie of byte strings.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::engine {

/// Finds all keys with which a text begins.
class ByteTrie {
 public:
  /// Keys with their values, which must not be negative; of equal keys the last one counts.
  explicit ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> keys);

  /// Calls `take(length, value)` for each key with which `text` begins, shortest first.
  template <class Take>
  void beginnings(std::string_view text, const Take& take) const {
    std::uint32_t node = 0;
    for (std::size_t length = 0;; ++length) {
      if (nodes_[node].value >= 0) take(length, nodes_[node].value);
      if (length == text.size()) return;
      const auto next = child(node, static_cast<unsigned char>(text[length]));
      if (next == 0) return;
      node = next;
    }
  }

 private:
  /// A node of the trie; its children lie side by side in `nodes_`, in the order of their bytes.
  struct Node {
    std::int32_t value = -1;
    std::uint32_t first = 0;
    std::uint16_t children = 0;
    unsigned char byte = 0;
  };
  /// The child of `node` for `byte`; 0, the root, if there is none.
  [[nodiscard]] std::uint32_t child(std::uint32_t node, unsigned char byte) const {
    std::uint32_t low = nodes_[node].first, high = low + nodes_[node].children;
    if (nodes_[node].children == 256) return low + byte;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (nodes_[middle].byte < byte) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const bool found = low < nodes_[node].first + nodes_[node].children && nodes_[low].byte == byte;
    return found ? low : 0;
  }

  std::vector<Node> nodes_;
};

}  // namespace sluice::engine
