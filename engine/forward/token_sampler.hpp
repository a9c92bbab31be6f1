// Choice of the next token from logits: the most likely one, or one drawn at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

struct SamplerSettings {
  /// The logits are divided by it before a token is drawn; 0 draws nothing and takes the most
  /// likely token, the one with the lowest id among equals.
  double temperature = 0;
  std::int64_t top_k = 0;  ///< Number of most likely tokens among which one is drawn; 0: among all.
  /// One is drawn only among the smallest set of most likely tokens whose probabilities add up to
  /// this; 1: among all.
  double top_p = 1;
  std::uint64_t seed = 1;
};

/// Chooses tokens by their logits. The n-th choice is a function of its logits, the settings and n
/// alone.
class TokenSampler {
 public:
  explicit TokenSampler(const SamplerSettings& settings) : settings_(settings) {}
  /// Id of the next token, chosen from `logits` [vocab]. Applies temperature, then top_k, then
  /// top_p, in the order of transformers. Throws BadRequest if the largest logit is not finite.
  [[nodiscard]] std::int32_t next(std::span<const float> logits);

 private:
  [[nodiscard]] double uniform();

  SamplerSettings settings_;
  std::uint64_t drawn_ = 0;
  std::vector<std::int32_t> order_;
  std::vector<double> weights_;
};

}  // namespace sluice::engine
