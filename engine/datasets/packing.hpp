// Packing of documents into sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

/// Packs pieces of documents into sequences of `room` places by best-fit decreasing (D. Johnson
/// 1973): the longest first, each into the sequence with the least remaining room that still fits
/// it; uses at most 11/9 of the fewest possible sequences, plus one. `lengths`, at most `room`, are
/// the pieces' places. Returns the indices of each sequence's pieces in ascending order, sequences
/// ordered by their first pieces.
[[nodiscard]] std::vector<std::vector<std::int64_t>> packed(std::span<const std::int64_t> lengths,
                                                            std::int64_t room);

}  // namespace sluice::engine
