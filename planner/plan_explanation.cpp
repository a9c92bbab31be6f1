#include "planner/plan_explanation.hpp"

#include <algorithm>

#include "planner/machine_resources.hpp"
#include "planner/more_kept.hpp"
#include "planner/parallel_for.hpp"
#include "planner/run_step.hpp"

namespace sluice::planner {
namespace {

/// What more of each resource does to one plan's step on one machine.
class Reliefs {
 public:
  Reliefs(const Predictor& predictor, const Calibration& calibration,
          const SearchSettings& settings)
      : predictor_(predictor), calibration_(calibration), settings_(settings) {}

  /// `factor` times as much of each with the plan as it is, most helpful first.
  [[nodiscard]] std::vector<Relief> of_all(const Plan& plan, Duration step, double factor) const {
    const auto resources = machine_resources();
    std::vector<Relief> all(resources.size());
    parallel_for(resources.size(), settings_.threads,
                 [&](std::size_t i) { all[i] = as_is(resources[i], plan, step, factor); });
    sort(all);
    return all;
  }

  [[nodiscard]] Relief of(const MachineResource& resource, const Plan& plan, Duration step,
                          double factor, Replan replan) const {
    Relief relief = as_is(resource, plan, step, factor);
    if (replan == Replan::where_it_helps) search_again(relief);
    return relief;
  }

  /// Plans that keep more, with more of a memory that the plan comes near to filling.
  void keep_more_of(std::vector<Relief>& all, const Memory& memory) const {
    for (Relief& relief : all) {
      if (!may_help(relief, memory)) continue;
      const Predictor there = with(relief);
      take(relief, keep_more(relief.plan, relief.step, there, settings_.pins, settings_.threads));
    }
    sort(all);
  }

  /// A quick search for the first rate, and for the memories that the plan comes near to filling
  /// and that keeping more in them did not make faster than `step`.
  void search_again(std::vector<Relief>& all, const Memory& memory, Duration step) const {
    std::vector<std::size_t> chosen;
    bool rate_chosen = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool rate = machine_resource(all[i].resource).kind == ResourceKind::rate;
      const bool memory_felt = !rate && all[i].step < step;
      if (rate ? rate_chosen : memory_felt || !may_help(all[i], memory)) continue;
      rate_chosen = rate_chosen || rate;
      chosen.push_back(i);
    }
    parallel_for(chosen.size(), settings_.threads,
                 [&](std::size_t i) { search_again(all[chosen[i]]); });
    sort(all);
  }

 private:
  static void sort(std::vector<Relief>& all) {
    std::ranges::stable_sort(all, {}, [](const Relief& one) { return one.step; });
  }

  /// The plan as it is. More of a capacity changes nothing for it.
  [[nodiscard]] Relief as_is(const MachineResource& resource, const Plan& plan, Duration step,
                             double factor) const {
    Relief relief{.resource = resource.name, .factor = factor, .step = step, .plan = plan};
    if (resource.kind != ResourceKind::rate) return relief;
    relief.step = predictor_with_more(predictor_, calibration_, resource, factor)
                      .predict(plan)
                      .prediction.step;
    return relief;
  }

  /// Whether it is a memory, so full that the plan could do with more.
  static bool may_help(const Relief& relief, const Memory& memory) {
    const ResourceKind kind = machine_resource(relief.resource).kind;
    if (kind == ResourceKind::rate) return false;
    const TierMemory& tier = at(memory, kind == ResourceKind::hbm ? Tier::hbm : Tier::host);
    return static_cast<double>(tier.peak.count()) * kMore >
           static_cast<double>(tier.capacity.count());
  }

  [[nodiscard]] Predictor with(const Relief& relief) const {
    return predictor_with_more(predictor_, calibration_, machine_resource(relief.resource),
                               relief.factor);
  }

  static void take(Relief& relief, const std::optional<ScoredPlan>& found) {
    relief.searched = true;
    if (!found || found->step >= relief.step) return;
    relief.step = found->step;
    relief.plan = found->plan;
  }

  void search_again(Relief& relief) const {
    const Predictor there = with(relief);
    SearchSettings quick = settings_;
    quick.effort =
        settings_.effort > 0 ? std::min(settings_.effort, kCompareEffort) : kCompareEffort;
    quick.threads = 1;
    const auto found = search(there, quick);
    const auto* planned = std::get_if<Planned>(&found);
    if (planned == nullptr) return take(relief, std::nullopt);
    take(relief, ScoredPlan{planned->best.prediction.plan, planned->best.prediction.step});
  }

  const Predictor& predictor_;
  const Calibration& calibration_;
  const SearchSettings& settings_;
};

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

/// The first resource doubled until something else is shorter. On the way there plans stay as they
/// are but for the one that the first resource itself calls for.
NextBottleneck next_after(const Relief& first, const PredictedStep& step,
                          const Predictor& predictor, const Calibration& calibration,
                          const SearchSettings& settings, Replan replan) {
  constexpr double kMost = 4;
  const MachineResource& resource = machine_resource(first.resource);
  const Reliefs here(predictor, calibration, settings);
  NextBottleneck next;
  Plan plan = step.prediction.plan;
  for (double factor = 2;; factor *= 2) {
    next.relieved = here.of(resource, plan, step.prediction.step, factor, replan);
    plan = next.relieved.plan;
    const Duration relieved = next.relieved.step;
    const Predictor there = predictor_with_more(predictor, calibration, resource, factor);
    const Calibration calibrated =
        rescaled(calibration, predictor.machine().profile, there.machine().profile);
    const Reliefs reliefs(there, calibrated, settings);
    std::vector<Relief> all = reliefs.of_all(plan, relieved, kMore);
    const bool last = all.front().resource != first.resource || factor >= kMost;
    if (!last) continue;
    if (replan == Replan::where_it_helps) {
      reliefs.keep_more_of(all, there.predict(plan).prediction.memory);
    }
    next.resource = felt(relieved, all.front().step) ? all.front().resource : "";
    next.step = all.front().step;
    return next;
  }
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
  const Reliefs reliefs(predictor, calibration, settings);
  explanation.reliefs = reliefs.of_all(p.plan, p.step, kMore);
  if (replan == Replan::where_it_helps) {
    reliefs.keep_more_of(explanation.reliefs, p.memory);
    reliefs.search_again(explanation.reliefs, p.memory, p.step);
  }
  if (const Relief* first = explanation.first()) {
    explanation.next = next_after(*first, step, predictor, calibration, settings, replan);
  }
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
    if (searched->step <= relief.step) relief = *searched;
  }
  std::ranges::stable_sort(explanation.reliefs, {}, &Relief::step);
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
