#include "profiler/tuning/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "profiler/tuning/measuring_session.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::Plan;
using planner::Stall;
using planner::Tier;
using planner::UnitPlan;

constexpr std::int64_t kMostBuffers = 6;
/// Relative difference within which a step is as good as the best.
constexpr double kAsGood = 0.01;

struct Field {
  const char* name;
  Stall stall;
  /// Whether the field matters for this unit; called for blocks only, except for threads.
  bool (*used)(const Plan& plan, const UnitPlan& unit);
  void (*set)(Plan& plan, std::int64_t value);
  std::int64_t least;
};

bool streams(const Plan& /*plan*/, const UnitPlan& unit) { return planner::passes_weights(unit); }

constexpr std::array kFields = {
    Field{"prefetch_depth", Stall::weights, streams,
          [](Plan& plan, std::int64_t value) {
            plan.prefetch_depth = value;
            plan.weight_buffers = std::max(plan.weight_buffers, value + 1);
          },
          0},
    Field{"weight_buffers", Stall::weights, streams,
          [](Plan& plan, std::int64_t value) { set_weight_buffers(plan, value); }, 1},
    Field{"gradient_buffers", Stall::gradient, planner::streams_gradient,
          [](Plan& plan, std::int64_t value) { plan.gradient_buffers = value; }, 1},
    Field{"activation_buffers", Stall::activation,
          [](const Plan&, const UnitPlan& unit) { return unit.keep_tier == Tier::host; },
          [](Plan& plan, std::int64_t value) { plan.activation_buffers = value; }, 1},
    Field{"threads", Stall::optimizer,
          [](const Plan&, const UnitPlan& unit) { return unit.executor == planner::Executor::cpu; },
          [](Plan& plan, std::int64_t value) { plan.threads = value; }, 1},
};

const Field& field_of(const std::string& name) {
  const auto found = std::find_if(kFields.begin(), kFields.end(),
                                  [&name](const Field& field) { return name == field.name; });
  if (found != kFields.end()) return *found;
  std::vector<std::string> known;
  known.reserve(kFields.size());
  for (const Field& field : kFields) known.emplace_back(field.name);
  throw BadRequest("--sweep: \"" + name + "\" is no field to sweep" +
                   sim::did_you_mean(name, known));
}

std::vector<std::int64_t> values_of(const Field& field, const planner::Predictor& predictor) {
  std::vector<std::int64_t> values;
  if (field.stall == Stall::optimizer) {
    const auto cores = static_cast<std::int64_t>(predictor.machine().profile.cores.value);
    for (std::int64_t threads = 1; threads < cores; threads *= 2) values.push_back(threads);
    values.push_back(std::max<std::int64_t>(1, cores));
    return values;
  }
  for (std::int64_t i = 0; i < kMostBuffers; ++i) values.push_back(field.least + i);
  return values;
}

bool used_by(const Field& field, const Plan& plan) {
  const bool ends_too = field.stall == Stall::optimizer;
  const auto first = plan.units.begin() + (ends_too ? 0 : 1);
  const auto last = plan.units.end() - (ends_too ? 0 : 1);
  return std::any_of(first, last, [&](const UnitPlan& unit) { return field.used(plan, unit); });
}

class Sweep {
 public:
  Sweep(const planner::Request& run, const TuneOutcome& tuned, const SweepOptions& options)
      : predictor_(run.predictor.job(), run.predictor.machine(), tuned.calibration,
                   run.predictor.residency()),
        base_(tuned.step.prediction.plan),
        options_(options) {}

  [[nodiscard]] SweepCurve over(const Field& field) const {
    SweepCurve curve;
    curve.field = field.name;
    curve.stall = field.stall;
    if (used_by(field, base_)) {
      for (const std::int64_t value : values_of(field, predictor_)) add(field, value, curve);
    }
    conclude(curve);
    return curve;
  }

 private:
  void add(const Field& field, std::int64_t value, SweepCurve& curve) const {
    Plan plan = base_;
    field.set(plan, value);
    try {
      planner::validate(plan, predictor_.job());
    } catch (const BadRequest&) {
      return;  // More buffers than blocks.
    }
    const planner::PredictedStep step = predictor_.predict(plan);
    SweepPoint point;
    point.value = value;
    point.plan_hash = step.prediction.plan_hash;
    point.fits = step.prediction.fits;
    point.predicted = to_seconds(step.prediction.step);
    point.waits = to_seconds(step.prediction.stalls.at(field.stall));
    if (point.fits) point.measured = measured(step);
    curve.points.push_back(point);
    if (options_.point_done) options_.point_done(curve, point);
  }

  [[nodiscard]] Seconds measured(const planner::PredictedStep& step) const {
    MeasuringSession session(predictor_, step, options_.steps);
    const MeasuredRun run = session.run(options_.steps);
    return median_step(step.graph, std::span(&run, 1));
  }

  planner::Predictor predictor_;
  Plan base_;
  const SweepOptions& options_;
};

}  // namespace

std::vector<std::string> parse_sweep(const std::string& text) {
  std::vector<std::string> fields;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, ',');) {
    fields.emplace_back(field_of(name).name);
  }
  if (fields.empty()) throw BadRequest("--sweep: name fields, such as prefetch_depth,threads");
  return fields;
}

void conclude(SweepCurve& curve) {
  curve.knee.reset();
  if (curve.points.empty()) {
    curve.why = "the plan has no use for it";
    return;
  }
  std::optional<Seconds> best;
  for (const SweepPoint& point : curve.points) {
    if (point.fits) best = std::min(best.value_or(point.predicted), point.predicted);
  }
  if (!best) {
    curve.why = "no value fits";
    return;
  }
  for (std::size_t i = 0; i < curve.points.size() && !curve.knee; ++i) {
    const SweepPoint& point = curve.points[i];
    if (point.fits && point.predicted / *best <= 1 + kAsGood) curve.knee = i;
  }
  const SweepPoint& knee = curve.points[*curve.knee];
  const char* stall = to_string(curve.stall);
  const double share = knee.waits / knee.predicted;
  if (*curve.knee + 1 < curve.points.size() && !curve.points[*curve.knee + 1].fits) {
    curve.why = fmt::format("{} does not fit", curve.points[*curve.knee + 1].value);
  } else if (share < kAsGood) {
    curve.why = fmt::format(
        "compute waits {} of {} for {} there, so that there is nothing left to "
        "gain",
        planner::format_seconds(knee.waits), planner::format_seconds(knee.predicted), stall);
  } else {
    curve.why = fmt::format(
        "compute waits {} of {} for {}, which comes no sooner: the lane that "
        "brings it is full or waits itself",
        planner::format_seconds(knee.waits), planner::format_seconds(knee.predicted), stall);
  }
}

std::vector<SweepCurve> sweep(const planner::Request& run, const TuneOutcome& tuned,
                              const std::vector<std::string>& fields, const SweepOptions& options) {
  check(options.steps >= 3, "a burst has a step with neighbours");
  const Sweep each(run, tuned, options);
  std::vector<SweepCurve> curves;
  curves.reserve(fields.size());
  for (const std::string& name : fields) curves.push_back(each.over(field_of(name)));
  return curves;
}

}  // namespace sluice::profiler
