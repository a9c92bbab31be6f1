// Stochastic rounding to bf16 by a counter-based generator: the random bits of an element follow
// from the run's seed, the step, the unit and the element's position in the unit's whole vector
// alone, so that they depend on no plan, rank, thread or piece. Host and CUDA device share these
// functions; they have internal linkage, because sources for one instruction set call them.
#pragma once

#include <cstdint>

namespace sluice::engine {

/// Mixes 64 bits so that every input bit changes about half of the output's. Source: Steele, Lea
/// and Flood, "Fast splittable pseudorandom number generators" (2014), the finalizer of SplitMix64.
[[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/// Distance of the counters that SplitMix64 mixes: 2^64 over the golden ratio.
inline constexpr std::uint64_t kGoldenStride = 0x9e3779b97f4a7c15u;

/// Stream of random bits of one step of a run with the seed `seed`.
[[nodiscard]] static constexpr std::uint64_t rounding_stream(std::uint64_t seed,
                                                             std::int64_t step) {
  return mixed(mixed(seed + kGoldenStride) + kGoldenStride * static_cast<std::uint64_t>(step));
}

/// Key of the random bits of one unit's elements in one step.
struct RoundingKey {
  std::uint32_t first, second;
};
[[nodiscard]] static constexpr RoundingKey rounding_key(std::uint64_t stream, std::int64_t unit) {
  const std::uint64_t key = mixed(stream + kGoldenStride * (static_cast<std::uint64_t>(unit) + 1));
  return {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)};
}
/// The key for elements of the run of 2^32 elements that begins at `position` with its lower 32
/// bits cleared.
[[nodiscard]] static constexpr RoundingKey key_at(RoundingKey key, std::int64_t position) {
  const auto run = static_cast<std::uint32_t>(static_cast<std::uint64_t>(position) >> 32);
  return {key.first, key.second + run * 0x9e3779b9u};
}

/// Random bits of the element whose position has the lower 32 bits `position`; `key` is that of its
/// run (key_at). The finalizer of MurmurHash3 (Appleby, 2011) with a second key between its
/// products.
[[nodiscard]] static constexpr std::uint32_t random_word(RoundingKey key, std::uint32_t position) {
  std::uint32_t bits = position ^ key.first;
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
  bits ^= key.second;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
  return bits ^ (bits >> 16);
}

/// Rounds to one of the two nearest bf16, to the larger one in magnitude if `random`, below 2^16,
/// is at least as far from 2^16 as the dropped bits are from 0: on average the value itself.
/// Infinities stay, and every NaN becomes the same one.
[[nodiscard]] static constexpr std::uint16_t stochastic_bf16(float value, std::uint32_t random) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(nan ? 0x7fc0u : (bits + random) >> 16);
}

}  // namespace sluice::engine
