// The order in which the documents of several data sets are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

/// One data set of a mixture.
struct MixedSet {
  std::int64_t documents = 0;
  double passes = 1;  ///< Readings of its training documents in a pass over the mixture.
};

/// A document of one of the sets.
struct MixedDocument {
  std::int64_t set, document;
  friend bool operator==(const MixedDocument&, const MixedDocument&) = default;
};

/// Documents in order: those to train on, then those to validate with.
struct MixedOrder {
  std::vector<MixedDocument> documents;
  std::int64_t training = 0;
};

/// The order of a mixture. The last twentieth of each set (at least one document of all sets) is
/// validation, read once whatever the passes. The other t documents of a set are read
/// m = round(passes t) times in all, at least once: as often as they fit as a whole, then m mod t
/// of them at even distances. Sets are interleaved so that the j-th of a set's m readings stands at
/// (2 j + 1) / 2 m of the whole: every part of the order holds the sets in proportion.
[[nodiscard]] MixedOrder mixed_order(std::span<const MixedSet> sets);

}  // namespace sluice::engine
