#include "planner/effort/search_effort.hpp"

#include <algorithm>

#include "planner/search/search.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::int64_t search_effort(double times, const std::string& field) {
  constexpr double kMost = 1e6;
  if (!(times > 0 && times <= kMost)) {
    throw BadRequest(field + ": must be above 0 and at most 1000000; 1 is the usual");
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(times * kUsualEffort));
}

}  // namespace sluice::planner
