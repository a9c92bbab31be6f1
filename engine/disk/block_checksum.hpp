// What a block must hold when it comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::engine {

/// XXH3 of `bytes`, seeded with where the block lies and the step that wrote it: a misplaced block
/// and one of an older step differ, too.
[[nodiscard]] std::uint64_t block_checksum(std::int64_t block, std::int64_t step,
                                           std::span<const std::byte> bytes);

}  // namespace sluice::engine
