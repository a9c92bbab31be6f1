// Moves: plans made better by small changes, of blocks from one choice to another, orders, buffers.
#include <algorithm>

#include "planner/graph/record.hpp"
#include "planner/guided/guided_search.hpp"
#include "planner/guided/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Ranked plans whose moves are tried. Serves devices with hardly enough memory (7 B in 8110 MiB),
/// where the best plan has few moves that fit.
constexpr std::size_t kImproved = 2;
/// Numbers of rounds whose best plan is improved by itself, and its ratio to the best step at most.
/// Serves small devices without clipping (7 B on an RTX 3090), where another number of rounds
/// becomes the best once its plan is improved.
constexpr std::size_t kHills = 2;
constexpr double kHigh = 1.1;
/// Plans lacking memory that are repaired, and how many moves of each are tried for that. Serves
/// devices with hardly enough memory (7 B in 8110 MiB).
constexpr std::size_t kRepaired = 2, kSmaller = 8;
/// Share of the blocks that the longer of two moves takes at a time. Serves small models (0.5 B on
/// an H200), whose search ends before moves of single blocks get far.
constexpr std::int64_t kFarShare = 12;

/// Sizes of the pieces that exchanges between ranks may be cut into. Smaller ones wait for
/// barriers more than they move; a larger one holds a whole slice of most units.
constexpr Bytes kLeastPiece{1ll << 20}, kMostPiece{1ll << 30};

/// Lets `other`, tied to `moved`, make the choice nearest to its own whose gradient waits where
/// `moved`'s does, for they share one gradient.
void follow(UnitPlan& other, const UnitPlan& moved, const std::vector<UnitChoice>& choices) {
  if (other.gradients == moved.gradients) return;
  const UnitPlan before = other;
  int most = -1;
  for (const UnitChoice& choice : choices) {
    if (choice.unit.gradients != moved.gradients) continue;
    const int same = (choice.unit.weights == before.weights ? 1 : 0) +
                     (choice.unit.state == before.state ? 1 : 0) +
                     (choice.unit.executor == before.executor ? 1 : 0) +
                     (choice.unit.when == before.when ? 1 : 0);
    if (same <= most) continue;
    most = same;
    other = choice.unit;
  }
}

}  // namespace

/// Improves the best plan of each of the best numbers of rounds by itself, for which of them ends
/// the best is not known before; then the best of all.
void GuidedSearch::climb() {
  const std::vector<GuidedPlan>& ranked = ranking_.ranked();
  std::vector<std::int64_t> hills;
  for (const GuidedPlan& each : ranked) {
    if (std::find(hills.begin(), hills.end(), each.plan.rounds) != hills.end()) continue;
    if (hills.size() == kHills) break;
    if (to_seconds(each.coarse) > kHigh * to_seconds(ranked.front().coarse)) break;
    hills.push_back(each.plan.rounds);
  }
  for (const std::int64_t rounds : hills) {
    if (hills.size() == 1) break;
    const std::int64_t share = ranking_.left() / static_cast<std::int64_t>(hills.size() + 1);
    ranking_.reserve(ranking_.left() - share);
    while (!is_over()) {
      const auto rank = static_cast<std::size_t>(ranking_.best(rounds) - ranked.data());
      if (!improve(rank, rounds)) break;
    }
    ranking_.reserve(0);
  }
  climb_from_best();
  if (is_over()) return;
  // Serves jobs without clipping whose updates fill the step (14 B on a B200).
  sketch_slower({0.95, 0.88, 0.8});
  ranking_.play(Follow::all);
  climb_from_best();
}

void GuidedSearch::climb_from_best() {
  for (std::size_t rank = 0; rank < kImproved && rank < ranking_.ranked().size() && !is_over();) {
    rank = improve(rank) ? 0 : rank + 1;
  }
}

