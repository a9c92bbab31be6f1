// Sets of Unicode code points.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

struct CodePointRange {
  char32_t first, last;  ///< Both belong to the range.
};

inline constexpr char32_t kLastCodePoint = 0x10ffff;

/// A set of code points, kept as ascending ranges that do not touch.
class CodePointSet {
 public:
  CodePointSet() = default;
  explicit CodePointSet(std::span<const CodePointRange> ranges);

  void add(CodePointRange range) { unite(std::span(&range, 1)); }
  void unite(std::span<const CodePointRange> ranges);
  void unite(const CodePointSet& other) { unite(other.ranges_); }

  [[nodiscard]] CodePointSet complement() const;
  [[nodiscard]] CodePointSet intersection(const CodePointSet& other) const;
  /// Members of this set that are not in `other`.
  [[nodiscard]] CodePointSet without(const CodePointSet& other) const {
    return intersection(other.complement());
  }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] bool contains(char32_t value) const;
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::span<const CodePointRange> ranges() const { return ranges_; }

 private:
  std::vector<CodePointRange> ranges_;
};

/// A set of code points with one bit for each, which makes look-ups fast.
class CodePointTable {
 public:
  explicit CodePointTable(const CodePointSet& set);
  [[nodiscard]] bool contains(char32_t value) const {
    return value <= kLastCodePoint && (words_[value >> 6U] >> (value & 63U) & 1U) != 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace sluice::engine
