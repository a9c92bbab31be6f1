#include "sim/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace sluice::sim {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return lower;
}

std::vector<std::string_view> views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

/// The shortest of `known` of which `name` is a part, such as "rtx-4090" for "4090"; empty if there
/// is none, or if `name` is so short that it is a part of anything.
std::string_view shortest_containing(std::string_view name,
                                     std::span<const std::string_view> known) {
  constexpr std::size_t kTelling = 3;
  std::string_view shortest;
  if (name.size() < kTelling) return shortest;
  const std::string part = lower_case(name);
  for (const std::string_view candidate : known) {
    if (lower_case(candidate).find(part) == std::string::npos) continue;
    if (shortest.empty() || candidate.size() < shortest.size()) shortest = candidate;
  }
  return shortest;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  const std::string lower = lower_case(name);
  std::string_view nearest;
  std::pair<std::size_t, std::size_t> best{SIZE_MAX, SIZE_MAX};
  for (const std::string_view candidate : known) {
    const std::pair distance{edit_distance(lower, lower_case(candidate)),
                             edit_distance(name, candidate)};
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  return std::string(nearest_name(name, views(known)));
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  if (known.empty()) return {};
  const std::string_view nearest = nearest_name(name, known);
  // A name that differs in more than two thirds of its letters is suggested only if there is
  // nothing else.
  constexpr std::size_t kSlip = 2;
  const std::size_t differs = edit_distance(lower_case(name), lower_case(nearest));
  if (known.size() > 1 && differs > kSlip &&
      3 * differs > 2 * std::max(name.size(), nearest.size())) {
    const std::string_view whole = shortest_containing(name, known);
    return whole.empty() ? "" : "; did you mean \"" + std::string(whole) + "\"?";
  }
  return "; did you mean \"" + std::string(nearest) + "\"?";
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  return did_you_mean(name, views(known));
}

}  // namespace sluice::sim
