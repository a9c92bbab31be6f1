#include "planner/plan_space.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// What blocks keep: `more` for the last `count` blocks, `less` for the others.
struct KeepChoice {
  Keep less = Keep::input, more = Keep::input;
  Tier less_tier = Tier::hbm, more_tier = Tier::hbm;
  std::int64_t count = 0;
};

/// Where state is: of the last `count` blocks, or of everything where `ends` too.
struct ResidencyChoice {
  enum class What { none, weights, state } what = What::none;
  std::int64_t count = 0;
  bool ends = false;
};

class Collector {
 public:
  Collector(const PlanEstimator& estimator, const Predictor& predictor, const Pins& pins)
      : estimator_(estimator), predictor_(predictor), pins_(pins) {}

  /// Adds the plan with its pins, unless it is invalid, cannot fit, or is there already.
  void add(Plan plan) {
    if (pins_) pins_(plan);
    if (!valid(plan) || !seen_.insert(plan_hash(plan)).second) return;
    const PlanEstimate estimate = estimator_.estimate(plan);
    found_.push_back({std::move(plan), estimate});
  }
  [[nodiscard]] std::vector<Candidate> take() { return std::move(found_); }

 private:
  [[nodiscard]] bool valid(const Plan& plan) const {
    try {
      validate(plan, predictor_.job());
    } catch (const BadRequest&) {
      return false;
    }
    if (predictor_.residency() != Residency::host) return true;
    return std::none_of(plan.units.begin(), plan.units.end(),
                        [](const UnitPlan& unit) { return unit.state == Tier::hbm; });
  }

  const PlanEstimator& estimator_;
  const Predictor& predictor_;
  const Pins& pins_;
  std::set<std::string> seen_;
  std::vector<Candidate> found_;
};

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

std::int64_t cores_of(const Predictor& predictor) {
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(predictor.machine().profile.cores.value));
}

/// Threads of the optimizer that leave the other lanes their cores.
std::int64_t usual_threads(const Predictor& predictor) {
  const std::int64_t cores = cores_of(predictor);
  if (predictor.machine().profile.device == DeviceKind::host) {
    return std::max<std::int64_t>(1, cores - 1);
  }
  return std::max<std::int64_t>(1, cores - (cores > 4 ? 2 : 0));
}

/// Bytes that cross the slower link in `time`, as a power of two of at least 64 KiB.
Bytes chunk_of(const Predictor& predictor, Seconds time) {
  const MachineProfile& profile = predictor.machine().profile;
  const double bytes = std::min(profile.h2d.value, profile.d2h.value) * time.count();
  std::int64_t chunk = 64 << 10;
  while (static_cast<double>(chunk) * 2 <= bytes) chunk *= 2;
  return Bytes(chunk);
}

/// A chunk small against one block's copy, so that urgent copies do not wait long, yet few enough.
Bytes usual_chunk(const Predictor& predictor) {
  return chunk_of(predictor, predictor.machine().profile.device == DeviceKind::cuda
                                 ? Seconds(2e-3)
                                 : Seconds(20e-3));
}

Plan structure(const Predictor& predictor, std::int64_t rounds, const KeepChoice& keep,
               const ResidencyChoice& residency, Tier gradients) {
  const Job& job = predictor.job();
  UnitPlan unit;
  unit.gradients = gradients;
  Plan plan = uniform_plan(job, unit, rounds);
  const std::int64_t layers = job.model.layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    UnitPlan& block = plan.units[static_cast<std::size_t>(layer) + 1];
    const bool more = layer >= layers - keep.count;
    block.keep = more ? keep.more : keep.less;
    block.keep_tier = more ? keep.more_tier : keep.less_tier;
  }
  const auto reside = [&](UnitPlan& at) {
    at.weights = Tier::hbm;
    if (residency.what != ResidencyChoice::What::state) return;
    at.state = at.gradients = Tier::hbm;
    at.executor = Executor::gpu;
    at.when = When::after;
  };
  for (std::int64_t i = 0; i < residency.count; ++i) {
    reside(plan.units[static_cast<std::size_t>(layers - i)]);
  }
  if (residency.ends) {
    reside(plan.units.front());
    reside(plan.units.back());
  }
  if (job.model.tied_head && plan.units.front().gradients != plan.units.back().gradients) {
    plan.units.front().gradients = plan.units.back().gradients = Tier::hbm;
  }
  plan.weight_buffers = std::min<std::int64_t>(3, layers);
  plan.prefetch_depth = plan.weight_buffers - 1;
  plan.gradient_buffers = 2;
  plan.activation_buffers = 2;
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
  const std::int64_t layers = predictor.job().model.layers;
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
  return all;
}

