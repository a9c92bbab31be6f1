// The AVX-512 update with other stores and other distances of prefetching than the engine's: what
// the choice in docs/design/cpu-optimizer.md rests on.
#pragma once

#include <span>
#include <string_view>

#include "engine/optimizer/adamw.hpp"

namespace sluice::engine::bench {

struct AdamWVariant {
  std::string_view name;
  decltype(AdamWPath::update) update;  ///< fp32 gradients only.
};
/// Empty where they were not compiled; only for processors that have AVX-512.
[[nodiscard]] std::span<const AdamWVariant> adamw_variants();

}  // namespace sluice::engine::bench
