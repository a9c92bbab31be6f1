// The known word nearest to a mistyped one, for messages that name the fix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// Levenshtein distance: insertions, deletions and substitutions that turn `a` into `b`.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The element of `known` (a non-empty range of strings) nearest to `word`; the first on a tie.
template <class Range>
[[nodiscard]] std::string nearest(std::string_view word, const Range& known) {
  const auto best =
      std::min_element(std::begin(known), std::end(known), [word](const auto& a, const auto& b) {
        return edit_distance(word, std::string_view(a)) < edit_distance(word, std::string_view(b));
      });
  return std::string(std::string_view(*best));
}

}  // namespace sluice
