#include <algorithm>
#include <cmath>

#include "planner/costs/cost.hpp"

namespace sluice::planner {

Flops Work::flops() const {
  double total = 0;
  for (const Gemm& g : gemms) total += planner::flops(g).count();
  for (const AttentionWork& a : attention) total += planner::flops(a).count();
  return Flops(total);
}

std::int64_t expected_experts(const Experts& experts, std::int64_t tokens) {
  const auto count = static_cast<double>(experts.count);
  const double idle =
      std::pow(1 - static_cast<double>(experts.active) / count, static_cast<double>(tokens));
  return std::max(experts.active, static_cast<std::int64_t>(std::llround(count * (1 - idle))));
}

}  // namespace sluice::planner
