// Choosing a token from logits: the most likely one, or one at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

struct SamplerSettings {
  double temperature = 0;  ///< 0: the most likely token, the first of equals.
  std::int64_t top_k = 0;  ///< Only the k most likely; 0: all.
  double top_p = 1;        ///< Only the fewest most likely that have this probability together.
  std::uint64_t seed = 1;
};

/// Token n of a sampler of one seed is a function of its logits, the seed and n alone.
class TokenSampler {
 public:
  explicit TokenSampler(const SamplerSettings& settings) : settings_(settings) {}
  /// Temperature first, then top_k, then top_p, as transformers orders them.
  [[nodiscard]] std::int32_t next(std::span<const float> logits);

 private:
  [[nodiscard]] double uniform();

  SamplerSettings settings_;
  std::uint64_t drawn_ = 0;
  std::vector<std::int32_t> order_;
  std::vector<double> weights_;
};

}  // namespace sluice::engine
