// The order in which the documents of several data sets are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/runs/data_entry.hpp"

namespace sluice::engine {

/// One data set of a mixture: how many documents it has, and how often they are read.
struct MixedSet {
  std::int64_t documents = 0;
  /// Number of times that its training documents are read in a pass over the mixture; may be a
  /// fraction.
  double passes = 1;
};

/// Whether so many passes over a set of `documents` are more than a mixture is laid out for: more
/// than kMostPasses, which read more than kMostReadings documents in all.
[[nodiscard]] bool reads_too_often(const MixedSet& set);
inline constexpr double kMostPasses = 64;
inline constexpr std::int64_t kMostReadings = std::int64_t{1} << 25;

/// A document of a mixture: index of its data set, and of the document in the set.
struct MixedDocument {
  std::int64_t set, document;
  friend bool operator==(const MixedDocument&, const MixedDocument&) = default;
};

/// All documents of a mixture in the order in which they are read: the first `training` to train
/// on, the others to validate with.
struct MixedOrder {
  std::vector<MixedDocument> documents;
  std::int64_t training = 0;
};

/// Sets the passes of `sets` so that a pass over the mixture holds them in proportion to `shares`,
/// one positive number each: set i, of whose n_i = passes t_i rows (t_i: its training documents) a
/// pass would read, gives s_i N rows, where N = min n_i / s_i until the first set has no rows left
/// (Mixture::first_exhausted), and N = max n_i / s_i until every row was read (all_exhausted).
/// Hugging Face's interleave_datasets draws the same numbers, on average, at random.
void draw_by_shares(std::span<MixedSet> sets, std::span<const double> shares,
                    planner::Mixture until);

/// The order in which a mixture of `sets` is read. The last twentieth of each set is validation (if
/// that is no document of any set, one of the largest), read once whatever the passes. The other t
/// documents of a set are read m = round(passes t) times in all, at least once: as often as they
/// fit as a whole, then m mod t of them at even distances. Sets are interleaved so that the j-th
/// (from 0) of a set's m readings stands at (2 j + 1) / 2 m of the whole: every part of the order
/// holds the sets in proportion.
[[nodiscard]] MixedOrder mixed_order(std::span<const MixedSet> sets);

}  // namespace sluice::engine
