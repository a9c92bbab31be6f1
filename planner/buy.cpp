#include "planner/buy.hpp"

#include <algorithm>
#include <cmath>

#include "planner/catalogue.hpp"
#include "planner/profile_file.hpp"
#include "planner/run_planning.hpp"
#include "planner/units_text.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr double kSecondsPerDay = 86400;
constexpr double kNudge = 1.1;  ///< Elasticities compare with this much more of a resource.

std::variant<Planned, Infeasible> quick_search(const RunConfig& config) {
  RunPlanning run = planning_of(config);
  run.search.effort = kQuickEffort;
  return search(run.predictor, run.search);
}

std::string shortage_text(const Infeasible& infeasible) {
  return std::string(to_string(infeasible.tier)) + " short by " + format_bytes(infeasible.short_by);
}

void add_money(BuyRow& row, const BuyRequest& request) {
  if (row.fits && request.tokens) row.days = *request.tokens / row.tokens_per_s / kSecondsPerDay;
  const auto price = request.prices.find(row.machine);
  if (price != request.prices.end()) {
    row.price =
        request.payment == Payment::rent ? price->second.rent_usd_per_hour : price->second.buy_usd;
    if (row.price) row.price_date = price->second.date;
  }
  if (row.price && request.payment == Payment::buy) row.cost = row.price;
  if (row.price && request.payment == Payment::rent && row.days) {
    row.cost = *row.price * *row.days * 24;
  }
  if (row.days && request.days) row.within_days = *row.days <= *request.days;
  if (row.cost && request.budget_usd) row.within_budget = *row.cost <= *request.budget_usd;
}

BuyRow row_of(const RunConfig& base, const std::string& machine, const BuyRequest& request) {
  RunConfig config = base;
  config.machine = machine;
  BuyRow row;
  row.machine = machine;
  const auto found = quick_search(config);
  if (const auto* planned = std::get_if<Planned>(&found)) {
    const Prediction& p = planned->best.prediction;
    row.fits = true;
    row.step = p.step;
    row.step_low = std::chrono::duration_cast<Duration>(p.step_low);
    row.step_high = std::chrono::duration_cast<Duration>(p.step_high);
    row.tokens_per_s = p.tokens_per_s;
    row.limit = to_string(p.bound.by);
    row.evidence = p.evidence;
  } else {
    row.limit = shortage_text(std::get<Infeasible>(found));
  }
  add_money(row, request);
  return row;
}

/// A change of the base machine.
struct Variant {
  std::string what;
  std::string setting;
  std::vector<std::pair<std::string, std::string>> facts;  ///< machine.NAME = VALUE.
  std::optional<Bytes> hbm, host;
};

ResolvedMachine changed(const ResolvedMachine& machine, const Variant& variant) {
  ResolvedMachine result = machine;
  for (const auto& [name, value] : variant.facts) set_fact(result.profile, name, value);
  if (variant.hbm) result.hbm = *variant.hbm;
  if (variant.host) result.host = *variant.host;
  return result;
}

std::vector<Variant> upgrades_of(const ResolvedMachine& machine) {
  std::vector<Variant> all;
  const auto memory = format_bytes(machine.host * 2);
  all.push_back({"host memory " + memory + " instead of " + format_bytes(machine.host),
                 "--host " + std::to_string(machine.host.count() * 2 >> 20) + "MiB",
                 {},
                 std::nullopt,
                 machine.host * 2});
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

/// Rates by the name elasticities go by, each with the facts that scale together.
const std::vector<std::pair<std::string, std::vector<std::string>>>& rates() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"compute", {"gemm", "attention_forward", "attention_backward"}},
      {"hbm_bandwidth", {"hbm_bandwidth"}},
      {"h2d", {"h2d", "h2d_duplex"}},
      {"d2h", {"d2h", "d2h_duplex"}},
      {"dram", {"dram"}},
      {"cpu", {"update", "cores"}},
  };
  return all;
}

class BaseMachine {
 public:
  BaseMachine(const RunConfig& config, const RunPlanning& run, const Planned* planned)
      : config_(config), run_(run), planned_(planned) {}

  /// The faster of the base's own plan there and the best a quick search finds.
  [[nodiscard]] std::optional<Duration> step_of(const Variant& variant, bool search_again) const {
    const ResolvedMachine machine = changed(run_.predictor.machine(), variant);
    const Predictor predictor(
        run_.predictor.job(), machine,
        rescaled(run_.calibration, run_.predictor.machine().profile, machine.profile),
        config_.residency);
    std::optional<Duration> best;
    if (planned_ != nullptr) {
      const PlanScore score = predictor.score(planned_->best.prediction.plan);
      if (score.step.count() > 0) best = score.step;
    }
    if (!search_again) return best;
    SearchSettings quick = run_.search;
    quick.effort = kQuickEffort;
    const auto found = search(predictor, quick);
    if (const auto* planned = std::get_if<Planned>(&found)) {
      const Duration step = planned->best.prediction.step;
      best = best ? std::min(*best, step) : step;
    }
    return best;
  }

  [[nodiscard]] double elasticity(const Variant& variant, bool search_again) const {
    const auto step = step_of(variant, search_again);
    const double before = to_seconds(planned_->best.prediction.step).count();
    const double after = step ? to_seconds(*step).count() : before;
    return std::log(after / before) / std::log(kNudge);
  }

 private:
  const RunConfig& config_;
  const RunPlanning& run_;
  const Planned* planned_;
};

void add_base(BuyReport& report, const RunConfig& config) {
  RunPlanning run = planning_of(config);
  run.search.effort = kQuickEffort;
  const auto found = search(run.predictor, run.search);
  const auto* planned = std::get_if<Planned>(&found);
  const BaseMachine base(config, run, planned);
  const ResolvedMachine& machine = run.predictor.machine();
  for (const Variant& variant : upgrades_of(machine)) {
    const auto step = base.step_of(variant, true);
    Upgrade upgrade{
        variant.what, variant.setting, step.has_value(), step.value_or(Duration(0)), {}};
    if (step && planned != nullptr) {
      upgrade.speedup = to_seconds(planned->best.prediction.step) / to_seconds(*step);
    }
    report.upgrades.push_back(std::move(upgrade));
  }
  if (planned == nullptr) return;
  for (const auto& [name, facts] : rates()) {
    Variant variant;
    for (const std::string& fact : facts) variant.facts.emplace_back(fact, "1.1x");
    report.elasticity.emplace_back(name, base.elasticity(variant, false));
  }
  const auto more = [](Bytes bytes) {
    return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.count()) * kNudge));
  };
  Variant hbm, host;
  hbm.hbm = more(machine.hbm);
  host.host = more(machine.host);
  report.elasticity.emplace_back("hbm", base.elasticity(hbm, true));
  report.elasticity.emplace_back("host", base.elasticity(host, true));
}

}  // namespace

BuyReport buy(const RunConfig& config, const BuyRequest& request) {
  std::vector<std::string> machines = request.machines;
  if (machines.empty()) {
    for (const CatalogueMachine& machine : catalogue_machines()) machines.push_back(machine.name);
  }
  BuyReport report;
  for (const std::string& machine : machines) {
    report.rows.push_back(row_of(config, machine, request));
  }
  std::stable_sort(report.rows.begin(), report.rows.end(), [](const BuyRow& a, const BuyRow& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits && a.step < b.step;
  });
  report.base = config.machine;
  add_base(report, config);
  return report;
}

}  // namespace sluice::planner
