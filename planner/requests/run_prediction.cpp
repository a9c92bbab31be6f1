#include "planner/requests/run_prediction.hpp"

#include <utility>

#include "planner/effort/search_effort.hpp"
#include "planner/requests/choose_plan.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {

std::variant<RunPrediction, Infeasible> prediction_of(const RunConfig& config,
                                                      PredictionOptions options) {
  RunConfig whole = config;
  whole.terms = {};
  Request request = resolve(std::move(whole), Store::of_user(), options.policy);
  request.search.stop = std::move(options.stop);
  if (options.effort) request.search.effort = search_effort(*options.effort, "--effort");
  auto found = choose_plan(request, {.unfit = Unfit::kept, .kept = !options.is_fresh});
  if (auto* infeasible = std::get_if<Infeasible>(&found)) return std::move(*infeasible);
  ChosenPlan& chosen = std::get<ChosenPlan>(found);
  std::vector<Remedy> remedies = remedies_for(chosen, request);
  if (config.terms != CostSwitches{}) {
    chosen.step() = with_terms(request, config.terms).predict(chosen.step().prediction.plan);
    apply_policy_memory(chosen.policy_memory, chosen.step().prediction);
  }
  const Seconds bound = chosen.planned.bound;
  Prediction& prediction = chosen.step().prediction;
  if (prediction.plan.ranks > 1 && bound > prediction.bound.time) prediction.bound.time = bound;
  return RunPrediction{.request = std::move(request),
                       .step = std::move(chosen.step()),
                       .remedies = std::move(remedies),
                       .is_kept = chosen.is_kept};
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
  money.rent_date = price.rent_date;
  if (money.rent_usd_per_hour && money.days) {
    money.rent_usd = *money.rent_usd_per_hour * *money.days * kHoursPerDay;
  }
  return money;
}

}  // namespace sluice::planner
