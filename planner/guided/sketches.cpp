// Plans near the relaxation's optimum, with memory set aside for what it does not see.
#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/guided/guided_search.hpp"
#include "planner/models/slices.hpp"

namespace sluice::planner {
namespace {

/// Attempts to fit a number of rounds of which no plan fitted, each with more memory set aside.
/// Serves small models with their state on the host (0.5 B on an H200), whose last numbers of
/// rounds fit only so.
constexpr int kAttemptsOfLittleMemory = 5;
/// Attempts to make a sketch fit the host, each with what it lacked set aside there. Serves hosts
/// with too little memory (72 B on an H200).
constexpr int kLessOnHost = 2;
/// Share of the device's memory that slots for records may take where they are few. Serves jobs of
/// many micro-batches with little effort (7 B on an H200, 32 sequences) and models of experts in a
/// few MiB.
constexpr std::int64_t kFewRecordsShare = 16;

/// The first choice that keeps neither weights nor gradients on the device.
std::optional<std::size_t> streamed_choice(const std::vector<UnitChoice>& choices) {
  const auto found = std::find_if(choices.begin(), choices.end(), [](const UnitChoice& choice) {
    return choice.unit.weights == Tier::host && choice.unit.gradients == Tier::host;
  });
  if (found == choices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - choices.begin());
}

/// Bytes of a plan's buffers for what other ranks send.
Bytes received_bytes(const Predictor& predictor, const Plan& plan) {
  const std::int64_t block =
      slice_parameters(unit_padded_size(predictor.part().model, 1), plan.ranks);
  const Bytes piece = std::min(plan.exchange_piece, predictor.part().gradient_element() * block);
  return piece * (received_pieces(plan) * plan.receive_buffers);
}

std::int64_t parameters_of_block(const Job& job) { return unit_padded_size(job.model, 1); }

/// Bytes of page tables, were all state and gradients on the host, where that is much of the
/// device; else 0. Rings want this memory first, which the relaxation does not know. Serves the
/// largest models (405 B on an H200).
Bytes large_page_tables(const Job& job, const ResolvedMachine& machine) {
  constexpr double kMuch = 0.05;
  const Bytes everything = (Bytes(12) + job.gradient_wire_element()) * parameter_count(job.model);
  const Bytes tables = page_table_bytes(machine, everything);
  const bool much =
      static_cast<double>(tables.count()) > kMuch * static_cast<double>(machine.hbm.count());
  return much ? tables : Bytes(0);
}

}  // namespace

/// Takes one of the largest records on the host to the level below. False where every record there
/// is the least.
bool GuidedSearch::lighten_host(PlanSketch& sketch) const {
  const BlockRecord record = block_record(predictor_.part());
  const auto held = [&record](const UnitPlan& unit) {
    return unit.keep_tier == Tier::host ? record.kept(unit.keep) : Bytes(0);
  };
  BlockCount* heaviest = nullptr;
  for (BlockCount& count : sketch.records) {
    if (count.blocks == 0 || held(count.choice).count() == 0) continue;
    if (heaviest == nullptr || held(count.choice) > held(heaviest->choice)) heaviest = &count;
  }
  if (heaviest == nullptr) return false;
  const UnitPlan* lighter = nullptr;
  const std::vector<UnitChoice>& choices = relaxation_.record_choices(sketch.rest.rounds);
  for (const UnitChoice& choice : choices) {
    if (choice.unit.keep_tier != Tier::host) continue;
    if (held(choice.unit) >= held(heaviest->choice)) continue;
    if (lighter == nullptr || held(choice.unit) > held(*lighter)) lighter = &choice.unit;
  }
  if (lighter == nullptr) return false;
  --heaviest->blocks;
  const auto known =
      std::find_if(sketch.records.begin(), sketch.records.end(),
                   [lighter](const BlockCount& count) { return count.choice == *lighter; });
  if (known != sketch.records.end()) {
    ++known->blocks;
  } else {
    sketch.records.push_back({*lighter, 1});
  }
  return true;
}

/// The sketch with the smallest records, on the device for as many blocks as have their gradients
/// there: in one round the others' leave the host as gradients come. None where that is no change.
std::optional<PlanSketch> GuidedSearch::smallest_records(const PlanSketch& sketch) const {
  if (sketch.rest.rounds > 1) return std::nullopt;
  std::int64_t waiting = 0;
  for (const BlockCount& count : sketch.residencies) {
    if (count.choice.gradients == Tier::hbm) waiting += count.blocks;
  }
  PlanSketch smallest = sketch;
  smallest.from.reset();
  smallest.record_order = PlanSketch::Order::device_first;
  smallest.records.clear();
  for (const UnitChoice& choice : relaxation_.record_choices(sketch.rest.rounds)) {
    if (choice.unit.keep != Keep::input) continue;
    const bool device = choice.unit.keep_tier == Tier::hbm;
    smallest.records.push_back(
        {choice.unit, device ? waiting : predictor_.part().model.layers - waiting});
  }
  if (smallest.records.size() < 2) return std::nullopt;
  return smallest;
}

/// Slots for the records of a block's pass, or as many as a small share of the device holds: they
/// come and go in bursts beside whole blocks of weights.
std::int64_t GuidedSearch::few_records(const Node& node) const {
  const Job& job = predictor_.part();
  const std::int64_t per_round = job.micro_batches() / node.node.rounds;
  return std::clamp<std::int64_t>(
      predictor_.machine().hbm.count() / kFewRecordsShare / block_record(job).all_bytes.count(), 2,
      std::max<std::int64_t>(2, per_round));
}

void GuidedSearch::sketch_node(const Node& node) {
  const std::int64_t per_round = predictor_.part().micro_batches() / node.node.rounds;
  const std::int64_t few = few_records(node);
  for (const double slack : kRingSizes) {
    sketch_with(node, slack, few);
    if (few < per_round) sketch_with(node, slack, per_round);
  }
  ranking_.play(Follow::all);
  repair();
  // Where memory is scarce none of these may fit. Other orders of the plan that lacked least are
  // tried, then two slots with what was lacking set aside.
  const auto fits = [&] { return ranking_.best(node.node.rounds) != nullptr; };
  if (!fits() && !ranking_.is_spent()) {
    if (const GuidedPlan* nearest = ranking_.nearest_miss(node.node.rounds)) {
      const PlanSketch sketch = nearest->sketch;
      if (auto smallest = smallest_records(sketch)) ranking_.add(std::move(*smallest));
      ranking_.play(Follow::all);
      if (!fits()) add_orders_of(sketch);
      ranking_.play(Follow::all);
      repair();
    }
  }
  Bytes extra{0};
  for (int i = 0; i < kAttemptsOfLittleMemory && !fits() && !ranking_.is_spent(); ++i) {
    ranking_.forget_misses();
    sketch_with(node, 1, std::min<std::int64_t>(2, per_round), extra);
    ranking_.play(Follow::all);
    if (!ranking_.least_over()) break;
    extra += *ranking_.least_over() + *ranking_.least_over() / 8;
  }
}

/// Sketches a number of rounds, also with gradients apart from records, for a layout may not let
/// them share the host as the relaxation does; and also with embedding and head streamed, for rings
/// may be worth more than their memory.
void GuidedSearch::sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                               Bytes extra) {
  const auto sketch = [&](RelaxedNode reserved) {
    sketch_relaxed(reserved, slack, activation_buffers, extra);
    if (node.node.rounds > 1) return;
    reserved.gradients_apart = true;
    sketch_relaxed(reserved, slack, activation_buffers, extra);
  };
  sketch(node.node);
  if (ranking_.fixed_outer_units_are_slow(node.node.rounds)) return;
  const std::size_t head = unit_count(predictor_.part().model) - 1;
  RelaxedNode streamed = node.node;
  streamed.embed = streamed_choice(relaxation_.residency_choices(0, node.node.rounds));
  streamed.head = streamed_choice(relaxation_.residency_choices(head, node.node.rounds));
  if (streamed.embed || streamed.head) sketch(streamed);
}

