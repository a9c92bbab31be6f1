// Variations of one plan: buffers, chunks, threads, time of updates, staged state.
#include <algorithm>
#include <set>

#include "planner/guided/usual_values.hpp"
#include "planner/search/candidate_set.hpp"

namespace sluice::planner {
namespace {

template <class Holds>
bool any_unit(const Plan& plan, Holds holds) {
  return std::any_of(plan.units.begin(), plan.units.end(), holds);
}

/// Values to try of fields that the plan has any use for; of other fields only its own.
struct Axes {
  Axes(const Plan& base, const Predictor& predictor) {
    const Job& job = predictor.part();
    const Bytes usual = usual_chunk(predictor);
    chunks = {usual, Bytes(usual.count() * 4), Bytes(0)};
    const bool stages = any_unit(base, stages_state);
    weight_buffers = {base.weight_buffers};
    gradient_buffers = {base.gradient_buffers};
    threads = {base.threads};
    times = {};
    for (std::size_t unit = 1; unit + 1 < base.units.size(); ++unit) {
      if (passes_weights(base.units[unit])) weight_buffers = {1, 2, 3, 4, 6, 8};
      if (base.units[unit].gradients == Tier::host) gradient_buffers = {1, 2, 3, 4};
    }
    if (stages && gradient_buffers.size() > 1) gradient_buffers.insert({6, 8});
    if (any_unit(base, [](const UnitPlan& u) { return u.executor == Executor::cpu; })) {
      const std::int64_t cores = cores_of(predictor);
      threads.insert({usual_threads(predictor), cores, std::max<std::int64_t>(1, cores / 2)});
      times = {When::forward, When::after};
    }
    if (!job.optimizer.clip) times.push_back(When::backward);
    if (times.empty()) times = {When::after};
  }

  std::set<std::int64_t> weight_buffers, gradient_buffers, threads;
  std::vector<Bytes> chunks;
  std::vector<When> times;
};

Plan with_when(Plan plan, When when) {
  for (UnitPlan& unit : plan.units) {
    const bool only_after = (stages_state(unit) && unit.staging == Staging::whole) ||
                            (unit.executor == Executor::gpu && when == When::forward);
    unit.when = only_after ? When::after : when;
  }
  return plan;
}

void vary_buffers(const Plan& base, const Predictor& predictor, CandidateSet& found) {
  const Axes axes(base, predictor);
  for (const std::int64_t weight_buffers : axes.weight_buffers) {
    if (weight_buffers > predictor.part().model.layers && weight_buffers > 1) continue;
    for (const std::int64_t depth : std::set<std::int64_t>{
             weight_buffers - 1, std::max<std::int64_t>(0, weight_buffers - 2)}) {
      for (const std::int64_t gradient_buffers : axes.gradient_buffers) {
        for (const Bytes chunk : axes.chunks) {
          Plan plan = base;
          plan.weight_buffers = weight_buffers;
          plan.prefetch_depth = depth;
          plan.gradient_buffers = gradient_buffers;
          plan.copy_chunk = chunk;
          for (const std::int64_t count : axes.threads) {
            plan.threads = count;
            for (const When when : axes.times) found.add(with_when(plan, when));
          }
        }
      }
    }
  }
}

/// Adds plans with more or fewer of the first blocks staged, and with more or less memory for that.
void vary_staging(const Plan& base, const Predictor& predictor, CandidateSet& found) {
  const std::int64_t layers = predictor.part().model.layers;
  const auto block = [&base](std::int64_t i) -> const UnitPlan& {
    return base.units[static_cast<std::size_t>(i)];
  };
  std::int64_t staged = 0;
  while (staged < layers && stages_state(block(staged + 1))) ++staged;
  const std::int64_t step = std::max<std::int64_t>(1, layers / 16);
  for (const std::int64_t change :
       std::set<std::int64_t>{-4 * step, -2 * step, -step, -1, 0, 1, step, 2 * step, 4 * step}) {
    const std::int64_t count = staged + change;
    if (count < 0 || count > layers) continue;
    Plan plan = base;
    for (std::int64_t i = 1; i <= layers; ++i) {
      UnitPlan& unit = plan.units[static_cast<std::size_t>(i)];
      if (i <= count) {
        stage_state(unit);
      } else if (stages_state(unit)) {
        unit.executor = Executor::cpu;
        unit.gradients = staged < layers ? block(staged + 1).gradients : Tier::host;
        unit.when = When::forward;
      }
    }
    for (const std::int64_t apart : std::set<std::int64_t>{0, 1, (count + 2) / 4, (count + 2) / 2,
                                                           (count + 2) * 3 / 4, count + 2}) {
      plan.state_buffers = apart;
      for (const std::int64_t gradient_buffers : {2, 4, 6}) {
        if (count == layers && gradient_buffers > 2) continue;
        plan.gradient_buffers = gradient_buffers;
        found.add(plan);
      }
    }
  }
}

}  // namespace

std::vector<Candidate> variations(const Plan& base, const PlanEstimator& estimator,
                                  const Predictor& predictor, const Pins& pins) {
  CandidateSet found(estimator, predictor, pins);
  const auto whole = [](const UnitPlan& unit) {
    return stages_state(unit) && !rotates_state(unit);
  };
  if (any_unit(base, whole) && !any_unit(base, rotates_state)) vary_staging(base, predictor, found);
  vary_buffers(base, predictor, found);
  if (any_unit(base, [](const UnitPlan& unit) { return unit.keep_tier == Tier::host; })) {
    // Up to the records of a block's pass, so that a block that keeps little makes up for another.
    const std::int64_t per_round = base.micro_batches_per_round;
    for (const std::int64_t activation_buffers :
         std::set<std::int64_t>{1, 3, 4, 6, 8, per_round / 2, per_round}) {
      if (activation_buffers < 1) continue;
      Plan plan = base;
      plan.activation_buffers = activation_buffers;
      plan.stream_buffers = kUsualStreams;
      found.add(plan);
    }
  }
  return found.take();
}

}  // namespace sluice::planner
