// Checksum that recognises a disk block when it is read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::engine {

/// XXH3 hash of `bytes`, the contents of block number `block` of the disk file, seeded with that
/// number and with the step that wrote it, so that a misplaced or outdated block does not match
/// either.
[[nodiscard]] std::uint64_t block_checksum(std::int64_t block, std::int64_t step,
                                           std::span<const std::byte> bytes);

}  // namespace sluice::engine
