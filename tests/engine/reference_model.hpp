// Forward pass of the models in double precision, written as in the textbook; finite differences of
// it give reference gradients.
#pragma once

#include <vector>

#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {

using UnitDoubles = std::vector<std::vector<double>>;

[[nodiscard]] UnitDoubles to_double(const UnitVectors& weights);

/// Mean cross-entropy over all tokens of `model` with `weights` in place of its own.
[[nodiscard]] double reference_loss(const TinyModel& model, const UnitDoubles& weights);

/// Load-balancing loss that is added to the cross-entropy; 0 without a router_aux_loss_coef.
[[nodiscard]] double reference_balance_loss(const TinyModel& model, const UnitDoubles& weights);

/// Gradient of the loss (including the load-balancing loss, if any) with respect to every weight,
/// by central differences: (f(w + h) - f(w - h)) / 2 h with h = 1e-4. Its truncation error is h^2
/// f''' / 6, about 1e-9 of the gradient's scale; rounding adds 1e-12.
[[nodiscard]] UnitDoubles reference_gradients(const TinyModel& model);

}  // namespace sluice::engine::testing
