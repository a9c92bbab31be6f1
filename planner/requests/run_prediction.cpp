#include "planner/requests/run_prediction.hpp"

#include <utility>

#include "planner/buying/buy.hpp"
#include "planner/policies/policy.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

PredictedStep predicted(const RunPlanning& run, const Plan& plan, const CostSwitches& terms) {
  return with_terms(run, terms).predict(plan);
}

}  // namespace

std::variant<RunPrediction, Infeasible> prediction_of(const RunConfig& config,
                                                      std::stop_token stop) {
  RunConfig whole = config;
  whole.terms = {};
  RunPlanning run = planning_of(whole);
  run.search.stop = std::move(stop);
  const Job& job = run.predictor.job();
  PredictedStep step;
  const bool by_policy = config.policy && !config.plan;
  if (by_policy) {
    const PolicyPlan made = policy_plan(config, job);
    step = predicted(run, made.plan, config.terms);
    apply_policy_memory(made, step.prediction);
  } else if (const auto plan = given_plan(config, job)) {
    step = predicted(run, *plan, config.terms);
  } else {
    auto found = search_or_remedy(run.predictor, run.calibration, run.search);
    if (auto* infeasible = std::get_if<Infeasible>(&found)) return std::move(*infeasible);
    step = std::move(std::get<Planned>(found).best);
    if (config.terms != CostSwitches{}) {
      step = predicted(run, step.prediction.plan, config.terms);
    }
  }
  std::vector<Remedy> remedies;
  // A search would answer for a job that the policy made and nothing executes.
  const bool another_job = config.policy && !job.executable();
  if (!step.prediction.fits && !another_job) {
    remedies =
        remedies_for_given({step.prediction.plan, by_policy ? "--policy" : "--plan"},
                           step.prediction.memory, run.predictor, run.calibration, run.search);
  }
  return RunPrediction{std::move(run), std::move(step), std::move(remedies)};
}

double parse_tokens(std::string text, const std::string& field) {
  constexpr std::pair<char, double> kFactors[] = {
      {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}, {'T', 1e12}};
  double factor = 1;
  for (const auto& [letter, value] : kFactors) {
    if (!text.empty() && text.back() == letter) factor = value;
  }
  if (factor != 1) text.pop_back();
  const double count = parse_number(text, field) * factor;
  constexpr double kMost = 1e18;
  if (count <= 0) throw BadRequest(field + ": must be above 0");
  if (count > kMost) throw BadRequest(field + ": must be at most 1e18");
  return count;
}

RunMoney money_of(const Prediction& prediction, const std::string& machine,
                  std::optional<double> tokens, const PriceList& prices) {
  RunMoney money;
  if (tokens) money.days = *tokens / prediction.tokens_per_s / kSecondsPerDay;
  const Price price = prices.of(machine);
  money.buy_usd = price.buy_usd;
  money.rent_usd_per_hour = price.rent_usd_per_hour;
  if (money.buy_usd || money.rent_usd_per_hour) money.price_date = price.date;
  if (money.rent_usd_per_hour && money.days) {
    money.rent_usd = *money.rent_usd_per_hour * *money.days * kHoursPerDay;
  }
  return money;
}

}  // namespace sluice::planner
