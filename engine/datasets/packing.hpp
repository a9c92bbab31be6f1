// Packing of documents into sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

/// Packs pieces by best-fit decreasing (D. Johnson 1973): longest first, each into the sequence
/// with the least remaining room that still fits it; uses at most 11/9 of the fewest possible
/// sequences, plus one. Returns the pieces of each sequence in order, sequences ordered by their
/// first pieces. Lengths must be at most `room`.
[[nodiscard]] std::vector<std::vector<std::int64_t>> packed(std::span<const std::int64_t> lengths,
                                                            std::int64_t room);

}  // namespace sluice::engine
