#include "profiler/probe/rate_check.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "profiler/probe/contention_model.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {
namespace {

constexpr std::array kRates = {ContendedRate::update, ContendedRate::h2d, ContendedRate::d2h};

const planner::Fact& fact_of(const ContentionPoint& point, ContendedRate rate) {
  if (rate == ContendedRate::update) return point.update;
  return rate == ContendedRate::h2d ? point.h2d : point.d2h;
}

/// Median over all rates of the relative standard deviation of one repetition; 0 where every rate
/// was measured once.
double usual_spread(const ContentionGrid& points) {
  std::vector<double> spreads;
  for (const ContentionPoint& point : points) {
    for (const ContendedRate rate : kRates) {
      const planner::Fact& fact = fact_of(point, rate);
      if (fact.value > 0 && fact.count > 1) spreads.push_back(fact.deviation / fact.value);
    }
  }
  return spreads.empty() ? 0 : median(std::move(spreads));
}

/// Relative standard deviation of the mean of a rate's repetitions. Two that happen to agree are no
/// surer than the grid's others: `usual` counts as four repetitions besides.
double uncertainty(const planner::Fact& fact, double usual) {
  if (fact.count < 2) return usual;
  constexpr double kUsual = 4;
  const auto count = static_cast<double>(fact.count);
  const double own = fact.deviation / fact.value;
  const double variance = (kUsual * usual * usual + (count - 1) * own * own) / (kUsual + count - 1);
  return std::sqrt(variance / count);
}

double rate_of(const ContentionRates& rates, ContendedRate rate) {
  if (rate == ContendedRate::update) return rates.update;
  return rate == ContendedRate::h2d ? rates.h2d : rates.d2h;
}

}  // namespace

const char* to_string(ContendedRate rate) {
  if (rate == ContendedRate::update) return "update";
  return rate == ContendedRate::h2d ? "h2d" : "d2h";
}

bool RateResiduals::holds() const {
  return !worst || (mean <= kContentionMean && std::abs(worst->error()) <= kContentionWorst);
}

std::vector<RateResiduals> residuals(const std::vector<RateCheck>& checks) {
  std::vector<RateResiduals> all;
  for (const ContendedRate rate : kRates) {
    RateResiduals of{.rate = rate, .count = 0, .mean = 0, .worst = std::nullopt};
    for (const RateCheck& check : checks) {
      if (check.rate != rate) continue;
      ++of.count;
      of.mean += std::abs(check.error());
      if (!of.worst || std::abs(check.error()) > std::abs(of.worst->error())) of.worst = check;
    }
    if (of.count > 0) of.mean /= static_cast<double>(of.count);
    all.push_back(of);
  }
  return all;
}

std::vector<RateCheck> checks_of(const planner::MachineProfile& profile,
                                 const ContentionGrid& points) {
  const planner::ProfileCostModel model(profile, {});
  const double usual = usual_spread(points);
  std::vector<RateCheck> checks;
  for (const ContentionPoint& point : points) {
    const ContentionRates rates = contention_rates(model, point.threads, point.copies);
    for (const ContendedRate rate : kRates) {
      const double measured = fact_of(point, rate).value;
      if (measured > 0) {
        checks.push_back({point.threads, point.copies, rate, measured, rate_of(rates, rate),
                          uncertainty(fact_of(point, rate), usual)});
      }
    }
  }
  return checks;
}

}  // namespace sluice::profiler
