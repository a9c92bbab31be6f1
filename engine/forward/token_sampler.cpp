#include "engine/forward/token_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/error.hpp"

namespace sluice::engine {

/// Uniform random number in 53 bits: the finalizer of SplitMix64 (S. Vigna 2015) applied to seed
/// and number.
double TokenSampler::uniform() {
  std::uint64_t x = settings_.seed * 0x9e3779b97f4a7c15ULL + ++drawn_ * 0xd1342543de82ef95ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

std::int32_t TokenSampler::next(std::span<const float> logits) {
  const auto largest = std::ranges::max_element(logits);
  if (!std::isfinite(*largest)) {
    throw BadRequest("the model's logits are not finite numbers: its weights are not usable");
  }
  if (settings_.temperature <= 0) return static_cast<std::int32_t>(largest - logits.begin());
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto kept = static_cast<std::ptrdiff_t>(
      settings_.top_k > 0 ? std::min<std::int64_t>(settings_.top_k, std::ssize(logits))
                          : std::ssize(logits));
  const auto more_likely = [&logits](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order_.begin(), order_.begin() + kept, order_.end(), more_likely);
  weights_.resize(static_cast<std::size_t>(kept));
  double total = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double logit = logits[static_cast<std::size_t>(order_[i])];
    weights_[i] = std::exp((logit - static_cast<double>(*largest)) / settings_.temperature);
    total += weights_[i];
  }
  double within = 0;
  std::size_t count = 0;
  while (count < weights_.size() && (count == 0 || within < settings_.top_p * total)) {
    within += weights_[count++];
  }
  double point = uniform() * within;
  for (std::size_t i = 0; i < count; ++i) {
    point -= weights_[i];
    if (point < 0) return order_[i];
  }
  return order_[count - 1];
}

}  // namespace sluice::engine
