#include "planner/buying/upgrade_worth.hpp"

#include <algorithm>

namespace sluice::planner {

void add_price(Upgrade& upgrade, const CountedParts& from, const CountedParts& to,
               const BuyRequest& request) {
  upgrade.price = request.prices.change(from, to);
  if (request.owned) return;
  upgrade.total = request.prices.of(to_text(to)).buy_usd;
  if (upgrade.total) return;
  // A machine with a price of its own, whose other parts may have none.
  const std::optional<double> machine = request.prices.of(to_text(from)).buy_usd;
  if (machine && upgrade.price) upgrade.total = *machine + *upgrade.price;
}

std::optional<double> asked_of_budget(const Upgrade& upgrade, const BuyRequest& request) {
  return request.owned ? upgrade.price : upgrade.total;
}

void judge_upgrades(BuyReport& report, const BuyRequest& request, std::optional<Duration> before,
                    std::int64_t tokens_a_step) {
  const auto days = [&](Duration step) {
    return *request.tokens / static_cast<double>(tokens_a_step) * to_seconds(step).count() /
           kSecondsPerDay;
  };
  for (Upgrade& upgrade : report.upgrades) {
    const std::optional<double> asked = asked_of_budget(upgrade, request);
    if (asked && request.budget_usd) upgrade.within_budget = *asked <= *request.budget_usd;
    if (!upgrade.fits) continue;
    if (before) upgrade.speedup = to_seconds(*before) / to_seconds(upgrade.step);
    if (!request.tokens) continue;
    upgrade.days = days(upgrade.step);
    if (before) upgrade.days_saved = days(*before) - *upgrade.days;
  }
  std::ranges::stable_sort(report.upgrades, [](const Upgrade& a, const Upgrade& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits && a.step < b.step;
  });
}

}  // namespace sluice::planner
