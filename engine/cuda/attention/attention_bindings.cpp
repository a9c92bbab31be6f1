#include "engine/cuda/attention/attention_bindings.hpp"

#include <cmath>
#include <limits>

namespace sluice::engine {

AttentionScalars::AttentionScalars(const AttentionShape& shape)
    : scale_(shape.scale ? static_cast<float>(*shape.scale)
                         : 1.0F / std::sqrt(static_cast<float>(shape.head_dim))),
      masked_(-std::numeric_limits<float>::infinity()),
      keys_(static_cast<std::int32_t>(shape.length)),
      queries_(static_cast<std::int32_t>(shape.queries.value_or(shape.length))),
      windowed_(shape.window.has_value()),
      last_queries_(shape.queries.has_value()) {
  // Among the last queries, query i sees key j if j + window > i + keys - queries.
  if (shape.window) window_ = static_cast<float>(*shape.window - (keys_ - queries_));
}

void AttentionScalars::bind(AttentionBindings& bindings) const {
  bindings.add(AttentionTensor::scale, &scale_);
  bindings.add(AttentionTensor::masked, &masked_);
  if (windowed_) bindings.add(AttentionTensor::window, &window_);
  if (last_queries_) {
    bindings.add(AttentionTensor::keys, &keys_);
    bindings.add(AttentionTensor::queries, &queries_);
  }
}

}  // namespace sluice::engine
