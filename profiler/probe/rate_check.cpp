#include "profiler/probe/rate_check.hpp"

#include <array>
#include <cmath>

#include "profiler/probe/contention_model.hpp"

namespace sluice::profiler {
namespace {

constexpr std::array kRates = {ContendedRate::update, ContendedRate::h2d, ContendedRate::d2h};

const planner::Fact& fact_of(const ContentionPoint& point, ContendedRate rate) {
  if (rate == ContendedRate::update) return point.update;
  return rate == ContendedRate::h2d ? point.h2d : point.d2h;
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
  std::vector<RateCheck> checks;
  for (const ContentionPoint& point : points) {
    const ContentionRates rates = contention_rates(model, point.threads, point.copies);
    for (const ContendedRate rate : kRates) {
      const double measured = fact_of(point, rate).value;
      if (measured > 0) {
        checks.push_back({point.threads, point.copies, rate, measured, rate_of(rates, rate)});
      }
    }
  }
  return checks;
}

}  // namespace sluice::profiler
