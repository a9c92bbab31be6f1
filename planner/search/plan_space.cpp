#include "planner/search/plan_space.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/guided/usual_values.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/search/candidate_set.hpp"

namespace sluice::planner {
namespace {

/// Largest number of buffers for what ranks exchange.
constexpr double kMostReceiveBuffers = 64;

/// Records that blocks keep: `more` for the last `count` blocks, `less` for the others.
struct KeepChoice {
  Keep less = Keep::input, more = Keep::input;
  Tier less_tier = Tier::hbm, more_tier = Tier::hbm;
  std::int64_t count = 0;
};

/// Where state is: of the last `count` blocks (staged: of the first), and of embedding and head
/// with `outer_units`.
struct ResidencyChoice {
  enum class What { none, weights, state, staged } what = What::none;
  std::int64_t count = 0;
  bool outer_units = false;
  Tier copies = Tier::host;        ///< Where all units' weights are, if staged.
  std::int64_t state_buffers = 0;  ///< State buffers, if staged.
};

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

Plan structure(const Predictor& predictor, std::int64_t rounds, const KeepChoice& keep,
               const ResidencyChoice& residency, Tier gradients) {
  const Job& job = predictor.part();
  UnitPlan unit;
  unit.gradients = gradients;
  Plan plan = predictor.plan_of(unit, rounds);
  const std::int64_t layers = job.model.layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    UnitPlan& block = plan.units[static_cast<std::size_t>(layer) + 1];
    const bool more = layer >= layers - keep.count;
    block.keep = more ? keep.more : keep.less;
    block.keep_tier = more ? keep.more_tier : keep.less_tier;
  }
  const bool staged = residency.what == ResidencyChoice::What::staged;
  const auto reside = [&](UnitPlan& at) {
    if (staged) return stage_state(at);
    at.weights = Tier::hbm;
    if (residency.what != ResidencyChoice::What::state) return;
    at.state = at.gradients = Tier::hbm;
    at.executor = Executor::gpu;
    at.when = When::after;
  };
  for (UnitPlan& at : plan.units) {
    if (staged) at.weights = residency.copies;
  }
  for (std::int64_t i = 0; i < residency.count; ++i) {
    reside(plan.units[static_cast<std::size_t>(staged ? 1 + i : layers - i)]);
  }
  if (residency.outer_units) {
    reside(plan.units.front());
    reside(plan.units.back());
  }
  if (job.model.tied_head && plan.units.front().gradients != plan.units.back().gradients) {
    plan.units.front().gradients = plan.units.back().gradients = Tier::hbm;
  }
  set_weight_buffers(plan, std::min<std::int64_t>(3, layers));
  plan.gradient_buffers = 2;
  plan.activation_buffers = 2;
  plan.state_buffers = residency.state_buffers;
  plan.threads = usual_threads(predictor);
  plan.copy_chunk = usual_chunk(predictor);
  return plan;
}

/// The largest n <= most for which `make(n)` surely fits in HBM, by estimate; 0 where none does.
template <class Make>
std::int64_t most_that_fit(std::int64_t most, Bytes capacity, Bytes PlanEstimate::*size,
                           const PlanEstimator& estimator, Make make) {
  std::int64_t low = 0, high = most;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (estimator.estimate(make(middle)).*size <= capacity) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Between the count that fits with every tensor at its own address and the count beyond which not
/// even the live bytes fit.
std::vector<std::int64_t> counts_between(std::int64_t surely, std::int64_t possibly) {
  std::set<std::int64_t> counts{surely, possibly, (surely + possibly) / 2,
                                (3 * surely + possibly) / 4, (surely + 3 * possibly) / 4};
  counts.erase(0);
  return {counts.begin(), counts.end()};
}

std::vector<ResidencyChoice> residencies(const PlanEstimator& estimator, const Predictor& predictor,
                                         std::int64_t rounds) {
  using What = ResidencyChoice::What;
  std::vector<ResidencyChoice> all{{}};
  const std::int64_t layers = predictor.part().model.layers;
  const Bytes capacity = predictor.machine().hbm;
  for (const What what : {What::weights, What::state}) {
    if (what == What::state && predictor.residency() == Residency::host) continue;
    const auto make = [&](std::int64_t count) {
      return structure(predictor, rounds, {}, {what, count, false}, Tier::host);
    };
    const auto surely =
        most_that_fit(layers, capacity, &PlanEstimate::hbm_at_most, estimator, make);
    for (const std::int64_t count : {surely / 2, surely}) {
      if (count > 0) all.push_back({what, count, false});
    }
    all.push_back({what, layers, true});
  }
  // The first blocks staged, so that the CPU has their forward pass for the rest.
  for (const std::int64_t count :
       std::set<std::int64_t>{layers / 4, layers / 2, layers * 5 / 8, layers * 3 / 4, layers}) {
    if (count == 0) continue;
    for (const std::int64_t apart : {count / 2 + 1, count + 2}) {
      all.push_back({What::staged, count, true, Tier::hbm, apart});
    }
    all.push_back({What::staged, count, true, Tier::host, count / 2 + 1});
  }
  return all;
}

std::vector<KeepChoice> keeps(const PlanEstimator& estimator, const Predictor& predictor,
                              std::int64_t rounds, const ResidencyChoice& residency,
                              Tier gradients) {
  const std::int64_t layers = predictor.part().model.layers;
  const Bytes capacity = predictor.machine().hbm;
  std::vector<KeepChoice> all;
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    for (const Keep keep : {Keep::input, Keep::selective, Keep::all}) {
      all.push_back({keep, keep, tier, tier, 0});
    }
  }
  const KeepChoice mixtures[] = {{Keep::input, Keep::selective, Tier::hbm, Tier::hbm, 0},
                                 {Keep::input, Keep::all, Tier::hbm, Tier::hbm, 0},
                                 {Keep::selective, Keep::all, Tier::hbm, Tier::hbm, 0},
                                 {Keep::input, Keep::all, Tier::host, Tier::hbm, 0},
                                 {Keep::all, Keep::all, Tier::host, Tier::hbm, 0},
                                 {Keep::input, Keep::input, Tier::host, Tier::hbm, 0}};
  for (KeepChoice mixture : mixtures) {
    const auto make = [&](std::int64_t count) {
      KeepChoice keep = mixture;
      keep.count = count;
      return structure(predictor, rounds, keep, residency, gradients);
    };
    const auto surely =
        most_that_fit(layers - 1, capacity, &PlanEstimate::hbm_at_most, estimator, make);
    const auto possibly =
        most_that_fit(layers - 1, capacity, &PlanEstimate::hbm_at_least, estimator, make);
    for (const std::int64_t count : counts_between(surely, possibly)) {
      mixture.count = count;
      all.push_back(mixture);
    }
  }
  return all;
}

}  // namespace

