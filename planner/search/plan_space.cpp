#include "planner/search/plan_space.hpp"

#include <algorithm>
#include <cmath>

#include "planner/guided/usual_values.hpp"
#include "planner/search/candidate_set.hpp"

namespace sluice::planner {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

/// All units as `unit`, blocks' inputs alone kept in `keep_tier`, one buffer of each kind.
Plan lean_plan(const Predictor& predictor, std::int64_t rounds, const UnitPlan& unit,
               Tier keep_tier) {
  Plan plan = uniform_plan(predictor.job(), unit, rounds);
  for (std::size_t block = 1; block + 1 < plan.units.size(); ++block) {
    plan.units[block].keep_tier = keep_tier;
  }
  plan.weight_buffers = plan.gradient_buffers = plan.activation_buffers = 1;
  plan.prefetch_depth = 0;
  plan.threads = usual_threads(predictor);
  plan.copy_chunk = usual_chunk(predictor);
  return plan;
}

UnitPlan all_in_hbm() {
  UnitPlan unit;
  unit.weights = unit.gradients = unit.state = Tier::hbm;
  unit.executor = Executor::gpu;
  unit.when = When::after;
  return unit;
}

}  // namespace

std::vector<Candidate> leanest(const PlanEstimator& estimator, const Predictor& predictor,
                               const Pins& pins) {
  CandidateSet found(estimator, predictor, pins);
  const Job& job = predictor.job();
  for (const Tier keep_tier : {Tier::hbm, Tier::host}) {
    for (const UnitPlan& unit : {UnitPlan{}, all_in_hbm()}) {
      Plan plan = lean_plan(predictor, job.micro_batches(), unit, keep_tier);
      plan.copy_chunk = Bytes(0);
      found.add(std::move(plan));
    }
  }
  // Gradients wait nowhere.
  if (!job.optimizer.clip) {
    UnitPlan passing;
    passing.gradients = Tier::hbm;
    passing.when = When::backward;
    for (const Tier keep_tier : {Tier::hbm, Tier::host}) {
      found.add(lean_plan(predictor, 1, passing, keep_tier));
    }
  }
  // Gradients do not wait on the host.
  UnitPlan staged;
  stage_state(staged);
  Plan plan = lean_plan(predictor, job.micro_batches(), staged, Tier::hbm);
  plan.gradient_buffers = plan.activation_buffers = 2;
  found.add(std::move(plan));
  return found.take();
}

double space_log10(const Predictor& predictor) {
  const Job& job = predictor.job();
  const double times = job.optimizer.clip ? 1 : 2;  // gpu: after, backward
  const bool state_in_hbm = predictor.residency() != Residency::host;
  const bool state_on_disk =
      predictor.machine().state_on_disk && job.optimizer.state == StateType::fp32;
  // cpu: weights and gradients each in two tiers, `when` also forward; with state on the disk both
  // in a third, where gradients wait for the norm; gpu: everything in HBM, or staged with weights
  // in two tiers.
  const double by_cpu = 4 * (times + 1) + (state_on_disk ? 3 * (2 * (times + 1) + 2) : 0);
  const double executor = by_cpu + (state_in_hbm ? times : 0) + 2;
  const double block = executor * 3 * 2;
  const auto layers = static_cast<double>(job.model.layers);
  const auto micro = static_cast<double>(job.micro_batches());
  double log10 = layers * std::log10(block) + 2 * std::log10(executor);
  const double chunks = 16;
  log10 += std::log10(layers * (layers + 1) / 2);  // Weight buffers with each prefetch depth.
  log10 += std::log10(layers + 2) + std::log10(layers * micro + 1) + std::log10(layers + 3);
  log10 += std::log10(std::min(layers, 3.0));                               // Stream buffers.
  if (state_on_disk) log10 += std::log10(layers + 2) + std::log10(chunks);  // Its buffers.
  log10 += std::log10(static_cast<double>(divisors(job.micro_batches()).size()));
  log10 += std::log10(static_cast<double>(cores_of(predictor))) + std::log10(chunks);
  return log10;
}

}  // namespace sluice::planner
