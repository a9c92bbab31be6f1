#include "planner/buying/base_advice.hpp"

#include <algorithm>
#include <cmath>

#include "planner/buying/advice_text.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/buying/upgrade_worth.hpp"
#include "planner/buying/upgrades.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/costs/rescaled_passes.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/explanation/batch_that_hides_link.hpp"
#include "planner/explanation/machine_resources.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/predictions/timed_plan.hpp"
#include "planner/requests/larger_micro_batch.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_devices.hpp"
#include "planner/requests/run_step.hpp"
#include "planner/search/search.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

constexpr double kNudge = 1.1;  ///< Factor by which a resource grows to compute an elasticity.

/// A change of the base machine's numbers.
struct Variant {
  std::string what = {};
  std::string setting = {};
  /// Values of `machine.NAME` by NAME.
  std::vector<std::pair<std::string, std::string>> facts = {};
  std::optional<Bytes> hbm = {}, host = {};
};

ResolvedMachine changed(const ResolvedMachine& machine, const Variant& variant) {
  ResolvedMachine result = machine;
  for (const auto& [name, value] : variant.facts) set_fact(result.profile, name, value);
  result.profile.passes = rescaled_passes(machine.profile, result.profile);
  if (variant.hbm) result.hbm = *variant.hbm;
  if (variant.host) result.host = *variant.host;
  return result;
}

/// Hypothetical changes of a machine whose parts are not known, such as more memory (as much as is
/// `needed`, else twice as much) or a faster link.
std::vector<Variant> what_ifs(const ResolvedMachine& machine, std::optional<Bytes> needed) {
  std::vector<Variant> all;
  Bytes more = machine.host * 2;
  if (needed) {
    constexpr std::int64_t kGiB = 1ll << 30;
    more = Bytes((needed->count() + kGiB - 1) / kGiB * kGiB);
  }
  all.push_back({"host memory " + format_bytes(more) + " instead of " + format_bytes(machine.host),
                 "--host " + std::to_string(more.count() >> 20) + "MiB",
                 {},
                 std::nullopt,
                 more});
  all.push_back({"PCIe of the next generation, twice the rate each way",
                 "--set machine.h2d=2x --set machine.d2h=2x",
                 {{"h2d", "2x"}, {"d2h", "2x"}, {"h2d_duplex", "2x"}, {"d2h_duplex", "2x"}},
                 std::nullopt,
                 std::nullopt});
  all.push_back({"host memory channels doubled",
                 "--set machine.dram=2x --set machine.update=2x",
                 {{"dram", "2x"}, {"update", "2x"}},
                 std::nullopt,
                 std::nullopt});
  return all;
}

/// Names of elasticities, each with the facts that scale together: those of machine_resources, but
/// with each direction of the link by itself.
std::vector<std::pair<std::string, std::vector<std::string>>> rates(const Plan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (const MachineResource& resource : resources_of(plan)) {
    if (resource.kind != ResourceKind::rate) continue;
    if (resource.name != std::string("link")) {
      all.emplace_back(resource.name,
                       std::vector<std::string>(resource.facts.begin(), resource.facts.end()));
      continue;
    }
    for (const std::string way : {"h2d", "d2h"}) {
      all.emplace_back(way, std::vector<std::string>());
      for (const std::string fact : resource.facts) {
        if (fact.starts_with(way)) all.back().second.push_back(fact);
      }
    }
  }
  return all;
}

class BaseMachine {
 public:
  BaseMachine(const RunConfig& config, const Request& run, const TimedPlan* own)
      : config_(config), run_(run), own_(own) {}

  [[nodiscard]] Predictor with(const Variant& variant) const {
    const ResolvedMachine machine = changed(run_.predictor.machine(), variant);
    return {run_.predictor.job(),
            machine,
            rescaled(run_.calibration, run_.predictor.machine().profile, machine.profile),
            config_.residency,
            {},
            run_.predictor.ranks()};
  }

  /// Step on the changed machine, and its plan: the faster of the base's own plan and the best that
  /// a quick search finds.
  [[nodiscard]] std::optional<TimedPlan> step_of(const Predictor& predictor,
                                                 bool search_again) const {
    std::optional<TimedPlan> best;
    if (own_ != nullptr) {
      const Plan& plan = own_->plan;
      const PlanScore score = predictor.score(plan);
      if (score.step.count() > 0) best = TimedPlan{.plan = plan, .step = score.step};
    }
    if (!search_again) return best;
    SearchSettings quick = run_.search;
    quick.effort = kCompareEffort;
    const auto found = search(predictor, quick);
    if (const auto* planned = std::get_if<Planned>(&found)) {
      const Prediction& p = planned->best.prediction;
      if (!best || p.step < best->step) best = TimedPlan{.plan = p.plan, .step = p.step};
    }
    return best;
  }

