// Once plans are known: sketches elsewhere than near the relaxation's optimum, with the best plan's
// buffers.
#include <algorithm>

#include "planner/guided/guided_search.hpp"
#include "planner/guided/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Of a model's parameters, what makes an embedding or a head worth sketches of its own.
constexpr double kLargeEnd = 0.02;
/// Of the device's memory, what makes a slot for a block's gradient a large one.
constexpr double kLargeSlot = 0.05;
/// For gradients of blocks, of several rounds.
constexpr std::int64_t kSlotsOfRounds = 3;
/// Numbers of rounds that are sketched with other rings.
constexpr int kRingNodes = 2;

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

/// An embedding or a head elsewhere than the best plan's takes the memory of some blocks, which
/// then have to go: a sketch, no move. Those that the relaxation does not rule out, of units whose
/// memory matters.
void GuidedSearch::sketch_ends() {
  const GuidedPlan best = ranking_.ranked().front();
  Plan usual = with_buffers_of(best.plan);
  // What they free may be worth more as a slot for gradients, which come and go once a round.
  if (best.plan.rounds > 1 && usual.gradient_buffers < kSlotsOfRounds) {
    usual.gradient_buffers = kSlotsOfRounds;
  }
  const std::size_t last = unit_count(predictor_.job().model) - 1;
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
    const auto size = static_cast<double>(unit_padded_size(predictor_.job().model, unit));
    if (size < kLargeEnd * static_cast<double>(parameter_count(predictor_.job().model))) continue;
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
      for (const double slack : {0.4, 1.0}) add_near(relaxation_, other, usual, slack, Bytes(0));
    }
  }
}

/// Of many rounds, each block's gradient comes and goes once a round: a third slot may be worth the
/// memory of blocks that would be kept. The first numbers of rounds that may be worth while, where
/// a slot is no small part of the device's memory.
void GuidedSearch::sketch_rings() {
  const double slot = 4.0 * static_cast<double>(unit_padded_size(predictor_.job().model, 1));
  if (slot < kLargeSlot * static_cast<double>(predictor_.machine().hbm.count())) return;
  int sketched = 0;
  for (const Node& node : nodes_) {
    if (node.node.rounds == 1 || !is_worthwhile(node)) continue;
    const std::int64_t per_round = predictor_.job().micro_batches() / node.node.rounds;
    Plan usual = with_buffers_of(ranking_.ranked().front().plan);
    set_weight_buffers(usual, std::min<std::int64_t>(2, predictor_.job().model.layers));
    usual.gradient_buffers = kSlotsOfRounds;
    for (const std::int64_t records : {few_records(node), std::min<std::int64_t>(6, per_round)}) {
      usual.activation_buffers = records;
      for (const double slack : {0.4, 1.0, 1.6}) {
        add_near(relaxation_, node.node, usual, slack, Bytes(0));
      }
    }
    if (++sketched == kRingNodes) break;
  }
}

/// What the best plan's rings take less than usual ones is memory that a sketch sets aside for
/// nothing: sketched again with its own, and with every core for CPU updates, of which there may be
/// more then.
void GuidedSearch::sketch_again() {
  const GuidedPlan best = ranking_.ranked().front();
  RelaxedNode node;
  node.rounds = best.plan.rounds;
  Plan usual = with_buffers_of(best.plan);
  usual.threads = cores_of(predictor_);
  for (const double slack : {0.2, 0.4, 0.8, 1.3}) {
    add_near(relaxation_, node, usual, slack, Bytes(0));
  }
}

/// A smaller ring is no faster by itself: what it frees is, as a sketch uses it. The best plan's,
/// each smaller by itself and weights' and gradients' together.
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
    for (const double slack : {0.2, 0.4, 0.8}) add_near(relaxation_, node, usual, slack, Bytes(0));
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

/// Records that leave through few slots are waited for, through many take memory: the best plan's
/// number of rounds, sketched for each.
void GuidedSearch::sketch_slots() {
  const GuidedPlan best = ranking_.ranked().front();
  const std::int64_t per_round = best.plan.micro_batches_per_round;
  for (std::int64_t slots = 2; slots <= per_round; slots += (slots + 1) / 2) {
    Plan usual = usual_plan();
    usual.activation_buffers = slots;
    RelaxedNode node;
    node.rounds = best.plan.rounds;
    node.record_slots = {.least = slots, .most = slots};
    for (const double slack : {0.4, 0.8, 1.3, 2.2})
      add_near(relaxation_, node, usual, slack, Bytes(0));
  }
}

/// No schedule keeps links and CPU as busy as the relaxation does. The best plan's number of rounds
/// sketched as if each of them were slower, with its buffers.
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
      for (const double slack : {0.4, 1.0}) add_near(slower, node, usual, slack, Bytes(0));
    }
  }
}

}  // namespace sluice::planner
