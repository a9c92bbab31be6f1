#include "engine/disk/block_checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace sluice::engine {

std::uint64_t block_checksum(std::int64_t block, std::int64_t step,
                             std::span<const std::byte> bytes) {
  const std::array<std::int64_t, 2> place = {block, step};
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(place.data(), sizeof place));
}

}  // namespace sluice::engine
