// From the machine's bound for a job down to the step that was predicted or measured: what each
// second between them went to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/predictions/ceilings.hpp"
#include "planner/predictions/stalls.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class WaterfallTerm : std::uint8_t {
  not_compute,    ///< Compute ceiling less the bound: zero where compute sets the bound, else
                  ///< negative. From here on the base is the compute ceiling.
  kernels,        ///< Required passes less their ceilings; negative where they beat the profile's.
  recomputation,  ///< Passes that only rebuild what was not kept.
  optimizer,      ///< Updates on the compute lane.
  updates,        ///< The compute lane idle, waiting for updates on the CPU or for their state.
  weights,        ///< Idle: weights on their way.
  gradients,      ///< Idle: gradients on their way.
  activations,    ///< Idle: kept records on their way.
  launches,       ///< Idle with nothing else to wait for: dispatch, and gaps between kernels.
  meeting,        ///< The step's meeting at `grads`, and waiting for its tokens.
};
inline constexpr std::size_t kWaterfallTerms = 10;
const char* to_string(WaterfallTerm term);  ///< As JSON names it: "recomputation".
/// As JSON names a term of waterfall_above: `kernels` is "slowed_kernels".
const char* name_above(WaterfallTerm term);

/// bound + terms = step, to the nanosecond.
struct Waterfall {
  Duration step{0};
  Duration bound{0};
  BoundBy bound_by = BoundBy::compute;
  std::array<Duration, kWaterfallTerms> terms{};
  [[nodiscard]] Duration at(WaterfallTerm term) const {
    return terms[static_cast<std::size_t>(term)];
  }
  [[nodiscard]] Duration& at(WaterfallTerm term) { return terms[static_cast<std::size_t>(term)]; }
  [[nodiscard]] double bound_ratio() const { return to_seconds(step) / to_seconds(bound); }
};

/// Of the period s2/grads to s3/grads. Idle times are stall_times'; `spans` as there: one element a
/// task of `graph`, predicted or measured.
[[nodiscard]] Waterfall waterfall(const StepGraph& graph, const std::vector<TaskTimes>& spans,
                                  const Ceilings& ceilings);
/// The same from stalls that were read already.
[[nodiscard]] Waterfall waterfall(const StallTimes& stalls, const Ceilings& ceilings);

/// From the bound that a prediction rests on (Prediction::bound): every kernel at the time it takes
/// alone, so that `kernels` is how much copies and updates slow them. Where another resource than
/// compute sets the bound, the bound itself contains idle time of the compute lane: it is taken off
/// the waits that this resource causes first, then off the others, so that every term is what the
/// step takes above the bound and `not_compute` is zero wherever the bound is no larger than that.
[[nodiscard]] Waterfall waterfall_above(const StallTimes& stalls, const Bound& bound);

/// What people call a term of waterfall_above: "slowed kernels", "exposed weights".
[[nodiscard]] const char* label_above(WaterfallTerm term);

/// A named column of waterfall_table.
struct WaterfallColumn {
  std::string name;  ///< "predicted", "measured"
  Waterfall waterfall;
};
/// One line a term, the columns side by side, all of one job on one machine.
[[nodiscard]] std::string waterfall_table(const std::vector<WaterfallColumn>& columns);
/// {"step_s", "bound_s", "bound_by", "bound_ratio", "terms_s": {term: s}} as JSON text.
[[nodiscard]] std::string waterfall_json(const Waterfall& waterfall);

}  // namespace sluice::planner
