// Origin of a plan.
#pragma once

namespace sluice::planner {

/// Origin of a run's plan: its plan file, its policy, the user's store of plans, or a search; the
/// first of these that the run has.
enum class PlanSource { file, policy, stored, searched };

/// Name of the origin: "given" (by a file or a policy), "stored" or "searched".
[[nodiscard]] inline const char* to_string(PlanSource source) {
  if (source == PlanSource::stored) return "stored";
  return source == PlanSource::searched ? "searched" : "given";
}

}  // namespace sluice::planner
