#include "engine/datasets/packing.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/error.hpp"

namespace sluice::engine {

std::vector<std::vector<std::int64_t>> packed(std::span<const std::int64_t> lengths,
                                              std::int64_t room) {
  std::vector<std::int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::int64_t piece) { return lengths[static_cast<std::size_t>(piece)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
  std::vector<std::vector<std::int64_t>> sequences;
  std::set<std::pair<std::int64_t, std::size_t>> left;  // Pairs of remaining room and sequence.
  for (const std::int64_t piece : order) {
    check(length(piece) > 0 && length(piece) <= room, "a piece fits a sequence");
    auto found = left.lower_bound({length(piece), 0});
    if (found == left.end()) {
      sequences.emplace_back();
      found = left.emplace(room, sequences.size() - 1).first;
    }
    const auto [free, sequence] = *found;
    left.erase(found);
    sequences[sequence].push_back(piece);
    left.emplace(free - length(piece), sequence);
  }
  for (auto& sequence : sequences) std::sort(sequence.begin(), sequence.end());
  std::sort(sequences.begin(), sequences.end());
  return sequences;
}

}  // namespace sluice::engine
