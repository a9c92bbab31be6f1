// What Gemma 2 to 4 have in common, for their readers.
#pragma once

#include "planner/models/family_defaults.hpp"
#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Defaults of the classes of Gemma 2, without their windows, vocabulary and positions.
[[nodiscard]] FamilyDefaults gemma_defaults();

/// Reads biases, and makes the embedding a scaled one, as in all of them.
void read_gemma_embedding(const sim::JsonObject& config, ModelShape& shape);

/// Gives blocks norms around both sublayers.
void add_gemma_norms(ModelShape& shape);

}  // namespace sluice::planner