void GuidedSearch::sketch_relaxed(RelaxedNode reserved, double slack,
                                  std::int64_t activation_buffers, Bytes extra) {
  Plan usual = usual_plan();
  usual.activation_buffers = activation_buffers;
  if (start_ == StartFrom::few_slots) {
    reserved.record_slots = {.least = activation_buffers, .most = activation_buffers};
  }
  add_near(relaxation_, reserved, usual, slack, extra);
}

/// Memory of the slots for records beyond what the relaxation counts, which is slots of mean size
/// where the node states their number, and else none.
Bytes GuidedSearch::slots_beyond(const PlanSketch& sketch, const RelaxedNode& node,
                                 std::int64_t slots) const {
  const BlockRecord record = block_record(predictor_.part());
  if (node.record_slots.most > slots) return record.all_bytes * slots;
  Bytes largest{0}, all{0};
  for (const BlockCount& count : sketch.records) {
    if (count.blocks == 0 || count.choice.keep_tier != Tier::host) continue;
    largest = std::max(largest, record.kept(count.choice.keep));
    all += record.kept(count.choice.keep) * count.blocks;
  }
  const std::int64_t layers = predictor_.part().model.layers;
  return Bytes(slots * std::max<std::int64_t>(0, largest.count() - all.count() / layers));
}

