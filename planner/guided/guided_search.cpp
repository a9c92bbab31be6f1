#include "planner/guided/guided_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/effort/search_settings.hpp"
#include "planner/guided/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Ratio to the best coarse time up to which a plan may turn out the best.
constexpr double kPerhapsBest = 1.02;
/// Tasks before a search first begins anew from what it found, and the factor of each next time.
/// Serves hosts with too little memory (72 B on an H200), where only a second lap knows what fits.
constexpr std::int64_t kFirstTasks = 300'000, kTimesMore = 4;
/// Tasks beyond which a search does not begin anew.
constexpr std::int64_t kMostTasks = 1'000'000'000'000;
/// Relaxations solved for the bound at first, and with all effort.
constexpr int kRelaxations = 150, kMostRelaxations = 2400;
/// Sizes of the rings that are set aside at the first look at a number of rounds, and the share of
/// the effort above which a plan is too costly for that. Serve jobs of many micro-batches (7 B on
/// an H200, 32 sequences), of which many numbers of rounds have near bounds.
constexpr double kFirstSlack = 1.3;
constexpr std::int64_t kLookShare = 4;
/// Pace of links and updates of the sketches before the moves. Serves large devices with short
/// sequences (14 B on an H200, 1024 tokens), where links and updates are as busy as compute.
constexpr double kPaceBeforeMoves = 0.9;

}  // namespace

GuidedSearch::GuidedSearch(const Predictor& predictor, const SearchSettings& settings,
                           StartFrom start)
    : predictor_(predictor),
      pins_(settings.pins),
      start_(start),
      relaxation_(predictor, settings.pins),
      ranking_(predictor, settings) {
  if (start != StartFrom::rings) relaxation_ = relaxation_.without_rings();
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
  std::stable_sort(nodes_.begin(), nodes_.end(), by_bound);
  std::vector<RelaxedPart> parts;
  for (const Node& each : nodes_) {
    RelaxedNode node = each.node;
    node.proves = true;
    RelaxedPlan relaxed = relaxation_.solve(node);
    parts.push_back({std::move(node), std::move(relaxed)});
  }
  proven_.emplace(relaxation_, std::move(parts));
  prove(kRelaxations);
}

void GuidedSearch::prove(int relaxations) {
  bound_ = proven_->improve(relaxations);
  // The machine's bound counts the bytes of fp32 state.
  if (predictor_.part().optimizer.state == StateType::fp32) {
    bound_ = std::max(*bound_, predictor_.bound().time);
  }
  ranking_.set_bound(*bound_);
}

Plan GuidedSearch::usual_plan() const {
  const Job& job = predictor_.part();
  Plan plan = predictor_.plan_of({}, 1);
  set_weight_buffers(plan, std::min<std::int64_t>(3, job.model.layers));
  plan.gradient_buffers = 2;
  plan.stream_buffers = kUsualStreams;
  const GuidedPlan* best = ranking_.best();
  plan.threads = best == nullptr ? usual_threads(predictor_) : best->plan.threads;
  plan.copy_chunk = usual_chunk(predictor_);
  return plan;
}

/// Adds the best plan with the same records of all blocks, for mixtures make passes wait.
void GuidedSearch::add_uniform() {
  if (ranking_.ranked().empty()) return;
  const std::int64_t layers = predictor_.part().model.layers;
  for (const UnitChoice& choice :
       relaxation_.record_choices(ranking_.ranked().front().plan.rounds)) {
    PlanSketch sketch = ranking_.ranked().front().sketch;
    sketch.from.reset();
    sketch.records = {{choice.unit, layers}};
    ranking_.add(std::move(sketch));
  }
}

/// Adds the best plan with every core for CPU updates.
void GuidedSearch::add_threads() {
  if (ranking_.ranked().empty()) return;
  PlanSketch sketch = ranking_.ranked().front().sketch;
  sketch.rest.threads = cores_of(predictor_);
  ranking_.add(std::move(sketch));
}

/// Adds the best plan with its blocks in every other order.
void GuidedSearch::add_orders() {
  if (!ranking_.ranked().empty()) add_orders_of(ranking_.ranked().front().sketch);
}

