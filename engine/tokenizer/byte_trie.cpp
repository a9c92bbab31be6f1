#include "engine/tokenizer/byte_trie.hpp"

#include <algorithm>

namespace sluice::engine {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> keys) {
  std::ranges::stable_sort(keys, {}, &std::pair<std::string_view, std::int32_t>::first);
  nodes_.emplace_back();
  // Breadth first, so that no depth of keys is a depth of calls.
  struct Open {
    std::uint32_t node;
    std::size_t begin, end, depth;
  };
  std::vector<Open> open{{0, 0, keys.size(), 0}};
  for (std::size_t next = 0; next < open.size(); ++next) {
    Open at = open[next];
    for (; at.begin < at.end && keys[at.begin].first.size() == at.depth; ++at.begin) {
      nodes_[at.node].value = keys[at.begin].second;
    }
    nodes_[at.node].first = static_cast<std::uint32_t>(nodes_.size());
    for (std::size_t begin = at.begin; begin < at.end;) {
      const char byte = keys[begin].first[at.depth];
      std::size_t end = begin;
      while (end < at.end && keys[end].first[at.depth] == byte) ++end;
      open.push_back({static_cast<std::uint32_t>(nodes_.size()), begin, end, at.depth + 1});
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ++nodes_[at.node].children;
      begin = end;
    }
  }
}

}  // namespace sluice::engine