bool GuidedSearch::improve(std::size_t rank, std::int64_t rounds) {
  const GuidedPlan from = ranking_.ranked()[rank];
  for (PlanSketch& moved : moves(from.sketch, from.plan.rounds)) ranking_.add(std::move(moved));
  // Moves that would need more memory than there is come last, for they are of use only repaired.
  std::vector<GuidedPlan> larger = ranking_.take_larger(from);
  const auto try_waiting = [&] {
    const bool better = ranking_.play(Follow::first, rounds);
    return repair(rounds) || better;
  };
  if (try_waiting()) return true;
  ranking_.wait(std::move(larger));
  return try_waiting();
}

/// Tries plans that need so much less memory than those that would be the best but for a little of
/// it. True where the best became better.
bool GuidedSearch::repair(std::int64_t rounds) {
  for (const GuidedPlan& miss : ranking_.take_misses(Tier::host, rounds, kRepaired)) {
    if (auto lighter = lighter_on_host(miss)) ranking_.add(std::move(*lighter));
    PlanSketch apart = miss.sketch;
    apart.record_order = PlanSketch::Order::device_first;
    ranking_.add(std::move(apart));
  }
  std::vector<GuidedPlan> repaired = ranking_.take_waiting();
  for (const GuidedPlan& miss : ranking_.take_misses(Tier::hbm, rounds, kRepaired)) {
    for (GuidedPlan& each : smaller(miss)) repaired.push_back(std::move(each));
  }
  ranking_.wait(std::move(repaired));
  const bool better = ranking_.play(Follow::all, rounds);
  ranking_.forget_misses();
  return better;
}

/// The plan with so many records a level down that it fits the host; none where that is not enough.
std::optional<PlanSketch> GuidedSearch::lighter_on_host(const GuidedPlan& miss) const {
  const auto records = [this, &miss](const PlanSketch& sketch) {
    const BlockRecord record = block_record(predictor_.part());
    Bytes sum{0};
    for (const BlockCount& count : sketch.records) {
      if (count.choice.keep_tier != Tier::host) continue;
      sum += record.kept(count.choice.keep) *
             (count.blocks * miss.plan.micro_batches_per_round * miss.plan.ranks);
    }
    return sum;
  };
  const Bytes most = records(miss.sketch) - (miss.host - predictor_.machine().host);
  PlanSketch sketch = miss.sketch;
  sketch.from.reset();
  while (records(sketch) > most) {
    if (!lighten_host(sketch)) return std::nullopt;
  }
  return sketch;
}

/// Moves of the plan that need so much less memory than it as it lacked. Moves of a sketch's orders
/// or rings, which keep its node, need only not take more: what they free shows in the layout.
std::vector<GuidedPlan> GuidedSearch::smaller(const GuidedPlan& miss) {
  const Bytes over = miss.hbm - predictor_.machine().hbm;
  for (PlanSketch& moved : moves(miss.sketch, miss.plan.rounds)) ranking_.add(std::move(moved));
  std::vector<GuidedPlan> plans = ranking_.take_waiting();
  std::erase_if(plans, [&](const GuidedPlan& each) {
    if (each.sketch.from) return each.estimate.hbm_at_most > miss.estimate.hbm_at_most;
    return miss.estimate.hbm_at_least - each.estimate.hbm_at_least < over;
  });
  if (plans.size() > kSmaller) plans.resize(kSmaller);
  return plans;
}

