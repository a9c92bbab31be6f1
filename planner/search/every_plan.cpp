#include "planner/search/every_plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/guided/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Whole tensors, and powers of two from 64 KiB to 1 GiB.
std::vector<std::int64_t> chunks() {
  std::vector<std::int64_t> all{0};
  for (std::int64_t chunk = 64 << 10; chunk <= (1 << 30); chunk *= 2) all.push_back(chunk);
  return all;
}

std::vector<UnitPlan> unit_choices(bool block) {
  std::vector<UnitPlan> all;
  for (const Tier weights : {Tier::host, Tier::hbm}) {
    for (const Tier gradients : {Tier::host, Tier::hbm}) {
      for (const Tier state : {Tier::host, Tier::hbm}) {
        for (const Executor executor : {Executor::cpu, Executor::gpu}) {
          for (const When when : {When::backward, When::forward, When::after}) {
            for (const Keep keep : {Keep::input, Keep::selective, Keep::all}) {
              for (const Tier tier : {Tier::hbm, Tier::host}) {
                if (!block && (keep != Keep::input || tier != Tier::hbm)) continue;
                const UnitPlan unit{weights, gradients, state, keep, tier, executor, when};
                UnitPlan ring = unit;
                ring.staging = Staging::ring;
                if (stages_state(unit)) all.push_back(ring);
                all.push_back(unit);
                UnitPlan slice = unit;
                slice.resident = Extent::slice;
                const bool may = weights == Tier::hbm && executor == Executor::gpu;
                if (may) all.push_back(slice);
              }
            }
          }
        }
      }
    }
  }
  return all;
}

/// One field's or unit's values: each writes itself into a plan.
using Axis = std::vector<std::function<void(Plan&)>>;

class SmallSpace {
 public:
  /// A space larger than `most` is left incomplete.
  SmallSpace(const Predictor& predictor, const Pins& pins, double most)
      : predictor_(predictor), pins_(pins) {
    const Job& job = predictor.part();
    const std::int64_t layers = job.model.layers, micro = job.micro_batches();
    std::vector<std::int64_t> rounds;
    for (std::int64_t r = 1; r <= micro; ++r) {
      if (micro % r == 0) rounds.push_back(r);
    }
    add<std::int64_t>(
        rounds, [](Plan& plan) { return plan.rounds; },
        [micro](Plan& plan, std::int64_t r) {
          plan.rounds = r;
          plan.micro_batches_per_round = micro / r;
        });
    const auto field = [&](std::int64_t Plan::*which, std::int64_t least, std::int64_t most) {
      std::vector<std::int64_t> values;
      for (std::int64_t value = least; value <= most; ++value) values.push_back(value);
      add<std::int64_t>(
          values, [which](Plan& plan) { return plan.*which; },
          [which](Plan& plan, std::int64_t value) { plan.*which = value; });
    };
    field(&Plan::weight_buffers, 1, layers);
    field(&Plan::prefetch_depth, 0, layers - 1);
    field(&Plan::gradient_buffers, 1, layers + 2);
    field(&Plan::activation_buffers, 1, layers * micro + 1);
    field(&Plan::state_buffers, 0, layers + 2);
    field(&Plan::stream_buffers, kFewestStreams, std::min(kMostStreams, layers + 1));
    field(&Plan::threads, 1, cores_of(predictor));
    add<std::int64_t>(
        chunks(), [](Plan& plan) { return plan.copy_chunk.count(); },
        [](Plan& plan, std::int64_t value) { plan.copy_chunk = Bytes(value); });
    if (predictor.ranks() > 1) add_exchanges();
    const std::size_t head = unit_count(job.model) - 1;
    for (std::size_t unit = 0; unit <= head && size() <= most; ++unit) {
      const bool block = unit > 0 && unit < head;
      std::vector<UnitPlan> choices;
      for (const UnitPlan& choice : unit_choices(block)) {
        Plan plan = predictor.plan_of({}, 1);
        plan.units[unit] = choice;
        if (is_valid(plan, predictor.job()) || job.model.tied_head) choices.push_back(choice);
      }
      if (predictor.residency() == Residency::host) {
        std::erase_if(choices, [](const UnitPlan& each) { return each.state == Tier::hbm; });
      }
      add<UnitPlan>(
          choices, [unit](Plan& plan) { return plan.units[unit]; },
          [unit](Plan& plan, const UnitPlan& value) { plan.units[unit] = value; });
    }
  }

