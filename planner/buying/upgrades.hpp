// Changes of a machine that can be ordered; each results in parts that go together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue/several_gpus.hpp"

namespace sluice::planner {

struct PartChange {
  /// The change in words, such as "+2 DIMMs: 4x32 GiB DDR5-5600 at 3600 MT/s instead of 2x32 GiB at
  /// 5600".
  std::string what;
  std::string setting;  ///< Flag that makes the change, such as --ram "4x32 GiB DDR5-5600".
  Composition parts;
  std::int64_t gpus = 1;  ///< Number of GPUs after the change.

  [[nodiscard]] CountedParts machine() const { return {.gpus = gpus, .parts = parts}; }
};

/// Changes that one order makes to a machine: more memory modules, larger ones, faster ones; a
/// board with the next wider memory; a GPU a step faster, and one about twice as fast; twice as
/// many GPUs; one more drive. With `needed`, also the smallest memory kit for so many bytes.
[[nodiscard]] std::vector<PartChange> part_changes(const CountedParts& machine,
                                                   std::optional<Bytes> needed = {});

/// FLOP/s of large matrix products, by which GPUs are ranked.
[[nodiscard]] FlopsPerSecond product_rate(const GpuPart& gpu);

}  // namespace sluice::planner
