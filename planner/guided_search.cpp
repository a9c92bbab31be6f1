#include "planner/guided_search.hpp"

#include <algorithm>
#include <utility>

#include "planner/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Nodes whose bound is above so much of the best plan are not worth a sketch of their own.
constexpr double kWorthwhile = 0.985;
/// A plan may turn out the best whose coarse time is at most so much of the best one's.
constexpr double kPerhapsBest = 1.02;
/// Times that more memory is set aside for a number of rounds of which no plan fitted.
constexpr int kLeanAttempts = 5;
/// Memory set aside at the first look at a number of rounds, in sizes of its rings.
constexpr double kFirstSlack = 1.3;

std::int64_t parameters_of_block(const Job& job) { return unit_padded_size(job.model, 1); }

}  // namespace

GuidedSearch::GuidedSearch(const Predictor& predictor, const SearchSettings& settings)
    : predictor_(predictor),
      pins_(settings.pins),
      relaxation_(predictor, settings.pins),
      ranking_(predictor, settings) {
  relax();
}

void GuidedSearch::relax() {
  for (const std::int64_t rounds : relaxation_.rounds()) {
    RelaxedNode node;
    node.rounds = rounds;
    RelaxedPlan relaxed = relaxation_.solve(node);
    if (relaxed.feasible) nodes_.push_back({node, std::move(relaxed)});
  }
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [](const Node& a, const Node& b) { return a.relaxed.bound < b.relaxed.bound; });
  if (nodes_.empty()) return;
  bound_ = nodes_.front().relaxed.bound;
  // The machine's bound counts the bytes of fp32 state.
  if (predictor_.job().optimizer.state == StateType::fp32) {
    bound_ = std::max(*bound_, predictor_.bound().time);
  }
  ranking_.set_bound(*bound_);
}

Plan GuidedSearch::usual_plan() const {
  const Job& job = predictor_.job();
  Plan plan = uniform_plan(job, {}, 1);
  plan.weight_buffers = std::min<std::int64_t>(3, job.model.layers);
  plan.prefetch_depth = plan.weight_buffers - 1;
  plan.gradient_buffers = 2;
  plan.threads = usual_threads(predictor_);
  plan.copy_chunk = usual_chunk(predictor_);
  return plan;
}

/// One block's record less on the host: of those that hold most there, to the level below. False
/// where every record there is the least.
bool GuidedSearch::lighten_host(PlanSketch& sketch) const {
  const BlockRecord record = block_record(predictor_.job());
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

/// Records come and go in bursts beside whole blocks of weights: room for a pass of a block, or for
/// what a sixteenth of the memory holds.
std::int64_t GuidedSearch::few_records(const Node& node) const {
  const Job& job = predictor_.job();
  const std::int64_t per_round = job.micro_batches() / node.node.rounds;
  return std::clamp<std::int64_t>(
      predictor_.machine().hbm.count() / 16 / block_record(job).all_bytes.count(), 2,
      std::max<std::int64_t>(2, per_round));
}

void GuidedSearch::sketch_node(const Node& node) {
  const std::int64_t per_round = predictor_.job().micro_batches() / node.node.rounds;
  const std::int64_t few = few_records(node);
  for (const double slack : {0.4, 0.8, 1.3, 2.2}) {
    sketch_with(node, slack, few);
    if (few < per_round) sketch_with(node, slack, per_round);
  }
  ranking_.play(Follow::all);
  repair();
  // Where memory is scarce none of these may fit: two slots, and what was lacking set aside.
  const auto fits = [&] { return ranking_.best(node.node.rounds) != nullptr; };
  Bytes extra{0};
  for (int i = 0; i < kLeanAttempts && !fits() && !ranking_.is_spent(); ++i) {
    ranking_.forget_misses();
    for (const double slack : {0.4, 1.0}) {
      sketch_with(node, slack, std::min<std::int64_t>(2, per_round), extra);
    }
    if (!ranking_.is_waiting()) break;
    ranking_.play(Follow::all);
    if (!ranking_.least_over()) break;
    extra += *ranking_.least_over() + *ranking_.least_over() / 8;
  }
}

// The bound lets records and gradients of one round share the host, but a layout may not bring them
// so near: sketched both ways.
void GuidedSearch::sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                               Bytes extra) {
  RelaxedNode reserved = node.node;
  sketch_relaxed(reserved, slack, activation_buffers, extra);
  if (node.node.rounds > 1) return;
  reserved.gradients_apart = true;
  sketch_relaxed(reserved, slack, activation_buffers, extra);
}

void GuidedSearch::sketch_relaxed(RelaxedNode reserved, double slack,
                                  std::int64_t activation_buffers, Bytes extra) {
  const Job& job = predictor_.job();
  const double block = static_cast<double>(parameters_of_block(job));
  Plan usual = usual_plan();
  usual.activation_buffers = activation_buffers;
  const double weight = static_cast<double>(job.weight_element().count());
  const Bytes free =
      predictor_.machine().hbm - outside_arena_bytes(job, predictor_.machine().profile);
  const double rings = block * (weight * static_cast<double>(usual.weight_buffers) +
                                4 * static_cast<double>(usual.gradient_buffers));
  reserved.reserve =
      Bytes(static_cast<std::int64_t>(slack * (rings + 0.01 * static_cast<double>(free.count())))) +
      extra;
  std::optional<PlanSketch> sketch = sketch_near(reserved, usual);
  if (!sketch) return;
  const bool offloads =
      std::any_of(sketch->records.begin(), sketch->records.end(),
                  [](const BlockCount& c) { return c.choice.keep_tier == Tier::host; });
  if (offloads) {
    reserved.reserve += block_record(job).all_bytes * usual.activation_buffers;
    sketch = sketch_near(reserved, usual);
    if (!sketch) return;
  }
  ranking_.add(std::move(*sketch));  // Other orders follow for the best one.
}