  [[nodiscard]] double elasticity(const Variant& variant, bool search_again) const {
    const auto found = step_of(with(variant), search_again);
    const double before = to_seconds(own_->step).count();
    const double after = found ? to_seconds(found->step).count() : before;
    return std::log(after / before) / std::log(kNudge);
  }

 private:
  const RunConfig& config_;
  const Request& run_;
  const TimedPlan* own_;  ///< The machine's own plan; null where the job does not fit there.
};

/// The base machine with the parts of one order changed.
struct Ordered {
  Upgrade upgrade;
  /// The best plan found for the changed machine; none where nothing fits.
  std::optional<Plan> plan;
  std::optional<Plan> taken = {};  ///< The plan that takes the upgrade's step.
};

/// The base machine's step and its plan.
struct Before {
  Duration step;
  Plan plan;
};

/// Interval of the speedup from the base's step to that of an upgrade.
RatioInterval speedup_of(const Predictor& base, const Plan& before, const Predictor& upgraded,
                         const Plan& after) {
  return ratio_interval(base.predict(before).prediction.errors,
                        upgraded.predict(after).prediction.errors);
}

/// Upgrade by `change`: its step is that of the faster of the base's plan and of what `finder`
/// finds.
Ordered ordered(const RunConfig& config, const PartChange& change, const BuyRequest& request,
                PlanFinder& finder, const TimedPlan* base) {
  Ordered result{.upgrade = {.what = change.what, .setting = change.setting}, .plan = {}};
  const Request run = run_on(config, request, to_text(change.machine()));
  const auto found = finder.find(run);
  std::optional<Duration> best;
  if (const auto* plan = std::get_if<TimedPlan>(&found)) {
    best = plan->step;
    result.plan = result.taken = plan->plan;
  }
  if (base != nullptr && base->plan.ranks == run.config.devices) {
    const Duration step = run.predictor.score(base->plan).step;
    if (step.count() > 0 && (!best || step < *best)) {
      best = step;
      result.taken = base->plan;
    }
  }
  result.upgrade.fits = best.has_value();
  result.upgrade.step = best.value_or(Duration(0));
  return result;
}

/// Adds the upgrades and returns the base machine's step: that of its own plan, or of a plan found
/// for an upgrade where that is faster on the base too. A longer search would have found it, and no
/// upgrade may take credit for it.
std::optional<Duration> add_upgrades(BuyReport& report, const RunConfig& config,
                                     const BuyRequest& request, PlanFinder& finder,
                                     const BaseMachine& base, const Predictor& predictor,
                                     const PlanFinder::Found& before_all) {
  const auto* own = std::get_if<TimedPlan>(&before_all);
  const auto* lacking = std::get_if<Infeasible>(&before_all);
  const std::optional<Bytes> needed = lacking != nullptr ? host_needed(*lacking) : std::nullopt;
  std::optional<Before> before;
  if (own != nullptr) before = Before{own->step, own->plan};
  // Orders would not change memory that the run states.
  const bool is_stated = config.limits.host || config.limits.hbm;
  const std::optional<CountedParts> parts =
      is_stated ? std::nullopt : find_counted_parts(config.machine);
  if (parts) {
    std::vector<PartChange> changes = part_changes(*parts, needed);
    std::erase_if(changes, [&](const PartChange& change) {
      return why_not_shared(config, change.gpus).has_value() ||
             !has_products(config.compute, find_gpu(change.parts.gpu).architecture);
    });
    std::vector<Ordered> found(changes.size());
    parallel_for(changes.size(), request.threads, [&](std::size_t i) {
      found[i] = ordered(config, changes[i], request, finder, own);
      add_price(found[i].upgrade, *parts, changes[i].machine(), request);
    });
    finder.settle();
    // The best plan found for any of the upgrades is tried on the base and on each.
    const Plan* best = nullptr;
    for (const Ordered& one : found) {
      if (!before || !one.plan || one.plan->ranks != predictor.ranks()) continue;
      const Duration here = predictor.score(*one.plan).step;
      if (here.count() == 0 || here >= before->step) continue;
      before = Before{here, *one.plan};
      best = &*one.plan;
    }
    parallel_for(changes.size(), request.threads, [&](std::size_t i) {
      Upgrade& upgrade = found[i].upgrade;
      if (!upgrade.fits || !before) return;
      const Predictor there = run_on(config, request, to_text(changes[i].machine())).predictor;
      const bool is_tried = best != nullptr && best->ranks == there.ranks();
      const Duration step = is_tried ? there.score(*best).step : Duration(0);
      if (step.count() > 0 && step < upgrade.step) {
        upgrade.step = step;
        found[i].taken = *best;
      }
      upgrade.speedup_interval = speedup_of(predictor, before->plan, there, *found[i].taken);
    });
    for (const Ordered& one : found) report.upgrades.push_back(one.upgrade);
    return before ? std::optional(before->step) : std::nullopt;
  }
  const std::vector<Variant> variants = what_ifs(predictor.machine(), needed);
  report.upgrades.resize(variants.size());
  parallel_for(variants.size(), request.threads, [&](std::size_t i) {
    const Predictor there = base.with(variants[i]);
    const auto step = base.step_of(there, true);
    Upgrade& upgrade = report.upgrades[i];
    upgrade = {.what = variants[i].what,
               .setting = variants[i].setting,
               .orderable = false,
               .fits = step.has_value(),
               .step = step ? step->step : Duration(0)};
    if (!step || !before) return;
    upgrade.speedup_interval = speedup_of(predictor, before->plan, there, step->plan);
  });
  return before ? std::optional(before->step) : std::nullopt;
}

