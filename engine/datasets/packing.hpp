// Documents put together into sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

/// Best-fit decreasing (D. Johnson 1973): pieces, longest first, each go where the least room is
/// left that still takes them; never more than 11/9 of the fewest sequences, plus one. Returns the
/// pieces of each sequence in order, sequences in the order of their first pieces. Lengths are at
/// most `room`.
[[nodiscard]] std::vector<std::vector<std::int64_t>> packed(std::span<const std::int64_t> lengths,
                                                            std::int64_t room);

}  // namespace sluice::engine
