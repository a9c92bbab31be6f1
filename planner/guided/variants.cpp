// Sketches elsewhere than near the relaxation's optimum, with the best plan's buffers.
#include <algorithm>

#include "planner/guided/guided_search.hpp"
#include "planner/guided/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Share of a model's parameters that makes an embedding or a head worth sketches of its own.
/// Serves models of large vocabularies (14 B on an H200 of 64 cores).
constexpr double kLargeOuterUnit = 0.02;
/// Slots for blocks' gradients with several rounds. Serves the largest models (405 B on an H200),
/// whose gradients' slots are a large part of the device.
constexpr std::int64_t kSlotsOfRounds = 3;
/// Sizes of the rings that sketches with more memory for something else set aside.
constexpr double kFewRingSizes[] = {0.4, 1.0};
/// Sizes of the best plan's own rings that are set aside. Serves large devices (14 B on an H200),
/// where its rings are not the usual ones.
constexpr double kOwnRingSizes[] = {0.2, 0.4, 0.8, 1.3};
/// Sizes of smaller rings that are set aside. Serves devices of a few MiB, where one slot less
/// makes room for a block.
constexpr double kSmallerRingSizes[] = {0.2, 0.4, 0.8};

}  // namespace

Plan GuidedSearch::with_buffers_of(const Plan& plan) const {
  Plan usual = usual_plan();
  usual.weight_buffers = plan.weight_buffers;
  usual.prefetch_depth = plan.prefetch_depth;
  usual.gradient_buffers = plan.gradient_buffers;
  usual.activation_buffers = plan.activation_buffers;
  usual.stream_buffers = std::max(usual.stream_buffers, plan.stream_buffers);
  usual.copy_chunk = plan.copy_chunk;
  return usual;
}

/// Adds sketches with each other place of a large embedding or head that the relaxation does not
/// rule out. They take the memory of whole blocks, for which no single move makes room.
void GuidedSearch::sketch_outer_units() {
  const GuidedPlan best = ranking_.ranked().front();
  Plan usual = with_buffers_of(best.plan);
  // Memory that they free may be worth more as a slot for gradients, which come once a round.
  if (best.plan.rounds > 1 && usual.gradient_buffers < kSlotsOfRounds) {
    usual.gradient_buffers = kSlotsOfRounds;
  }
  const std::size_t last = unit_count(predictor_.part().model) - 1;
  const auto choice_of = [&](std::size_t unit) -> std::optional<std::size_t> {
    const auto choices = relaxation_.residency_choices(unit, best.plan.rounds);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      UnitPlan own = best.plan.units[unit];
      own.keep = choices[i].unit.keep;
      own.keep_tier = choices[i].unit.keep_tier;
      if (own == choices[i].unit) return i;
    }
    return std::nullopt;
  };
  const RelaxedNode here{
      .rounds = best.plan.rounds, .embed = choice_of(0), .head = choice_of(last)};
  for (const std::size_t unit : {std::size_t{0}, last}) {
    const auto size = static_cast<double>(unit_padded_size(predictor_.part().model, unit));
    if (size < kLargeOuterUnit * static_cast<double>(parameter_count(predictor_.part().model)))
      continue;
    const auto& own = unit == 0 ? here.embed : here.head;
    const std::size_t count = relaxation_.residency_choices(unit, best.plan.rounds).size();
    for (std::size_t choice = 0; choice < count; ++choice) {
      if (choice == own) continue;
      RelaxedNode other = here;
      (unit == 0 ? other.embed : other.head) = choice;
      // A tied head's gradient waits where the embedding's does.
      if (relaxation_.tied_head()) (unit == 0 ? other.head : other.embed).reset();
      const RelaxedPlan relaxed = relaxation_.solve(other);
      if (!relaxed.feasible || relaxed.bound > kWorthwhile * to_seconds(best.coarse)) continue;
      for (const double slack : kFewRingSizes) add_near(relaxation_, other, usual, slack, Bytes(0));
    }
  }
}

