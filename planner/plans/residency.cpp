#include "planner/plans/residency.hpp"

namespace sluice::planner {

const char* to_string(Residency residency) {
  return residency == Residency::automatic ? "auto" : "host";
}

}  // namespace sluice::planner
