// The effort of a search, stated by a user as a multiple of the usual one.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::planner {

/// Number of tasks that a search of `times` the usual effort may build and simulate; at least one.
/// Throws BadRequest naming `field` unless `times` is above 0 and at most a million.
[[nodiscard]] std::int64_t search_effort(double times, const std::string& field);

}  // namespace sluice::planner
