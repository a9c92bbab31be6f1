// How long a user lets a search take, as a multiple of the usual.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::planner {

/// Tasks that a search `times` as long as the usual may build and simulate, at least one. Throws
/// BadRequest naming `field` where it is not above 0 and at most a million.
[[nodiscard]] std::int64_t search_effort(double times, const std::string& field);

}  // namespace sluice::planner