void GuidedSearch::add_near(const PlanRelaxation& relaxation, RelaxedNode reserved,
                            const Plan& usual, double slack, Bytes extra) {
  const Job& job = predictor_.part();
  const double block = static_cast<double>(parameters_of_block(job));
  const double weight = static_cast<double>(job.weight_element().count());
  const Bytes free =
      predictor_.machine().hbm - outside_arena_bytes(job, predictor_.machine().profile);
  const double rings = block * (weight * static_cast<double>(usual.weight_buffers) +
                                4 * static_cast<double>(usual.gradient_buffers));
  reserved.reserve =
      Bytes(static_cast<std::int64_t>(slack * (rings + 0.01 * static_cast<double>(free.count())))) +
      extra + large_page_tables(job, predictor_.machine()) + received_bytes(predictor_, usual);
  std::optional<PlanSketch> sketch = sketch_near(relaxation, reserved, usual);
  if (!sketch) return;
  if (offloads_records(*sketch)) {
    const auto with_slots = [&](RelaxedNode node) {
      node.reserve += slots_beyond(*sketch, node, usual.activation_buffers);
      reserved = node;
      sketch = sketch_near(relaxation, reserved, usual);
    };
    RelaxedNode counted = reserved;
    counted.record_slots = {.least = usual.activation_buffers, .most = usual.activation_buffers};
    with_slots(reserved);
    // Where slots for whole records take too much, the program counts their number.
    if (!sketch && ranking_.best(reserved.rounds) == nullptr) {
      sketch = sketch_near(relaxation, counted, usual);
      if (sketch && offloads_records(*sketch)) with_slots(counted);
    }
    if (!sketch) return;
  }
  const Bytes to_fit = ranking_.reserve_to_fit(reserved);
  if (to_fit > reserved.reserve) {
    reserved.reserve = to_fit;
    if (auto smaller = sketch_near(relaxation, reserved, usual)) sketch = std::move(smaller);
  }
  if (start_ == StartFrom::few_slots) {
    PlanSketch apart = *sketch;
    apart.rest.state_buffers = staged_blocks(apart);
    ranking_.add(std::move(apart));
  }
  if (auto later = some_later(*sketch)) ranking_.add(std::move(*later));
  ranking_.add(std::move(*sketch));  // Other orders follow for the best one.
}

/// The sketch with some CPU updates under forward passes, without clipping. The relaxation has no
/// order of updates; under backward passes alone those of the first blocks come last, and the next
/// step begins with them. With as many under forward passes as these take of a step, spread over
/// all blocks, every block's update is over when its pass comes. None where nothing changes.
std::optional<PlanSketch> GuidedSearch::some_later(const PlanSketch& sketch) const {
  if (predictor_.part().optimizer.clip || !sketch.updates_bind) return std::nullopt;
  const PassTimes& pass = predictor_.pass_times();
  const double share = pass.block_forward / (pass.block_forward + pass.block_backward);
  PlanSketch later = sketch;
  later.from.reset();
  later.residency_order = PlanSketch::Order::spread;
  bool moved = false;
  for (const BlockCount& count : sketch.residencies) {
    if (count.choice.executor != Executor::cpu || count.choice.when != When::backward) continue;
    UnitPlan forward = count.choice;
    forward.when = When::forward;
    const auto blocks = std::llround(share * static_cast<double>(count.blocks));
    moved |= blocks > 0 && move_blocks(later.residencies, count.choice, forward, blocks);
  }
  if (!moved) return std::nullopt;
  return later;
}

/// The sketch of a node, with the host's memory set aside until it fits. None where no plan has
/// that much memory left.
std::optional<PlanSketch> GuidedSearch::sketch_near(const PlanRelaxation& relaxation,
                                                    const RelaxedNode& node,
                                                    const Plan& usual) const {
  RelaxedPlan relaxed = relaxation.solve(node);
  if (!relaxed.feasible) return std::nullopt;
  PlanSketch sketch = sketch_of(relaxation, node, relaxed, usual);
  // Whole counts may need a little more of the host than relaxed ones; slots for gradients and
  // layouts need more than both.
  const Bytes more = ranking_.more_of_host(node.rounds);
  const auto over_host = [&] {
    Plan plan = to_plan(sketch);
    if (pins_) pins_(plan);
    if (!is_valid(plan, predictor_.job())) return Bytes(0);
    const Bytes needed = ranking_.estimator().estimate(plan).host_at_least + more;
    return std::max(Bytes(0), needed - predictor_.machine().host);
  };
  RelaxedNode less = node;
  for (int i = 0; i < kLessOnHost; ++i) {
    const Bytes over = over_host();
    if (over == Bytes(0)) break;
    less.host_reserve += over;
    relaxed = relaxation.solve(less);
    if (!relaxed.feasible) break;
    sketch = sketch_of(relaxation, less, relaxed, usual);
  }
  for (std::int64_t i = 0; i < predictor_.part().model.layers && over_host() > Bytes(0); ++i) {
    if (!lighten_host(sketch)) break;
  }
  return sketch;
}

}  // namespace sluice::planner
