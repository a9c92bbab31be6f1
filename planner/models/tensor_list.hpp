// Tensors that follow each other in a unit's vector.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Smallest number of elements, at least `elements`, behind which a tensor may begin.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t elements) {
  return (elements + kTensorAlign - 1) / kTensorAlign * kTensorAlign;
}

/// List of tensors that follow each other in a unit's vector, each aligned. What is added comes
/// back to be said more of, until the next is added.
class TensorList {
 public:
  TensorSpec& matrix(TensorRole role, std::string name, std::int64_t rows, std::int64_t cols) {
    return add(role, std::move(name), rows, cols, true);
  }
  TensorSpec& vector(TensorRole role, std::string name, std::int64_t size) {
    return add(role, std::move(name), 1, size, false);
  }
  [[nodiscard]] UnitTensors take() { return std::move(unit_); }

 private:
  TensorSpec& add(TensorRole role, std::string name, std::int64_t rows, std::int64_t cols,
                  bool decays) {
    const std::int64_t offset = unit_.padded_size;
    unit_.padded_size = padded(offset + rows * cols);
    unit_.tensors.push_back({std::move(name), rows, cols, offset, decays, role});
    return unit_.tensors.back();
  }
  UnitTensors unit_;
};

/// Adds the tensors of a gated delta net, from the projections of its input to that of its output;
/// `prefix` is the block's, such as "model.layers.3.".
void add_delta_net(TensorList& list, const ModelShape& shape, const std::string& prefix);

/// Adds the tensors of latent attention, likewise.
void add_latent_attention(TensorList& list, const ModelShape& shape, const std::string& prefix);

}  // namespace sluice::planner