  [[nodiscard]] double size() const {
    double product = 1;
    for (const Axis& axis : axes_) product *= static_cast<double>(axis.size());
    return product;
  }

  void visit(std::size_t axis, Plan& plan, const std::function<void(const Plan&)>& body) const {
    if (axis == axes_.size()) return body(plan);
    for (const auto& write : axes_[axis]) {
      write(plan);
      visit(axis + 1, plan, body);
    }
  }

 private:
  /// Buffers for what ranks exchange, and the largest piece that one of them holds.
  void add_exchanges() {
    add<std::int64_t>(
        {1, 2, 4}, [](Plan& plan) { return plan.receive_buffers; },
        [](Plan& plan, std::int64_t value) { plan.receive_buffers = value; });
    add<std::int64_t>(
        {1 << 20, 16 << 20, 64 << 20, 256 << 20},
        [](Plan& plan) { return plan.exchange_piece.count(); },
        [](Plan& plan, std::int64_t value) { plan.exchange_piece = Bytes(value); });
  }

  /// Adds an axis of the values that pins leave distinct.
  template <class Value, class Read, class Write>
  void add(const std::vector<Value>& values, Read read, Write write) {
    Axis axis;
    std::vector<Value> seen;
    for (const Value& value : values) {
      Plan plan = predictor_.plan_of({}, 1);
      write(plan, value);
      if (pins_) pins_(plan);
      const Value left = read(plan);
      if (std::find(seen.begin(), seen.end(), left) != seen.end()) continue;
      seen.push_back(left);
      axis.push_back([write, left](Plan& at) { write(at, left); });
    }
    axes_.push_back(std::move(axis));
  }

  const Predictor& predictor_;
  const Pins& pins_;
  std::vector<Axis> axes_;
};

}  // namespace

Plan canonical(Plan plan) {
  std::int64_t streamed = 0, on_host = 0, staged_gradients = 0, offloaded = 0, staged = 0;
  bool cpu = false;
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const UnitPlan& choice = plan.units[unit];
    const bool block = unit > 0 && unit + 1 < plan.units.size();
    if (block && passes_weights(choice)) ++streamed;
    if (block && streams_gradient(plan, choice)) ++on_host;
    if (choice.gradients == Tier::hbm && choice.executor == Executor::cpu) ++staged_gradients;
    if (block && choice.keep_tier == Tier::host) offloaded += plan.micro_batches_per_round;
    if (stages_state(choice)) ++staged;
    cpu = cpu || choice.executor == Executor::cpu;
  }
  if (streamed > 0) {
    plan.weight_buffers = std::min(plan.weight_buffers, streamed);
    limit_prefetch(plan);
  }
  // A second gradient buffer also lets running sums come early.
  plan.gradient_buffers =
      std::min(plan.gradient_buffers, std::max({std::int64_t{2}, on_host, staged_gradients}));
  plan.activation_buffers = std::min(plan.activation_buffers, offloaded + 1);
  plan.state_buffers = std::min(plan.state_buffers, staged);
  if (offloaded == 0) plan.stream_buffers = kFewestStreams;
  if (!cpu) plan.threads = 1;
  return plan;
}

std::optional<std::vector<Plan>> every_plan(const Predictor& predictor, const Pins& pins,
                                            std::int64_t most) {
  const SmallSpace space(predictor, pins, static_cast<double>(most));
  if (space.size() > static_cast<double>(most)) return std::nullopt;
  std::vector<Plan> plans;
  std::set<std::string> seen;
  Plan start = predictor.plan_of({}, 1);
  space.visit(0, start, [&](const Plan& visited) {
    Plan plan = visited;
    if (pins) pins(plan);
    if (!is_valid(plan, predictor.job())) return;
    // A ring serves gradients that follow their state over the link at least as well.
    if (std::ranges::any_of(plan.units, [](const UnitPlan& unit) {
          return rotates_state(unit) && unit.staging == Staging::whole;
        })) {
      return;
    }
    if (seen.insert(plan_hash(canonical(plan))).second) plans.push_back(std::move(plan));
  });
  return plans;
}

}  // namespace sluice::planner