std::vector<KeepChoice> keeps(const PlanEstimator& estimator, const Predictor& predictor,
                              std::int64_t rounds, const ResidencyChoice& residency,
                              Tier gradients) {
  const std::int64_t layers = predictor.job().model.layers;
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
  Collector found(estimator, predictor, pins);
  for (const std::int64_t rounds : divisors(predictor.job().micro_batches())) {
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

std::vector<Candidate> variations(const Plan& base, const PlanEstimator& estimator,
                                  const Predictor& predictor, const Pins& pins) {
  Collector found(estimator, predictor, pins);
  const Job& job = predictor.job();
  const std::int64_t layers = job.model.layers;
  const std::int64_t cores = cores_of(predictor);
  const Bytes usual = usual_chunk(predictor);
  const std::set<std::int64_t> buffers{1, 2, 3, 4, 6, 8};
  std::set<std::int64_t> threads{base.threads, usual_threads(predictor), cores,
                                 std::max<std::int64_t>(1, cores / 2)};
  std::vector<When> times{When::forward, When::after};
  if (!job.optimizer.clip) times.push_back(When::backward);
  const auto with_when = [](Plan plan, When when) {
    for (UnitPlan& unit : plan.units) {
      unit.when = unit.executor == Executor::gpu && when == When::forward ? When::after : when;
    }
    return plan;
  };
  for (const std::int64_t weight_buffers : buffers) {
    if (weight_buffers > layers && weight_buffers > 1) continue;
    for (const std::int64_t depth : std::set<std::int64_t>{
             weight_buffers - 1, std::max<std::int64_t>(0, weight_buffers - 2)}) {
      for (const std::int64_t gradient_buffers : {1, 2, 3, 4}) {
        for (const Bytes chunk : {usual, Bytes(usual.count() * 4), Bytes(0)}) {
          Plan plan = base;
          plan.weight_buffers = weight_buffers;
          plan.prefetch_depth = depth;
          plan.gradient_buffers = gradient_buffers;
          plan.copy_chunk = chunk;
          for (const std::int64_t count : threads) {
            plan.threads = count;
            for (const When when : times) found.add(with_when(plan, when));
          }
        }
      }
    }
  }
  const bool offloads = std::any_of(base.units.begin(), base.units.end(), [](const UnitPlan& unit) {
    return unit.keep_tier == Tier::host;
  });
  for (const std::int64_t activation_buffers : {1, 3, 4}) {
    if (!offloads) break;
    Plan plan = base;
    plan.activation_buffers = activation_buffers;
    found.add(plan);
  }
  return found.take();
}

std::vector<Candidate> leanest(const PlanEstimator& estimator, const Predictor& predictor,
                               const Pins& pins) {
  Collector found(estimator, predictor, pins);
  const Job& job = predictor.job();
  for (const Tier keep_tier : {Tier::hbm, Tier::host}) {
    for (const ResidencyChoice::What what :
         {ResidencyChoice::What::none, ResidencyChoice::What::state}) {
      const bool all = what == ResidencyChoice::What::state;
      Plan plan = structure(predictor, job.micro_batches(),
                            {Keep::input, Keep::input, keep_tier, keep_tier, 0},
                            {what, all ? job.model.layers : 0, all}, Tier::host);
      plan.weight_buffers = plan.gradient_buffers = plan.activation_buffers = 1;
      plan.prefetch_depth = 0;
      plan.copy_chunk = Bytes(0);
      found.add(plan);
    }
  }
  return found.take();
}

double space_log10(const Predictor& predictor) {
  const Job& job = predictor.job();
  const double times = job.optimizer.clip ? 1 : 2;  // gpu: after, backward
  const bool state_in_hbm = predictor.residency() != Residency::host;
  // cpu: weights and gradients each in two tiers, `when` also forward; gpu: everything in HBM.
  const double executor = 4 * (times + 1) + (state_in_hbm ? times : 0);
  const double block = executor * 3 * 2;
  const double layers = static_cast<double>(job.model.layers);
  double log10 = layers * std::log10(block) + 2 * std::log10(executor);
  const double buffers = layers * (layers + 1) / 2;  // weight buffers with each prefetch depth
  log10 += std::log10(buffers) + 2 * std::log10(layers);
  log10 += std::log10(static_cast<double>(divisors(job.micro_batches()).size()));
  log10 += std::log10(static_cast<double>(cores_of(predictor))) + std::log10(16.0);
  return log10;
}

}  // namespace sluice::planner
