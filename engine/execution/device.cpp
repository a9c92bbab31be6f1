#include "engine/execution/device.hpp"

#include <string>

#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::engine {
namespace {

void require_room(Bytes needed, Bytes capacity, const char* what) {
  if (needed <= capacity) return;
  throw Error(ExitCode::does_not_fit,
              std::string("the plan needs ") + planner::format_exact(needed) + " of " + what +
                  " and " + planner::format_exact(capacity) +
                  " may be used: raise limits, or let the planner choose another plan");
}

}  // namespace

void require_room(const ArenaSizes& needed, const ArenaSizes& capacity) {
  require_room(needed.device, capacity.device, "hbm");
  require_room(needed.host, capacity.host, "host memory");
}

}  // namespace sluice::engine
