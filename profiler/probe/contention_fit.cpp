#include "profiler/probe/contention_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "planner/kernels/fit.hpp"
#include "profiler/probe/contention_halves.hpp"
#include "profiler/probe/contention_parameters.hpp"

namespace sluice::profiler {
namespace {

using planner::Bandwidth;
using planner::Fact;
using planner::in_unit;
using planner::MachineProfile;

/// Relative error beyond which a point counts less, since it may be disturbed.
constexpr double kOutlier = 0.15;
constexpr double kPull = 2e-3;  ///< Pull of a parameter that no point depends on towards its start.
/// Weight of the usual numbers: the error that counts as much as one standard deviation between
/// machines, about the noise of three points.
constexpr double kNoise = 0.02;
/// Largest mean error with which the curve of saturation replaces the rates alone.
constexpr double kCurveMisses = 0.04;
constexpr int kIterations = 60;
/// How much better a later start must be: by a share, and by an error of a percent at one point.
constexpr double kClearly = 0.97, kOnePoint = 1e-4;

/// Weight of a rate's error, 0 to 1: 1 where the rate is known far better than kNoise.
double certainty(const RateCheck& check) { return kNoise / std::hypot(kNoise, check.uncertainty); }

/// Residuals that a fit minimises: errors, and distances from the usual numbers.
void misses_of(const MachineProfile& base, const ContentionGrid& points, const ContentionVector& at,
               std::vector<double>& misses) {
  misses.clear();
  for (const RateCheck& check : checks_of(with_parameters(base, at), points)) {
    misses.push_back(check.error() * certainty(check));
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

/// Improves `at` by changing each number alone in ever smaller steps, since derivatives mislead at
/// the kinks where a link fills up.
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

/// Fits parameters; `base` has the rates of lanes alone.
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

/// Whether the curve of `fitted` describes the optimizer's rates alone in `points`.
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

}  // namespace

bool ContentionFit::holds() const {
  const auto all = residuals(held_out);
  return std::all_of(all.begin(), all.end(), [](const RateResiduals& of) { return of.holds(); });
}

ContentionFit fit_contention(MachineProfile profile, const ContentionGrid& grid) {
  profile.device = planner::DeviceKind::cuda;
  const std::array<ContentionHalf, 2> halves = halve(grid);
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
    const ContentionHalf& half = halves[i];
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
  // A copy alone is no slower than beside the optimizer: where it was measured slower, something
  // else disturbed it.
  const auto at_least = [](Bandwidth& alone, const Fact& beside) {
    if (beside.value > alone.value.count()) alone = in_unit<BytesPerSecond>(beside);
  };
  profile.update.clear();
  for (const ContentionPoint& point : points) {
    if (point.threads > 0 && point.copies == Copies::none) {
      profile.update[point.threads] = point.update;
    }
    if (point.threads > 0) continue;
    if (point.copies == Copies::h2d) profile.h2d = in_unit<BytesPerSecond>(point.h2d);
    if (point.copies == Copies::d2h) profile.d2h = in_unit<BytesPerSecond>(point.d2h);
    if (point.copies == Copies::both) {
      profile.h2d_duplex = in_unit<BytesPerSecond>(point.h2d);
      profile.d2h_duplex = in_unit<BytesPerSecond>(point.d2h);
    }
  }
  for (const ContentionPoint& point : points) {
    if (point.threads == 0) continue;
    if (point.copies == Copies::h2d) at_least(profile.h2d, point.h2d);
    if (point.copies == Copies::d2h) at_least(profile.d2h, point.d2h);
    if (point.copies == Copies::both) {
      at_least(profile.h2d_duplex, point.h2d);
      at_least(profile.d2h_duplex, point.d2h);
    }
  }
  return profile;
}

}  // namespace sluice::profiler
