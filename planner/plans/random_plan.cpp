#include "planner/plans/random_plan.hpp"

#include <array>
#include <initializer_list>
#include <random>
#include <vector>

#include "planner/models/slices.hpp"

namespace sluice::planner {
namespace {

/// Random numbers that do not depend on the standard library's distributions.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return between(0, 1) == 1; }
  template <class T>
  T of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

UnitPlan draw_unit(Draw& draw, const Job& job) {
  const bool muon = job.optimizer.kind == OptimizerKind::muon;
  UnitPlan unit;
  unit.keep = draw.of<Keep>({Keep::input, Keep::selective, Keep::all});
  unit.keep_tier = draw.of<Tier>({Tier::hbm, Tier::host});
  unit.executor = draw.between(0, 2) == 0 || muon ? Executor::gpu : Executor::cpu;
  std::vector<When> times{When::after};
  if (!job.optimizer.clip) times.push_back(When::backward);
  if (unit.executor == Executor::gpu && draw.coin()) {
    unit.weights = draw.of<Tier>({Tier::hbm, Tier::host});
    unit.gradients = Tier::hbm;
    unit.state = Tier::host;
    times = {When::after};
  } else if (unit.executor == Executor::gpu) {
    unit.weights = unit.gradients = unit.state = Tier::hbm;
  } else {
    unit.weights = draw.of<Tier>({Tier::hbm, Tier::host, Tier::host});
    unit.gradients = draw.of<Tier>({Tier::hbm, Tier::host, Tier::host});
    unit.state = Tier::host;
    times.push_back(When::forward);
  }
  unit.when = draw.of(times);
  return unit;
}

/// Lets about half of the units whose state is staged use the ring, some under the backward pass,
/// some with gradients on the host.
void draw_rings(Draw& draw, Plan& plan, const Job& job) {
  for (UnitPlan& unit : plan.units) {
    if (!stages_state(unit) || draw.coin()) continue;
    unit.staging = Staging::ring;
    if (!job.optimizer.clip && draw.coin()) unit.when = When::backward;
    if (draw.coin()) unit.gradients = Tier::host;
  }
}

/// Lets about half of the units that may hold weights as slices do.
void draw_slices(Draw& draw, Plan& plan) {
  for (UnitPlan& unit : plan.units) {
    const bool may = unit.weights == Tier::hbm && unit.executor == Executor::gpu;
    if (may && draw.coin()) unit.resident = Extent::slice;
  }
}

/// Makes the outer units valid: they keep nothing, and a tied head's gradient waits where the
/// embedding's does.
void repair_outer_units(Plan& plan, const Job& job) {
  for (UnitPlan* end : {&plan.units.front(), &plan.units.back()}) {
    end->keep = Keep::input;
    end->keep_tier = Tier::hbm;
  }
  if (!job.model.tied_head) return;
  UnitPlan& embed = plan.units.front();
  UnitPlan& head = plan.units.back();
  if (embed.gradients != head.gradients) embed.gradients = head.gradients = Tier::hbm;
}

}  // namespace

Plan random_plan(const Job& job, std::uint64_t seed, std::int64_t ranks) {
  Draw draw(seed);
  const Job part = part_of_rank(job, ranks);
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= part.micro_batches(); ++d) {
    if (part.micro_batches() % d == 0) divisors.push_back(d);
  }
  Plan plan = uniform_plan(part, draw_unit(draw, job), draw.of(divisors));
  plan.ranks = ranks;
  if (draw.coin()) {
    for (UnitPlan& unit : plan.units) unit = draw_unit(draw, job);
  }
  repair_outer_units(plan, job);
  plan.weight_buffers = draw.between(1, job.model.layers + 1);
  plan.prefetch_depth = draw.between(0, plan.weight_buffers - 1);
  plan.gradient_buffers = draw.between(1, 3);
  plan.activation_buffers = draw.between(1, 3);
  plan.state_buffers = draw.between(0, job.model.layers);
  plan.stream_buffers = draw.between(kFewestStreams, kMostStreams);
  plan.copy_chunk = draw.of<Bytes>({Bytes(0), Bytes(4096), Bytes(65536 + 64), Bytes(1 << 20)});
  plan.threads = draw.between(1, 4);
  draw_rings(draw, plan, job);
  if (ranks > 1) {
    plan.exchange_piece = job.gradient_element() * (kNormBlock * draw.between(1, 8));
    plan.receive_buffers = draw.between(1, 3);
    draw_slices(draw, plan);
    plan.gather = draw.of<Gather>({Gather::fabric, Gather::host});
  }
  repair_outer_units(plan, job);
  validate(plan, job);
  return plan;
}

}  // namespace sluice::planner
