// Ranks among which bytes move or sums are made.
#pragma once

#include <cstdint>

namespace sluice::planner {

/// Ranks that take part together. Hosts hold equally many consecutive ranks each (Plan::hosts).
enum class Among : std::uint8_t {
  all,    ///< All ranks.
  host,   ///< The ranks of one host, each host for itself.
  hosts,  ///< The ranks that have one place on their hosts, each place for itself.
};

}  // namespace sluice::planner