void GuidedSearch::add_orders_of(const PlanSketch& from) {
  using Order = PlanSketch::Order;
  for (const Order records :
       {Order::level, Order::spread, Order::grouped, Order::reversed, Order::device_first}) {
    for (const Order residencies : {Order::grouped, Order::reversed, Order::spread}) {
      PlanSketch sketch = from;
      sketch.record_order = records;
      sketch.residency_order = residencies;
      ranking_.add(std::move(sketch));
    }
  }
}

/// Tries a plan or two of each number of rounds that may be worth while, and orders the numbers by
/// these: they say more than the bounds.
void GuidedSearch::look_at_nodes() {
  const std::int64_t affordable = ranking_.left() / kLookShare;
  for (const Node& node : nodes_) {
    if (!is_worthwhile(node)) continue;
    const std::int64_t per_round = predictor_.part().micro_batches() / node.node.rounds;
    sketch_with(node, kFirstSlack, few_records(node));
    sketch_with(node, kFirstSlack, per_round);
    ranking_.drop_costly(affordable);
    ranking_.play(Follow::all);
  }
  std::stable_sort(nodes_.begin(), nodes_.end(), [this](const Node& a, const Node& b) {
    return ranking_.least(a.node.rounds) < ranking_.least(b.node.rounds);
  });
}

void GuidedSearch::sketch_nodes(bool begun_anew) {
  look_at_nodes();
  add_threads();
  ranking_.play(Follow::all);
  for (const Node& node : nodes_) {
    if (ranking_.is_near()) break;
    if (!is_worthwhile(node)) continue;
    // Each number of rounds leaves half of the effort for those behind it. Serves hosts with too
    // little memory (72 B on an H200), where the first numbers sketch in vain.
    ranking_.reserve(ranking_.left() / 2);
    sketch_node(node);
    ranking_.reserve(0);
  }
  add_orders();
  add_uniform();
  ranking_.play(Follow::all);
  repair();
  if (!begun_anew || ranking_.ranked().empty() || is_over()) return;
  const auto play = [this] {
    ranking_.play(Follow::all);
    repair();
  };
  sketch_again();
  play();
  if (is_over()) return;
  sketch_outer_units();
  play();
  if (is_over()) return;
  sketch_slower({kPaceBeforeMoves});
  play();
  if (is_over()) return;
  sketch_slots();
  play();
  if (is_over()) return;
  sketch_smaller_rings();
  play();
}

bool GuidedSearch::is_near_enough() const {
  return !ranking_.ranked().empty() &&
         (1 - kNearEnough) * to_seconds(ranking_.ranked().front().coarse) <= *bound_;
}

/// Whether a number of rounds may be enough better than the best plan to be sketched.
bool GuidedSearch::is_worthwhile(const Node& node) const {
  if (ranking_.ranked().empty()) return true;
  return node.relaxed.bound <= kWorthwhile * to_seconds(ranking_.ranked().front().coarse) &&
         !ranking_.is_near();
}

std::vector<GuidedPlan> GuidedSearch::run() {
  if (nodes_.empty()) return {};
  std::string sketched;
  // Little effort first, then more as long as there is: more effort starts from what less found.
  bool more = true;
  int relaxations = kRelaxations;
  for (std::int64_t tasks = kFirstTasks; more; tasks *= kTimesMore) {
    more = tasks <= kMostTasks && ranking_.allow(tasks);
    if (!more) ranking_.allow(std::numeric_limits<std::int64_t>::max());
    if (is_over()) break;
    const std::int64_t left = ranking_.left();
    if (tasks > kFirstTasks) {
      relaxations = std::min(kMostRelaxations, 2 * relaxations);
      prove(relaxations);
    }
    sketch_nodes(tasks > kFirstTasks);
    if (sketched.empty() && !ranking_.ranked().empty()) {
      sketched = plan_hash(ranking_.ranked().front().plan);
    }
    if (!ranking_.ranked().empty()) climb();
    if (ranking_.left() == left) break;  // Nothing is left to try.
  }
  // A search from another start has its part of what is left.
  ranking_.allow(std::numeric_limits<std::int64_t>::max());
  if (start_ == StartFrom::usual) {
    ranking_.reserve(ranking_.unspent() / 2);
    ranking_.use_part_of_time(0.5);
  }
  hop();
  if (ranking_.ranked().empty()) return {};
  std::vector<GuidedPlan> plans = ranking_.ranked();
  // Coarse times are not exact: the plan that all moves came from is tried beside what became of
  // it, and so is the best of every other number of rounds.
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
