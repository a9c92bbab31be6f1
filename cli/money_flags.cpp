#include "cli/money_flags.hpp"

#include <utility>

#include "planner/buy.hpp"
#include "planner/units_text.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

std::optional<double> positive_number(const planner::RunArguments& request, const char* flag) {
  const auto text = request.value(flag);
  if (!text) return std::nullopt;
  const double value = planner::parse_number(*text, flag);
  if (value <= 0) throw BadRequest(std::string(flag) + ": must be above 0");
  return value;
}

std::optional<double> token_count(const planner::RunArguments& request) {
  auto text = request.value("--tokens");
  if (!text || text->empty()) return std::nullopt;
  constexpr std::pair<char, double> kFactors[] = {
      {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}, {'T', 1e12}};
  double factor = 1;
  for (const auto& [letter, value] : kFactors) {
    if (text->back() == letter) factor = value;
  }
  if (factor != 1) text->pop_back();
  const double count = planner::parse_number(*text, "--tokens") * factor;
  if (count <= 0) throw BadRequest("--tokens: must be above 0");
  return count;
}

planner::RunMoney money_of(const planner::Prediction& prediction, const std::string& machine,
                           std::optional<double> tokens, const planner::PriceList& prices) {
  planner::RunMoney money;
  if (tokens) money.days = *tokens / prediction.tokens_per_s / planner::kSecondsPerDay;
  const planner::Price price = prices.of(machine);
  money.buy_usd = price.buy_usd;
  money.rent_usd_per_hour = price.rent_usd_per_hour;
  if (money.buy_usd || money.rent_usd_per_hour) money.price_date = price.date;
  if (money.rent_usd_per_hour && money.days) {
    money.rent_usd = *money.rent_usd_per_hour * *money.days * planner::kHoursPerDay;
  }
  return money;
}

}  // namespace sluice::cli
