#include "planner/buying/choice.hpp"

#include <utility>

#include "planner/buying/break_even.hpp"

namespace sluice::planner {
namespace {

/// Ratio of steps up to which a build that gives more for the money is preferred to the fastest.
constexpr double kSameSpeed = 1.1;

/// Price in USD times seconds of a step: the less, the more the row gives for the money.
double price_of(const BuyRow& row) { return *row.buy_usd * to_seconds(row.step).count(); }

bool buyable(const BuyRow& row, const BuyRequest& request, bool within) {
  if (!row.fits || row.owned) return false;
  if (row.engine == EngineOnGpu::none) return false;
  if (!within) return true;
  if (request.days && row.days && *row.days > *request.days) return false;
  if (!request.budget_usd) return true;
  return row.buy_usd && *row.buy_usd <= *request.budget_usd;
}

}  // namespace

const BuyRow* best_to_buy(const std::vector<BuyRow>& rows, const BuyRequest& request, bool within) {
  const BuyRow *fastest = nullptr, *best = nullptr;
  for (const BuyRow& row : rows) {
    if (!buyable(row, request, within)) continue;
    if (fastest == nullptr) fastest = best = &row;
    const bool is_near = row.buy_usd && best->buy_usd &&
                         to_seconds(row.step) < to_seconds(fastest->step) * kSameSpeed;
    if (is_near && price_of(row) < price_of(*best)) best = &row;
  }
  return best;
}

const BuyRow* cheapest_to_buy(const std::vector<BuyRow>& rows, const BuyRequest& request) {
  const BuyRow* best = nullptr;
  for (const BuyRow& row : rows) {
    if (!buyable(row, request, false) || !row.buy_usd) continue;
    if (best == nullptr || *row.buy_usd < *best->buy_usd) best = &row;
  }
  return best;
}

const BuyRow* best_for_the_money(const std::vector<BuyRow>& rows, const BuyRequest& request) {
  const BuyRow* best = nullptr;
  for (const BuyRow& row : rows) {
    if (!buyable(row, request, false) || !row.buy_usd) continue;
    if (best == nullptr || price_of(row) < price_of(*best)) best = &row;
  }
  return best;
}

const BuyRow* cheapest_to_rent(const std::vector<BuyRow>& rows, const BuyRequest& request) {
  const BuyRow* best = nullptr;
  for (const BuyRow& row : rows) {
    if (!row.fits || !row.rent_usd) continue;
    if (row.engine == EngineOnGpu::none) continue;
    if (request.days && *row.days > *request.days) continue;
    if (best == nullptr || *row.rent_usd < *best->rent_usd) best = &row;
  }
  return best;
}

const BuyRow* nearly_as_cheap_to_rent(const std::vector<BuyRow>& rows, const BuyRequest& request,
                                      const BuyRow& cheapest) {
  constexpr double kNearly = 1.1;
  const bool is_tested = cheapest.engine == EngineOnGpu::tested;
  const BuyRow* best = nullptr;
  for (const BuyRow& row : rows) {
    if (&row == &cheapest || !row.fits || !row.rent_usd) continue;
    if (row.engine == EngineOnGpu::none || *row.rent_usd > kNearly * *cheapest.rent_usd) continue;
    if (request.days && *row.days > *request.days) continue;
    if (request.budget_usd && *row.rent_usd > *request.budget_usd) continue;
    const auto order = [&](const BuyRow& one) {
      return std::pair(is_tested || one.engine != EngineOnGpu::tested, *one.rent_usd);
    };
    if (best == nullptr || order(row) < order(*best)) best = &row;
  }
  return best;
}

const BuyRow* faster_to_rent(const std::vector<BuyRow>& rows, const BuyRequest& request,
                             const BuyRow& cheapest) {
  constexpr double kDearer = 2, kFaster = 0.5;
  for (const BuyRow& row : rows) {
    if (!row.fits || !row.rent_usd) continue;
    if (row.engine == EngineOnGpu::none) continue;
    if (*row.rent_usd > kDearer * *cheapest.rent_usd || *row.days > kFaster * *cheapest.days)
      continue;
    if (request.budget_usd && *row.rent_usd > *request.budget_usd) continue;
    return &row;
  }
  return nullptr;
}

const BuyRow* row_to_rent(const std::vector<BuyRow>& rows, const BuyRequest& request) {
  const BuyRow* rent = cheapest_to_rent(rows, request);
  if (rent == nullptr || (request.budget_usd && *rent->rent_usd > *request.budget_usd)) {
    return nullptr;
  }
  const BuyRow* cheapest = cheapest_to_buy(rows, request);
  if (cheapest != nullptr && *rent->rent_usd >= *cheapest->buy_usd) return nullptr;
  const BuyRow* bought = best_to_buy(rows, request, true);
  const bool pays = bought != nullptr && bought->buy_usd && bought->days &&
                    pays_in_time(break_even(*bought, *rent, request), request);
  return pays ? nullptr : rent;
}

std::optional<std::string> advised_machine(const std::vector<BuyRow>& rows,
                                           const BuyRequest& request) {
  const BuyRow* row = row_to_rent(rows, request);
  if (row == nullptr) row = best_to_buy(rows, request, true);
  if (row == nullptr) row = best_for_the_money(rows, request);
  if (row == nullptr) row = best_to_buy(rows, request, false);
  if (row == nullptr) return std::nullopt;
  return row->machine;
}

}  // namespace sluice::planner
