// What attention's softmax passes through besides its keys: a bound of the scores, and a sink, a
// learned logit of each head that joins the softmax without a value of its own.
#include <algorithm>
#include <cmath>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

void BlockRun::bound(float* scores, std::int64_t n) const {
  if (!shape_.scales.attention_softcap) return;
  plain_.softcap(scores, n, score_scale_, static_cast<float>(*shape_.scales.attention_softcap));
}

float BlockRun::softmax_scale() const {
  return shape_.scales.attention_softcap ? 1.0f : score_scale_;
}

float BlockRun::sink(std::int64_t head) const {
  const WeightMatrix weight = matrix(slots_.sinks);
  float value = 0;
  plain_.join(weight.high + head, weight.low == nullptr ? nullptr : weight.low + head, 1, &value);
  return value;
}

// lse' = log(e^lse + e^sink); the keys keep the share e^(lse - lse') of the softmax.
float BlockRun::join_sink(float lse, std::int64_t head, std::int64_t query) {
  if (!slots_.sinks.exists()) return lse;
  const double one = lse;
  const double other = sink(head);
  const double most = std::max(one, other);
  const auto joined =
      static_cast<float>(most + std::log(std::exp(one - most) + std::exp(other - most)));
  shares_[static_cast<std::size_t>(query)] = static_cast<float>(std::exp(one - double{joined}));
  return joined;
}

void BlockRun::leave_sink(float* output, std::int64_t query) const {
  if (!slots_.sinks.exists()) return;
  plain_.scale(output, value_dim_, shares_[static_cast<std::size_t>(query)]);
}

// The sink's value is zero, so the gradient of its probability p is zero: d sink = p (0 - delta).
void BlockRun::sink_backward(std::int64_t head, float lse, float delta, float* gradient) const {
  if (!slots_.sinks.exists()) return;
  const double probability = std::exp(double{sink(head)} - double{lse});
  float& sum = gradient[slots_.sinks.offset + head];
  sum = static_cast<float>(sum - probability * double{delta});
}

}  // namespace sluice::engine
