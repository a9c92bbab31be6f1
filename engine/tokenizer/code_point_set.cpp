#include "engine/tokenizer/code_point_set.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::engine {

CodePointSet::CodePointSet(std::span<const CodePointRange> ranges) { unite(ranges); }

void CodePointSet::unite(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> all = ranges_;
  all.insert(all.end(), ranges.begin(), ranges.end());
  std::ranges::sort(all, {}, &CodePointRange::first);
  ranges_.clear();
  for (const CodePointRange& range : all) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

CodePointSet CodePointSet::complement() const {
  CodePointSet others;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) others.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) others.ranges_.push_back({next, kLastCodePoint});
  return others;
}

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet both;
  auto left = ranges_.begin();
  auto right = other.ranges_.begin();
  while (left != ranges_.end() && right != other.ranges_.end()) {
    const char32_t first = std::max(left->first, right->first);
    const char32_t last = std::min(left->last, right->last);
    if (first <= last) both.ranges_.push_back({first, last});
    if (left->last < right->last) {
      ++left;
    } else {
      ++right;
    }
  }
  return both;
}

bool CodePointSet::contains(char32_t value) const {
  const auto after = std::ranges::upper_bound(ranges_, value, {}, &CodePointRange::first);
  return after != ranges_.begin() && value <= std::prev(after)->last;
}

std::int64_t CodePointSet::size() const {
  std::int64_t count = 0;
  for (const CodePointRange& range : ranges_) {
    count += static_cast<std::int64_t>(range.last) - static_cast<std::int64_t>(range.first) + 1;
  }
  return count;
}

CodePointTable::CodePointTable(const CodePointSet& set) : words_((kLastCodePoint >> 6U) + 1) {
  for (const CodePointRange& range : set.ranges()) {
    for (char32_t value = range.first; value <= range.last; ++value) {
      words_[value >> 6U] |= std::uint64_t{1} << (value & 63U);
    }
  }
}

}  // namespace sluice::engine