std::vector<Candidate> structures(const PlanEstimator& estimator, const Predictor& predictor,
                                  const Pins& pins) {
  CandidateSet found(estimator, predictor, pins);
  for (const std::int64_t rounds : divisors(predictor.part().micro_batches())) {
    for (const ResidencyChoice& residency : residencies(estimator, predictor, rounds)) {
      for (const Tier gradients : {Tier::host, Tier::hbm}) {
        if (gradients == Tier::hbm && rounds == 1) continue;  // It would only delay the stores.
        for (const KeepChoice& keep : keeps(estimator, predictor, rounds, residency, gradients)) {
          found.add(structure(predictor, rounds, keep, residency, gradients));
        }
      }
    }
  }
  return found.take();
}

std::vector<Candidate> plans_of_least_memory(const PlanEstimator& estimator,
                                             const Predictor& predictor, const Pins& pins) {
  CandidateSet found(estimator, predictor, pins);
  const Job& job = predictor.part();
  for (const Tier keep_tier : {Tier::hbm, Tier::host}) {
    for (const ResidencyChoice::What what :
         {ResidencyChoice::What::none, ResidencyChoice::What::state}) {
      const bool all = what == ResidencyChoice::What::state;
      Plan plan = structure(predictor, job.micro_batches(),
                            {Keep::input, Keep::input, keep_tier, keep_tier, 0},
                            {what, all ? job.model.layers : 0, all}, Tier::host);
      set_weight_buffers(plan, 1);
      plan.gradient_buffers = plan.activation_buffers = 1;
      plan.copy_chunk = Bytes(0);
      found.add(plan);
    }
  }
  // Gradients that wait nowhere.
  if (!job.optimizer.clip) {
    for (const Tier keep_tier : {Tier::hbm, Tier::host}) {
      Plan passing = structure(predictor, 1, {Keep::input, Keep::input, keep_tier, keep_tier, 0},
                               {}, Tier::hbm);
      for (UnitPlan& unit : passing.units) unit.when = When::backward;
      set_weight_buffers(passing, 1);
      passing.gradient_buffers = passing.activation_buffers = 1;
      found.add(passing);
    }
  }
  // Gradients that do not wait on the host.
  Plan staged = structure(predictor, job.micro_batches(), {},
                          {ResidencyChoice::What::staged, job.model.layers, true}, Tier::hbm);
  set_weight_buffers(staged, 1);
  found.add(staged);
  return found.take();
}

double space_log10(const Predictor& predictor) {
  const Job& job = predictor.part();
  const double times = job.optimizer.clip ? 1 : 2;  // gpu: after, backward
  const bool state_in_hbm = predictor.residency() != Residency::host;
  const bool state_on_disk = predictor.machine().state_on_disk && may_use_disk(job);
  // cpu: weights and gradients each in two tiers, `when` also forward; with state on the disk both
  // in a third, where gradients wait for the norm; gpu: everything in HBM, or state staged with
  // weights in two tiers, whole or with gradients in two tiers through a ring.
  const double by_cpu = 4 * (times + 1) + (state_on_disk ? 3 * (2 * (times + 1) + 2) : 0);
  const bool several = predictor.ranks() > 1;  // Without rings; and with exchanges.
  const double executor = by_cpu + (state_in_hbm ? times : 0) + 2 + (several ? 0 : 4 * times);
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
  if (several) log10 += std::log10(chunks) + std::log10(kMostReceiveBuffers);
  return log10;
}

}  // namespace sluice::planner
