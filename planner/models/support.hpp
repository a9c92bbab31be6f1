// Which parts of a model the engine's backends compute.
#pragma once

#include <optional>
#include <string>

#include "planner/models/shape.hpp"

namespace sluice::planner {

/// The first part of `shape` that the host backend does not compute, as words that follow "has",
/// such as "attention sinks"; none where it computes the whole model.
[[nodiscard]] std::optional<std::string> unsupported_by_host(const ModelShape& shape);

/// The first part of `shape` that the cuda backend does not compute, as unsupported_by_host says
/// it; none where it computes the whole model.
[[nodiscard]] std::optional<std::string> unsupported_by_cuda(const ModelShape& shape);

/// Throws BadRequest where the cuda backend does not compute all of `shape`.
void require_computed_by_cuda(const ModelShape& shape);

}  // namespace sluice::planner
