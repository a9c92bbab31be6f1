// Origin of a plan.
#pragma once

namespace sluice::planner {

/// Origin of a plan. A plan file has precedence over a policy, and both over the store.
enum class PlanSource { file, policy, stored, searched };

/// Name of the origin: "given" (by a file or a policy), "stored" or "searched".
[[nodiscard]] inline const char* to_string(PlanSource source) {
  if (source == PlanSource::stored) return "stored";
  return source == PlanSource::searched ? "searched" : "given";
}

}  // namespace sluice::planner
