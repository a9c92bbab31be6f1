#include "planner/guided_search.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Nodes whose bound is above so much of the best plan are not worth a sketch of their own.
constexpr double kWorthwhile = 0.985;
/// A plan may turn out the best whose coarse time is at most so much of the best one's.
constexpr double kPerhapsBest = 1.02;
/// Memory set aside at the first look at a number of rounds, in sizes of its rings.
constexpr double kFirstSlack = 1.3;

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
  if (nodes_.empty()) return;
  const auto by_bound = [](const Node& a, const Node& b) {
    return a.relaxed.bound < b.relaxed.bound;
  };
  // Of the nodes only the least bound counts: until that is of a node looked at once more.
  std::set<std::int64_t> looked_at;
  for (;;) {
    Node& least = *std::min_element(nodes_.begin(), nodes_.end(), by_bound);
    if (!looked_at.insert(least.node.rounds).second) break;
    least.relaxed.bound = relaxation_.bound_of_whole_ends(least.node, least.relaxed);
  }
  std::stable_sort(nodes_.begin(), nodes_.end(), by_bound);
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
