#include "engine/datasets/token_source.hpp"

namespace sluice::engine {

void SyntheticTokens::read(std::int64_t position, std::span<std::int32_t> inputs,
                           std::span<std::int32_t> targets) {
  // A 64-bit linear congruential generator (D. Knuth's MMIX constants); its high bits are used.
  std::uint64_t state = seed_ + static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15ULL;
  const auto next = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int32_t>((state >> 33) % static_cast<std::uint64_t>(vocab_));
  };
  for (std::int32_t& token : inputs) token = next();
  for (std::int32_t& token : targets) token = next();
}

}  // namespace sluice::engine
