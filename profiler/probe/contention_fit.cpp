#include "profiler/probe/contention_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "planner/kernel_model_fit.hpp"
#include "profiler/probe/contention_model.hpp"
#include "profiler/probe/contention_parameters.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::MachineProfile;

constexpr double kOutlier = 0.15;  ///< Relative errors beyond it pull less: a disturbed point.
constexpr double kPull = 2e-3;     ///< To where a number started that no point depends on.
/// What numbers are held to the usual ones by: an error of so much a standard deviation between
/// machines, some three points' noise.
constexpr double kNoise = 0.02;
/// The curve of saturation stands for rates alone that it misses by no more, on average.
constexpr double kCurveMisses = 0.04;
constexpr int kIterations = 60;
/// What a later start must be better by: a share, and an error of a percent at one point.
constexpr double kClearly = 0.97, kOnePoint = 1e-4;

constexpr std::array kRates = {ContendedRate::update, ContendedRate::h2d, ContendedRate::d2h};

const planner::Fact& fact_of(const ContentionPoint& point, ContendedRate rate) {
  if (rate == ContendedRate::update) return point.update;
  return rate == ContendedRate::h2d ? point.h2d : point.d2h;
}

double rate_of(const ContentionRates& rates, ContendedRate rate) {
  if (rate == ContendedRate::update) return rates.update;
  return rate == ContendedRate::h2d ? rates.h2d : rates.d2h;
}