std::vector<PlanSketch> GuidedSearch::moves(const PlanSketch& sketch, std::int64_t rounds) const {
  std::vector<PlanSketch> all;
  const auto with = [&](auto change) {
    PlanSketch moved = sketch;
    if (change(moved)) all.push_back(std::move(moved));
  };
  const auto field = [&](std::int64_t Plan::*which, std::int64_t least,
                         std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) {
      if (value < least || value == sketch.rest.*which) continue;
      with([&](PlanSketch& moved) {
        moved.rest.*which = value;
        limit_prefetch(moved.rest);
        if (which == &Plan::weight_buffers) set_weight_buffers(moved.rest, value);
        return true;
      });
    }
  };
  // Moves of blocks from one choice to another.
  const std::int64_t layers = predictor_.part().model.layers;
  const std::int64_t far = std::max<std::int64_t>(2, layers / kFarShare);
  const auto shift = [&](std::vector<BlockCount> PlanSketch::*counts,
                         const std::vector<UnitChoice>& choices) {
    for (const BlockCount& count : sketch.*counts) {
      for (const UnitChoice& to : choices) {
        if (to.unit == count.choice) continue;
        for (const std::int64_t blocks : {far, std::int64_t{1}}) {
          with([&](PlanSketch& moved) {
            moved.from.reset();
            return move_blocks(moved.*counts, count.choice, to.unit, blocks);
          });
        }
      }
    }
  };
  shift(&PlanSketch::records, relaxation_.record_choices(rounds));
  shift(&PlanSketch::residencies, relaxation_.residency_choices(1, rounds));
  using Order = PlanSketch::Order;
  for (const Order order : {Order::grouped, Order::reversed, Order::spread, Order::level}) {
    with([&](PlanSketch& moved) {
      moved.record_order = order;
      return order != sketch.record_order;
    });
    if (order == Order::level) continue;  // An order of records alone.
    with([&](PlanSketch& moved) {
      moved.residency_order = order;
      return order != sketch.residency_order;
    });
  }
  const std::size_t head = sketch.rest.units.size() - 1;
  const bool tied = predictor_.part().model.tied_head;
  for (const std::size_t unit : {std::size_t{0}, head}) {
    for (const UnitChoice& choice : relaxation_.residency_choices(unit, rounds)) {
      with([&](PlanSketch& moved) {
        moved.from.reset();
        moved.rest.units[unit] = choice.unit;
        UnitPlan& other = moved.rest.units[head - unit];
        if (tied) follow(other, choice.unit, relaxation_.residency_choices(head - unit, rounds));
        return !(choice.unit == sketch.rest.units[unit]);
      });
    }
  }
  const Plan& rest = sketch.rest;
  field(&Plan::weight_buffers, 1, {rest.weight_buffers - 1, rest.weight_buffers + 1, 2, 6});
  field(&Plan::gradient_buffers, 1, {rest.gradient_buffers - 1, rest.gradient_buffers + 2, 4, 8});
  field(&Plan::activation_buffers, 1,
        {rest.activation_buffers / 2, rest.activation_buffers * 2, rest.activation_buffers + 1});
  if (offloads_records(sketch)) field(&Plan::stream_buffers, kFewestStreams, {2, 3, 4});
  const std::int64_t staged = staged_blocks(sketch);
  if (staged > 0) {
    field(&Plan::state_buffers, 0,
          {0, staged / 4, staged / 2, staged * 3 / 4, staged, staged + 2, rest.state_buffers - 1,
           rest.state_buffers + 1});
  }
  if (predictor_.ranks() > 1) {
    field(&Plan::receive_buffers, 1, {1, 2, rest.receive_buffers + 1, 2 * rest.receive_buffers});
    for (const Bytes piece : {rest.exchange_piece / 2, rest.exchange_piece * 2}) {
      with([&](PlanSketch& moved) {
        moved.rest.exchange_piece = piece;
        return piece >= kLeastPiece && piece <= kMostPiece;
      });
    }
  }
  const std::int64_t cores = cores_of(predictor_);
  field(&Plan::threads, 1, {cores, std::max<std::int64_t>(1, cores / 2)});
  for (const std::int64_t chunk :
       {rest.copy_chunk.count() / 4, rest.copy_chunk.count() * 4, std::int64_t{0}}) {
    with([&](PlanSketch& moved) {
      moved.rest.copy_chunk = Bytes(chunk);
      return chunk != rest.copy_chunk.count() && (chunk == 0 || chunk >= 65536);
    });
  }
  return all;
}

}  // namespace sluice::planner
