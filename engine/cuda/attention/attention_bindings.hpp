// Arguments of attention's cuDNN plans: addresses by tensor, and the scalars of one shape.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cuda/attention/attention_graph.hpp"
#include "engine/cuda/attention/cudnn_plan.hpp"

namespace sluice::engine {

class AttentionBindings {
 public:
  /// Gives the plan the address of its tensor `name`. cuDNN takes every address as writable, but
  /// writes only to results.
  void add(AttentionTensor name, const void* address) {
    entries_.at(count_++) = {.id = static_cast<std::int64_t>(name),
                             .address = const_cast<void*>(address)};
  }
  [[nodiscard]] std::span<const CudnnBinding> view() const { return {entries_.data(), count_}; }

 private:
  std::array<CudnnBinding, kMostCudnnBindings> entries_{};
  std::size_t count_ = 0;
};

/// Values of the scalars that cuDNN plans of one attention shape read (AttentionTensor::scale to
/// ::queries), in host memory.
class AttentionScalars {
 public:
  explicit AttentionScalars(const AttentionShape& shape);
  /// Adds the addresses of all scalars that plans of the shape read, but `one`. This object must
  /// live until the plan has been executed.
  void bind(AttentionBindings& bindings) const;
  void bind_one(AttentionBindings& bindings) const { bindings.add(AttentionTensor::one, &one_); }

 private:
  float scale_;
  float one_ = 1.0F;
  float masked_;
  float window_ = 0;
  std::int32_t keys_;
  std::int32_t queries_;
  bool windowed_;
  bool last_queries_;
};

}  // namespace sluice::engine