/// None where no plan has that much memory left.
std::optional<PlanSketch> GuidedSearch::sketch_near(const RelaxedNode& node,
                                                    const Plan& usual) const {
  const RelaxedPlan relaxed = relaxation_.solve(node);
  if (!relaxed.feasible) return std::nullopt;
  PlanSketch sketch = sketch_of(relaxation_, node, relaxed, usual);
  // Whole counts may need a little more of the host than the relaxed ones.
  const auto exceeds_host = [&] {
    Plan plan = to_plan(sketch);
    if (pins_) pins_(plan);
    return is_valid(plan, predictor_.job()) &&
           ranking_.estimator().estimate(plan).host_at_least > predictor_.machine().host;
  };
  for (std::int64_t i = 0; i < predictor_.job().model.layers && exceeds_host(); ++i) {
    if (!lighten_host(sketch)) break;
  }
  return sketch;
}

/// The best plan with the same records of all blocks.
void GuidedSearch::add_uniform() {
  if (ranking_.ranked().empty()) return;
  const std::int64_t layers = predictor_.job().model.layers;
  for (const UnitChoice& choice :
       relaxation_.record_choices(ranking_.ranked().front().plan.rounds)) {
    PlanSketch sketch = ranking_.ranked().front().sketch;
    sketch.from.reset();
    sketch.records = {{choice.unit, layers}};
    ranking_.add(std::move(sketch));
  }
}

/// The best plan's blocks in every other order.
void GuidedSearch::add_orders() {
  if (ranking_.ranked().empty()) return;
  using Order = PlanSketch::Order;
  for (const Order records : {Order::spread, Order::grouped, Order::reversed}) {
    for (const Order residencies : {Order::grouped, Order::reversed, Order::spread}) {
      PlanSketch sketch = ranking_.ranked().front().sketch;
      sketch.record_order = records;
      sketch.residency_order = residencies;
      ranking_.add(std::move(sketch));
    }
  }
}

/// A plan or two of each number of rounds that may be worth while and that leaves effort for more:
/// which of them to look into first is better known from these than from their bounds.
void GuidedSearch::look_at_nodes() {
  const std::int64_t affordable = ranking_.left() / 4;
  for (const Node& node : nodes_) {
    if (!is_worthwhile(node)) break;
    const std::int64_t per_round = predictor_.job().micro_batches() / node.node.rounds;
    sketch_with(node, kFirstSlack, few_records(node));
    sketch_with(node, kFirstSlack, per_round);
    ranking_.drop_costly(affordable);
    ranking_.play(Follow::all);
  }
  std::stable_sort(nodes_.begin(), nodes_.end(), [this](const Node& a, const Node& b) {
    return ranking_.least(a.node.rounds) < ranking_.least(b.node.rounds);
  });
}

void GuidedSearch::sketch_nodes() {
  look_at_nodes();
  for (const Node& node : nodes_) {
    if (ranking_.is_near()) break;
    if (!is_worthwhile(node)) continue;
    // The first numbers of rounds leave effort for those behind them.
    ranking_.reserve(ranking_.left() / 2);
    sketch_node(node);
    ranking_.reserve(0);
  }
  add_orders();
  add_uniform();
  ranking_.play(Follow::all);
  repair();
}

/// A number of rounds that cannot be much better than what there is needs no plan of its own.
bool GuidedSearch::is_worthwhile(const Node& node) const {
  if (ranking_.ranked().empty()) return true;
  return node.relaxed.bound <= kWorthwhile * to_seconds(ranking_.ranked().front().coarse) &&
         !ranking_.is_near();
}

std::vector<GuidedPlan> GuidedSearch::run() {
  if (nodes_.empty()) return {};
  sketch_nodes();
  if (ranking_.ranked().empty()) return {};
  const std::string sketched = plan_hash(ranking_.ranked().front().plan);
  climb();
  std::vector<GuidedPlan> plans = ranking_.ranked();
  // Coarse times are near, not exact: what all moves came from is tried beside what became of it,
  // and the best of every other number of rounds.
  std::size_t place = 1;
  const auto bring_forward = [&](const auto& is_it) {
    const auto found = std::find_if(plans.begin(), plans.end(), is_it);
    const auto to = plans.begin() + static_cast<std::ptrdiff_t>(std::min(place, plans.size()));
    if (found == plans.end() || found < to) return;
    if (to_seconds(found->coarse) > kPerhapsBest * to_seconds(plans.front().coarse)) return;
    std::rotate(to, found, found + 1);
    ++place;
  };
  for (const Node& node : nodes_) {
    if (node.node.rounds == plans.front().plan.rounds) continue;
    bring_forward([&](const GuidedPlan& each) { return each.plan.rounds == node.node.rounds; });
  }
  bring_forward([&](const GuidedPlan& each) { return plan_hash(each.plan) == sketched; });
  return plans;
}

}  // namespace sluice::planner