std::vector<std::pair<std::string, Variant>> nudges(const ResolvedMachine& machine,
                                                    const Plan& plan) {
  std::vector<std::pair<std::string, Variant>> all;
  for (const auto& [name, facts] : rates(plan)) {
    Variant variant;
    for (const std::string& fact : facts) variant.facts.emplace_back(fact, "1.1x");
    all.emplace_back(name, variant);
  }
  const auto more = [](Bytes bytes) {
    return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.count()) * kNudge));
  };
  all.emplace_back("hbm", Variant{.hbm = more(machine.hbm)});
  all.emplace_back("host", Variant{.host = more(machine.host)});
  return all;
}

/// The sentence on state on the drives of a machine whose host memory is short; empty where they
/// do not help, and where the run says what of them it may take.
std::string drives_text(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                        const Infeasible& lacking) {
  const auto parts = find_composition(config.machine);
  if (!parts || config.limits.disk || !host_needed(lacking)) return "";
  const Bytes drives(find_ssd(parts->ssd.kind).size.count() * parts->ssd.count);
  const auto left = left_on_drives(drives, parameter_count(to_job(config).model));
  if (!left) return "";
  const Request run = run_on(config, request, config.machine, left);
  const auto found = finder.find(run);
  finder.settle();
  const auto* plan = std::get_if<TimedPlan>(&found);
  if (plan == nullptr) return "";
  const BuyRow row = make_row_of(run, request, plan->plan, RowKind::machine, request.owned);
  return "Before hardware: with state on its drives the job fits on " + config.machine +
         " as it is: " + time_text(row) + " (--disk " + std::to_string(left->count() >> 30) +
         "GiB, which " + to_text(parts->ssd) +
         " leaves beside the model's folder and two checkpoints).";
}

/// Says what a larger micro-batch or batch would do before any order does.
void say_batches(BuyReport& report, const Request& run, const Prediction& p) {
  if (const auto larger = larger_micro_batch(run)) {
    report.before_hardware.push_back("Before hardware: " + to_text(*larger) + ".");
  }
  constexpr double kMuch = 0.1;
  const double waits = to_seconds(p.stalls.at(Stall::weights) + p.stalls.at(Stall::gradient) +
                                  p.stalls.at(Stall::activation)) /
                       to_seconds(p.step);
  if (waits < kMuch || run.config.devices > 1) return;
  const auto batch = batch_bound_by_compute(run);
  if (!batch || *batch <= run.job().batch_size) return;
  report.before_hardware.push_back(
      "Before hardware: compute waits " + std::to_string(std::lround(100 * waits)) +
      " % of the step for the link; from a batch of " + std::to_string(*batch) +
      " sequences on, compute sets the bound (sluice plan says what such steps take).");
}

}  // namespace

void add_base(BuyReport& report, const RunConfig& config, const BuyRequest& request,
              PlanFinder& finder, bool rented) {
  require_all_terms(config.terms);
  const Request run = run_on(config, request, config.machine);
  const auto found = finder.find(run);
  finder.settle();
  const auto* own = std::get_if<TimedPlan>(&found);
  const BaseMachine base(config, run, own);
  if (!rented) {
    const auto before = add_upgrades(report, config, request, finder, base, run.predictor, found);
    judge_upgrades(report, request, before, run.predictor.job().tokens());
  }
  if (const auto* lacking = std::get_if<Infeasible>(&found)) {
    const std::string text = drives_text(config, request, finder, *lacking);
    if (!text.empty()) report.before_hardware.push_back(text);
  }
  if (own == nullptr) return;
  say_batches(report, run, run.predictor.predict(own->plan).prediction);
  const auto resources = nudges(run.predictor.machine(), own->plan);
  std::vector<double> values(resources.size());
  parallel_for(resources.size(), request.threads, [&](std::size_t i) {
    const Variant& variant = resources[i].second;
    values[i] = base.elasticity(variant, variant.hbm || variant.host);
  });
  for (std::size_t i = 0; i < resources.size(); ++i) {
    report.elasticity.emplace_back(resources[i].first, values[i]);
  }
}

}  // namespace sluice::planner
