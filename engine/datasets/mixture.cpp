#include "engine/datasets/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Documents of a set that are validation.
std::vector<std::int64_t> validation_counts(std::span<const MixedSet> sets) {
  std::vector<std::int64_t> counts;
  bool any = false;
  for (const MixedSet& set : sets) {
    counts.push_back(set.documents / 20);
    any = any || counts.back() > 0;
  }
  if (any || sets.empty()) return counts;
  const auto largest = std::ranges::max_element(sets, {}, &MixedSet::documents);
  if (largest->documents > 1) counts[static_cast<std::size_t>(largest - sets.begin())] = 1;
  return counts;
}

/// The document that is the `reading`-th of `readings` among `documents`.
std::int64_t document_of(std::int64_t reading, std::int64_t readings, std::int64_t documents) {
  const std::int64_t whole = readings / documents * documents;
  if (reading < whole) return reading % documents;
  return (reading - whole) * documents / (readings - whole);
}

}  // namespace

void draw_by_shares(std::span<MixedSet> sets, std::span<const double> shares,
                    planner::Mixture until) {
  check(sets.size() == shares.size(), "each set has a share");
  const std::vector<std::int64_t> validation = validation_counts(sets);
  std::optional<double> drawn;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto training = static_cast<double>(sets[i].documents - validation[i]);
    if (training == 0) continue;
    const double lasts = sets[i].passes * training / shares[i];
    const bool first = until == planner::Mixture::first_exhausted;
    if (!drawn || (first ? lasts < *drawn : lasts > *drawn)) drawn = lasts;
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto training = static_cast<double>(sets[i].documents - validation[i]);
    if (drawn && training > 0) sets[i].passes = shares[i] * *drawn / training;
  }
}

bool reads_too_often(const MixedSet& set) {
  const double readings = set.passes * static_cast<double>(set.documents);
  return set.passes > kMostPasses && readings > static_cast<double>(kMostReadings);
}

MixedOrder mixed_order(std::span<const MixedSet> sets) {
  const std::vector<std::int64_t> validation = validation_counts(sets);
  std::vector<std::int64_t> documents, readings, done(sets.size(), 0);
  std::int64_t all = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    documents.push_back(sets[i].documents - validation[i]);
    const double wanted = std::round(sets[i].passes * static_cast<double>(documents[i]));
    readings.push_back(documents[i] == 0 ? 0 : std::max<std::int64_t>(1, std::llround(wanted)));
    all += readings[i];
  }
  MixedOrder order;
  order.training = all;
  for (std::int64_t at = 0; at < all; ++at) {
    std::size_t next = sets.size();
    double first = 2;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (done[i] == readings[i]) continue;
      const double place =
          static_cast<double>(2 * done[i] + 1) / (2 * static_cast<double>(readings[i]));
      if (place < first) {
        first = place;
        next = i;
      }
    }
    order.documents.push_back({static_cast<std::int64_t>(next),
                               document_of(done[next], readings[next], documents[next])});
    ++done[next];
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (std::int64_t document = documents[i]; document < sets[i].documents; ++document) {
      order.documents.push_back({static_cast<std::int64_t>(i), document});
    }
  }
  return order;
}

}  // namespace sluice::engine
