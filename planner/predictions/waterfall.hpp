// The waterfall: to what each second between the machine's bound for a job and its predicted or
// measured step went.
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

/// Part of the time of a step that lies above its bound.
enum class WaterfallTerm : std::uint8_t {
  /// Compute time at the ceilings less the bound: zero where compute sets the bound, else negative,
  /// because the following terms are counted from the compute time.
  not_compute,
  /// Time of the forward and backward kernels that every plan must run, less what they would take
  /// at the fastest rates known (ceilings); negative where they ran faster than those.
  kernels,
  recomputation,  ///< Time of passes that only rebuild what the forward pass did not keep.
  optimizer,      ///< Time of optimizer updates on the compute lane.
  /// Idle time of the compute lane while it waits for updates on the CPU, or for their state.
  updates,
  weights,      ///< Idle time of the compute lane while it waits for weights.
  gradients,    ///< Idle time of the compute lane while it waits for gradients.
  activations,  ///< Idle time of the compute lane while it waits for kept records.
  /// Idle time of the compute lane with nothing else to wait for: dispatch, and gaps between
  /// kernels.
  launches,
  /// Idle time of the compute lane at the step's end (`grads`), and while it waits for the step's
  /// tokens.
  synchronization,
};
inline constexpr std::size_t kWaterfallTerms = 10;
const char* to_string(WaterfallTerm term);  ///< Name of the term in JSON, such as "recomputation".
/// Name of the term in the JSON of waterfall_above(), where `kernels` is "slowed_kernels".
const char* name_above(WaterfallTerm term);

/// The parts of which a step consists, in nanoseconds: bound + all terms = step, exactly.
struct Waterfall {
  Duration step{0};
  Duration bound{0};
  BoundBy bound_by = BoundBy::compute;
  std::array<Duration, kWaterfallTerms> terms{};  ///< Time of each part, by WaterfallTerm.
  [[nodiscard]] Duration at(WaterfallTerm term) const {
    return terms[static_cast<std::size_t>(term)];
  }
  [[nodiscard]] Duration& at(WaterfallTerm term) { return terms[static_cast<std::size_t>(term)]; }
  [[nodiscard]] double bound_ratio() const { return to_seconds(step) / to_seconds(bound); }
};

/// The waterfall of the period from the end of s2/grads to the end of s3/grads, with the idle times
/// of stall_times(). `spans` has one element a task of `graph`, predicted or measured.
[[nodiscard]] Waterfall waterfall(const StepGraph& graph, const std::vector<TaskTimes>& spans,
                                  const Ceilings& ceilings);
/// The waterfall of a period whose idle times are known.
[[nodiscard]] Waterfall waterfall(const StallTimes& stalls, const Ceilings& ceilings);

/// The waterfall from the bound that a prediction rests on (Prediction::bound), in which every
/// kernel takes its time alone, so that `kernels` is how much copies and updates slow them. Where
/// another resource than compute sets the bound, the bound itself contains idle time of the compute
/// lane: it is taken off the waits that this resource causes first, then off the others, so that
/// every term is what the step takes above the bound and `not_compute` is zero wherever the bound
/// is no larger than that.
[[nodiscard]] Waterfall waterfall_above(const StallTimes& stalls, const Bound& bound);

/// Name of the term in the tables of waterfall_above(), such as "slowed kernels" or "exposed
/// weights".
[[nodiscard]] const char* label_above(WaterfallTerm term);

/// One column of waterfall_table, with its heading.
struct WaterfallColumn {
  std::string name;  ///< Heading of the column, "predicted" or "measured".
  Waterfall waterfall;
};
/// Text of a table with one line a term and the columns side by side; all columns must be of one
/// job on one machine.
[[nodiscard]] std::string waterfall_table(const std::vector<WaterfallColumn>& columns);
/// The waterfall as JSON text: {"step_s", "bound_s", "bound_by", "bound_ratio", "terms_s": {term:
/// seconds}}.
[[nodiscard]] std::string waterfall_json(const Waterfall& waterfall);

}  // namespace sluice::planner