std::vector<RateCheck> checks_of(const MachineProfile& profile, const ContentionGrid& points) {
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

/// What a fit minimises: errors, and distances from the usual numbers.
void misses_of(const MachineProfile& base, const ContentionGrid& points, const ContentionVector& at,
               std::vector<double>& misses) {
  misses.clear();
  for (const RateCheck& check : checks_of(with_parameters(base, at), points)) {
    misses.push_back(check.error());
  }
  for (const double distance : unusual(base, at)) misses.push_back(kNoise * distance);
}

double cost_of(const MachineProfile& base, const ContentionGrid& points,
               const ContentionVector& start, const ContentionVector& at) {
  std::vector<double> misses;
  misses_of(base, points, at, misses);
  double sum = 0;
  for (const double miss : misses) {
    sum += kOutlier * kOutlier * std::log1p(std::pow(miss / kOutlier, 2));
  }
  for (std::size_t i = 0; i < at.size(); ++i) sum += std::pow(kPull * (at[i] - start[i]), 2);
  return sum;
}

/// Rates have kinks where a link fills up, at which derivatives mislead: tries each number alone,
/// in ever smaller steps.
void polish(const MachineProfile& base, const ContentionGrid& points, const ContentionVector& start,
            ContentionVector& at) {
  double best = cost_of(base, points, start, at);
  for (double step = 0.16; step > 5e-4; step /= 2) {
    for (int pass = 0; pass < 4; ++pass) {
      const double before = best;
      for (double& number : at) {
        for (const double move : {step, -step}) {
          number += move;
          const double tried = cost_of(base, points, start, at);
          if (tried < best) {
            best = tried;
            break;
          }
          number -= move;
        }
      }
      if (best >= before) break;
    }
  }
}

/// `base` has lone rates.
ContentionVector fit_parameters(const MachineProfile& base, const ContentionGrid& points,
                                UpdateCurve curve) {
  const auto errors = [&](const ContentionVector& at, std::vector<double>& misses) {
    misses_of(base, points, at, misses);
  };
  ContentionVector best, best_start;
  double least = std::numeric_limits<double>::infinity();
  for (const ContentionVector& start : contention_starts(base, curve)) {
    double cost = 0;
    ContentionVector found =
        planner::least_squares(errors, start, kOutlier, kPull, kIterations, &cost);
    // Starts differ in numbers that few points depend on: a later one must be clearly better.
    if (cost > kClearly * least - kOnePoint) continue;
    least = cost;
    best = std::move(found);
    best_start = start;
  }
  polish(base, points, best_start, best);
  return best;
}

/// Whether something runs alone there (or both directions): facts of their own, which no other
/// point can stand for.
bool is_fact(const ContentionPoint& point) {
  return point.threads == 0 || point.copies == Copies::none;
}

/// Whether the curve of `fitted` describes the rates alone of `points`.
bool describes_updates(const MachineProfile& fitted, const ContentionGrid& points) {
  double sum = 0;
  std::size_t count = 0;
  for (const ContentionPoint& point : points) {
    if (point.threads == 0 || point.copies != Copies::none) continue;
    sum += std::abs(fitted.update.at(point.threads).value / point.update.value - 1);
    ++count;
  }
  return sum <= kCurveMisses * static_cast<double>(count);
}

/// Both halves have all facts; of the update curve, each is also checked without its half.
struct Half {
  ContentionGrid fitted, held_out;
  ContentionGrid curve, held_out_of_curve;
};

std::array<Half, 2> halve(const ContentionGrid& grid, const std::set<std::int64_t>& counts) {
  std::array<Half, 2> halves;
  for (const ContentionPoint& point : grid) {
    const bool end =
        point.threads == 0 || point.threads == *counts.begin() || point.threads == *counts.rbegin();
    const auto row =
        point.threads == 0 ? 0 : std::distance(counts.begin(), counts.find(point.threads));
    const std::size_t own = static_cast<std::size_t>(row + static_cast<int>(point.copies)) % 2;
    for (std::size_t half = 0; half < 2; ++half) {
      Half& to = halves[half];
      if (!is_fact(point)) {
        (half == own ? to.fitted : to.held_out).push_back(point);
        if (half == own) to.curve.push_back(point);
        continue;
      }
      to.fitted.push_back(point);
      // The ends cannot be interpolated.
      (end || half == own ? to.curve : to.held_out_of_curve).push_back(point);
    }
  }
  return halves;
}

std::set<std::int64_t> thread_counts(const ContentionGrid& grid) {
  std::set<std::int64_t> counts;
  bool down = false, up = false;
  for (const ContentionPoint& point : grid) {
    if (point.threads > 0 && point.copies == Copies::none) counts.insert(point.threads);
    down = down || (point.threads == 0 && point.copies == Copies::h2d);
    up = up || (point.threads == 0 && point.copies == Copies::d2h);
  }
  if (!down || !up) throw BadRequest("contention grid: lacks copies alone (threads 0), each way");
  if (counts.size() < 3) {
    throw BadRequest("contention grid: has the optimizer alone on " +
                     std::to_string(counts.size()) + " thread counts; needs at least 3");
  }
  for (const ContentionPoint& point : grid) {
    if (point.threads > 0 && !counts.contains(point.threads)) {
      throw BadRequest("contention grid: lacks the optimizer alone on " +
                       std::to_string(point.threads) + " threads");
    }
  }
  return counts;
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

bool ContentionFit::holds() const {
  const auto all = residuals(held_out);
  return std::all_of(all.begin(), all.end(), [](const RateResiduals& of) { return of.holds(); });
}

ContentionFit fit_contention(MachineProfile profile, const ContentionGrid& grid) {
  profile.device = planner::DeviceKind::cuda;
  const std::set<std::int64_t> counts = thread_counts(grid);
  const std::array<Half, 2> halves = halve(grid, counts);
  const MachineProfile base = with_lone_rates(profile, grid);
  UpdateCurve form = UpdateCurve::saturating;
  ContentionVector at = fit_parameters(base, grid, form);
  if (!describes_updates(with_parameters(base, at), grid)) {
    form = UpdateCurve::measured;
    at = fit_parameters(base, grid, form);
  }
  ContentionFit fit;
  std::array<ContentionVector, 2> found;
  const auto hold_out = [&](const std::vector<RateCheck>& checks) {
    fit.held_out.insert(fit.held_out.end(), checks.begin(), checks.end());
  };
  for (std::size_t i = 0; i < 2; ++i) {
    const Half& half = halves[i];
    const MachineProfile known = with_lone_rates(profile, half.fitted);
    found[i] = fit_parameters(known, half.fitted, form);
    hold_out(checks_of(with_parameters(known, found[i]), half.held_out));
    // Rates that a curve was not fitted to are on it; others are interpolated.
    const MachineProfile curve = with_lone_rates(profile, half.curve);
    hold_out(checks_of(form == UpdateCurve::saturating
                           ? with_parameters(known, fit_parameters(curve, half.curve, form))
                           : with_parameters(curve, found[i]),
                       half.held_out_of_curve));
  }
  fit.profile = with_parameters(base, at);
  fit.fitted = checks_of(fit.profile, grid);
  ContentionVector deviations(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    deviations[i] = std::abs(found[0][i] - found[1][i]) / 2;
  }
  state_deviations(fit.profile, deviations, static_cast<std::int64_t>(grid.size()));
  return fit;
}

std::string residuals_text(const ContentionFit& fit) {
  std::string text;
  const auto say = [&](const char* which, const std::vector<RateCheck>& checks) {
    for (const RateResiduals& of : residuals(checks)) {
      if (!of.worst) continue;
      text += fmt::format(
          "  {:<9}{:<8}{:>3} points: mean {:4.1f} %, worst {:+5.1f} % ({} threads, copies {}){}\n",
          which, to_string(of.rate), of.count, 100 * of.mean, 100 * of.worst->error(),
          of.worst->threads, to_string(of.worst->copies), of.holds() ? "" : "  beyond the target");
    }
  };
  say("fitted", fit.fitted);
  say("held out", fit.held_out);
  return text;
}

std::string misses_text(const ContentionFit& fit, std::size_t most) {
  std::vector<RateCheck> checks = fit.held_out;
  std::stable_sort(checks.begin(), checks.end(), [](const RateCheck& a, const RateCheck& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  checks.resize(std::min(most, checks.size()));
  std::string text;
  for (const RateCheck& check : checks) {
    text += fmt::format(
        "  {:<7}{:>3} threads, copies {:<5} measured {:8.3f}, predicted {:8.3f} {} "
        "({:+.1f} %)\n",
        to_string(check.rate), check.threads, to_string(check.copies), check.measured / 1e9,
        check.predicted / 1e9, check.rate == ContendedRate::update ? "G/s" : "GB/s",
        100 * check.error());
  }
  return text;
}

MachineProfile with_lone_rates(MachineProfile profile, const ContentionGrid& points) {
  profile.update.clear();
  for (const ContentionPoint& point : points) {
    if (point.threads > 0 && point.copies == Copies::none) {
      profile.update[point.threads] = point.update;
    }
    if (point.threads > 0) continue;
    if (point.copies == Copies::h2d) profile.h2d = point.h2d;
    if (point.copies == Copies::d2h) profile.d2h = point.d2h;
    if (point.copies == Copies::both) {
      profile.h2d_duplex = point.h2d;
      profile.d2h_duplex = point.d2h;
    }
  }
  return profile;
}

}  // namespace sluice::profiler