/// Adds sketches with the best plan's own rings, for sketches with usual ones set more or less
/// memory aside, and with every core for CPU updates.
void GuidedSearch::sketch_again() {
  const GuidedPlan best = ranking_.ranked().front();
  RelaxedNode node;
  node.rounds = best.plan.rounds;
  Plan usual = with_buffers_of(best.plan);
  usual.threads = cores_of(predictor_);
  for (const double slack : kOwnRingSizes) {
    add_near(relaxation_, node, usual, slack, Bytes(0));
  }
}

/// Adds sketches with each of the best plan's rings smaller, and several together: a smaller ring
/// is no faster by itself, but a sketch has a use for the memory that it frees.
void GuidedSearch::sketch_smaller_rings() {
  const GuidedPlan best = ranking_.ranked().front();
  RelaxedNode node;
  node.rounds = best.plan.rounds;
  const auto with = [&](std::int64_t weights, std::int64_t gradients, std::int64_t records,
                        std::int64_t streams) {
    Plan usual = with_buffers_of(best.plan);
    usual.threads = best.plan.threads;
    usual.weight_buffers = std::max<std::int64_t>(1, weights);
    limit_prefetch(usual);
    usual.gradient_buffers = std::max<std::int64_t>(1, gradients);
    usual.activation_buffers = std::max<std::int64_t>(1, records);
    usual.stream_buffers = std::max(kFewestStreams, streams);
    for (const double slack : kSmallerRingSizes)
      add_near(relaxation_, node, usual, slack, Bytes(0));
  };
  const Plan& plan = best.plan;
  const std::int64_t weights = plan.weight_buffers, gradients = plan.gradient_buffers,
                     records = plan.activation_buffers, streams = plan.stream_buffers;
  with(weights - 1, gradients, records, streams);
  with(weights, gradients - 1, records, streams);
  with(weights - 1, gradients - 1, records, streams);
  if (!offloads_records(best.sketch)) return;
  with(weights, gradients, records * 3 / 4, streams);
  with(weights, gradients, records / 2, streams);
  with(weights, gradients, records, streams - 1);
  with(weights - 1, gradients - 1, records / 2, streams);
}

/// Adds sketches of the best plan's number of rounds for each number of slots for records: few are
/// waited for, many take memory. Serves devices with hardly enough memory (7 B in 8400 MiB).
void GuidedSearch::sketch_slots() {
  const GuidedPlan best = ranking_.ranked().front();
  const std::int64_t per_round = best.plan.micro_batches_per_round;
  for (std::int64_t slots = 2; slots <= per_round; slots += (slots + 1) / 2) {
    Plan usual = usual_plan();
    usual.activation_buffers = slots;
    RelaxedNode node;
    node.rounds = best.plan.rounds;
    node.record_slots = {.least = slots, .most = slots};
    for (const double slack : kRingSizes) add_near(relaxation_, node, usual, slack, Bytes(0));
  }
}

/// Adds sketches of slower links and CPU updates, each and together, for no schedule keeps them as
/// busy as the relaxation does.
void GuidedSearch::sketch_slower(std::initializer_list<double> paces) {
  const GuidedPlan best = ranking_.ranked().front();
  const Plan usual = with_buffers_of(best.plan);
  RelaxedNode node;
  node.rounds = best.plan.rounds;
  for (const double pace : paces) {
    for (const PlanRelaxation::Pace& each :
         {PlanRelaxation::Pace{pace, 1, 1}, PlanRelaxation::Pace{1, pace, 1},
          PlanRelaxation::Pace{1, 1, pace}, PlanRelaxation::Pace{pace, pace, 1},
          PlanRelaxation::Pace{pace, pace, pace}}) {
      const PlanRelaxation slower = relaxation_.at_pace(each);
      for (const double slack : kFewRingSizes) add_near(slower, node, usual, slack, Bytes(0));
    }
  }
}

}  // namespace sluice::planner
