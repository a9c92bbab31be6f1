// Record of tensors that a run carries from its model's folder to its exports.
#pragma once

#include <cstdint>

#include "sim/units.hpp"

namespace sluice::engine {

/// Tensors of a model's folder that are no part of its text model: they are not trained, and an
/// export copies them from there.
struct CarriedRecord {
  std::int64_t tensors = 0;
  Bytes bytes{0};
  friend bool operator==(const CarriedRecord&, const CarriedRecord&) = default;
};

}  // namespace sluice::engine
