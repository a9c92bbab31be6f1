#include "planner/explanation/plan_explanation.hpp"

#include <algorithm>

#include "planner/effort/search_settings.hpp"
#include "planner/explanation/machine_resources.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {
namespace {

bool felt(Duration before, Duration after) {
  return to_seconds(before - after) > kFelt * to_seconds(before);
}

std::optional<BoundBy> next_of(const Bound& bound) {
  std::optional<BoundBy> next;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto by = static_cast<BoundBy>(i);
    if (by == bound.by || by == BoundBy::chain || bound.each[i].count() <= 0) continue;
    if (!next || bound.each[i] > bound.each[static_cast<std::size_t>(*next)]) next = by;
  }
  return next;
}

/// Doubles the first resource until another is the bottleneck. Meanwhile the plan stays the same,
/// but for the one that the first resource itself calls for. None where time is over first.
std::optional<NextBottleneck> next_after(const Relief& first, const PredictedStep& step,
                                         const Predictor& predictor, const Calibration& calibration,
                                         const SearchSettings& settings, Replan replan) {
  constexpr double kMost = 4;
  const MachineResource& resource = machine_resource(first.resource);
  const std::size_t tasks = step.graph.tasks.size();
  Reliefs here(predictor, calibration, settings, tasks);
  NextBottleneck next;
  Plan plan = step.prediction.plan;
  for (double factor = 2; !settings.is_late(); factor *= 2) {
    next.relieved = here.of(resource, plan, step.prediction.step, factor, replan);
    plan = next.relieved.plan;
    const Duration relieved = next.relieved.step;
    const Predictor there = predictor_with_more(predictor, calibration, resource, factor);
    const Calibration calibrated =
        rescaled(calibration, predictor.machine().profile, there.machine().profile);
    Reliefs reliefs(there, calibrated, settings, tasks);
    std::vector<Relief> all = reliefs.of_all(plan, relieved, kMore);
    const bool last = all.front().resource != first.resource || factor >= kMost;
    if (!last) continue;
    if (replan == Replan::where_it_helps && !settings.is_late()) {
      reliefs.keep_more_of(all, there.predict(plan).prediction.memory);
    }
    next.resource = felt(relieved, all.front().step) ? all.front().resource : "";
    next.step = all.front().step;
    return next;
  }
  return std::nullopt;
}

}  // namespace

const Relief* PlanExplanation::first() const {
  if (reliefs.empty() || !felt(step, reliefs.front().step)) return nullptr;
  return &reliefs.front();
}

PlanExplanation explain(const PredictedStep& step, const Predictor& predictor,
                        const Calibration& calibration, const SearchSettings& settings,
                        Replan replan) {
  const Prediction& p = step.prediction;
  PlanExplanation explanation{.bound = p.bound,
                              .step = p.step,
                              .next_bound = next_of(p.bound),
                              .waterfall = waterfall_above(p.stalls, p.bound)};
  Reliefs reliefs(predictor, calibration, settings, step.graph.tasks.size());
  explanation.reliefs = reliefs.of_all(p.plan, p.step, kMore);
  if (replan == Replan::where_it_helps) {
    reliefs.keep_more_of(explanation.reliefs, p.memory);
    reliefs.search_again(explanation.reliefs, p.memory, p.step);
  }
  reliefs.set_ratios(explanation.reliefs, p);
  if (const Relief* first = explanation.first()) {
    explanation.next = next_after(*first, step, predictor, calibration, settings, replan);
  }
  explanation.left_out = reliefs.left_out();
  const bool next_left_out = !explanation.next && explanation.first() != nullptr;
  if (next_left_out) explanation.left_out.emplace_back("what is short then");
  return explanation;
}

std::optional<Plan> better_plan(const PlanExplanation& explanation, const Predictor& predictor) {
  Duration least = explanation.step;
  std::optional<Plan> best;
  const auto consider = [&](const Relief& relief) {
    if (!relief.searched || relief.step >= explanation.step) return;
    const Duration here = predictor.score(relief.plan).step;
    if (here.count() == 0 || here >= least) return;
    least = here;
    best = relief.plan;
  };
  for (const Relief& relief : explanation.reliefs) consider(relief);
  if (explanation.next) consider(explanation.next->relieved);
  return best;
}

PlanExplanation explain_better(const PredictedStep& better, const PlanExplanation& before,
                               const Predictor& predictor, const Calibration& calibration,
                               const SearchSettings& settings) {
  PlanExplanation explanation = explain(better, predictor, calibration, settings, Replan::never);
  for (Relief& relief : explanation.reliefs) {
    const auto searched = std::ranges::find(before.reliefs, relief.resource, &Relief::resource);
    if (searched == before.reliefs.end()) continue;  // Only one of the plans uses the disk.
    if (searched->step > relief.step) continue;
    relief = *searched;
    // Its interval is that of a ratio to the plan explained before.
    relief.ratio.reset();
  }
  std::ranges::stable_sort(explanation.reliefs, {}, &Relief::step);
  Reliefs(predictor, calibration, settings, better.graph.tasks.size())
      .set_ratios(explanation.reliefs, better.prediction);
  const Relief* first = explanation.first();
  if (first != nullptr && before.next && before.next->relieved.resource == first->resource) {
    const bool faster = !explanation.next ||
                        explanation.next->relieved.resource != first->resource ||
                        before.next->relieved.step <= explanation.next->relieved.step;
    if (faster) explanation.next = before.next;
  } else if (first == nullptr ||
             (explanation.next && explanation.next->relieved.resource != first->resource)) {
    explanation.next.reset();
  }
  return explanation;
}

}  // namespace sluice::planner
