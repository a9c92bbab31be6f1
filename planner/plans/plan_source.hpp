// Where a plan comes from.
#pragma once

namespace sluice::planner {

/// A plan file counts before a policy, and both before the store.
enum class PlanSource { file, policy, stored, searched };

/// "given" (by a file or a policy), "stored" or "searched".
[[nodiscard]] inline const char* to_string(PlanSource source) {
  if (source == PlanSource::stored) return "stored";
  return source == PlanSource::searched ? "searched" : "given";
}

}  // namespace sluice::planner
