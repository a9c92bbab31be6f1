#include "planner/guided_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/interruption.hpp"
#include "planner/parallel_for.hpp"
#include "planner/usual_values.hpp"

namespace sluice::planner {
namespace {

/// Nodes whose bound is above so much of the best plan are not worth a sketch of their own.
constexpr double kWorthwhile = 0.985;
/// Plans that are improved, and how little is no improvement.
constexpr std::size_t kImproved = 2;
constexpr double kLeastGain = 2e-4;
/// A plan may turn out the best whose coarse time is at most so much of the best one's.
constexpr double kPerhapsBest = 1.02;
/// So near the bound a plan is as good as the best.
constexpr double kNear = 1e-3;
constexpr std::size_t kBatch = 8;
/// Times that more memory is set aside for a number of rounds of which no plan fitted.
constexpr int kLeanAttempts = 5;
/// Memory set aside at the first look at a number of rounds, in sizes of its rings.
constexpr double kFirstSlack = 1.3;

std::int64_t parameters_of_block(const Job& job) { return unit_padded_size(job.model, 1); }

}  // namespace

GuidedSearch::GuidedSearch(const Predictor& predictor, const SearchSettings& settings)
    : predictor_(predictor),
      settings_(settings),
      pins_(settings.pins),
      threads_(settings.threads),
      effort_(settings.effort),
      estimator_(predictor),
      steps_(predictor),
      relaxation_(predictor, settings.pins) {
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

bool GuidedSearch::may_fit(const PlanEstimate& estimate) const {
  const ResolvedMachine& machine = predictor_.machine();
  return estimate.host_at_least <= machine.host && estimate.hbm_at_least <= machine.hbm;
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

void GuidedSearch::add(PlanSketch sketch) {
  Plan plan = to_plan(sketch);
  if (predictor_.job().model.tied_head &&
      plan.units.front().gradients != plan.units.back().gradients) {
    return;
  }
  if (pins_) pins_(plan);
  if (!is_valid(plan, predictor_.job()) || !seen_.insert(plan_hash(plan)).second) return;
  const PlanEstimate estimate = estimator_.estimate(plan);
  if (!may_fit(estimate)) return;
  if (!ranked_.empty() && estimate.bound >= to_seconds(ranked_.front().coarse)) return;
  waiting_.push_back({std::move(sketch), std::move(plan), estimate, Duration(0)});
}

bool GuidedSearch::play(Follow follow) {
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const GuidedPlan& a, const GuidedPlan& b) {
    return a.estimate.expected < b.estimate.expected;
  });
  const Duration before = ranked_.empty() ? Duration::max() : ranked_.front().coarse;
  const auto better = [&] {
    return !ranked_.empty() &&
           to_seconds(ranked_.front().coarse) < (1 - kLeastGain) * to_seconds(before);
  };
  // Plans far from the best are neither improved nor tried.
  const auto limit = [&] {
    return ranked_.empty() ? Duration::max() : ranked_.front().coarse + ranked_.front().coarse / 16;
  };
  for (std::size_t next = 0; next < waiting_.size() && !is_spent();) {
    std::vector<GuidedPlan*> batch;
    for (; next < waiting_.size() && batch.size() < kBatch; ++next) {
      const double best = ranked_.empty() ? std::numeric_limits<double>::infinity()
                                          : to_seconds(ranked_.front().coarse).count();
      if (waiting_[next].estimate.bound.count() < best) batch.push_back(&waiting_[next]);
    }
    const Duration slowest = limit();
    parallel_for(batch.size(), threads_, [&](std::size_t i) {
      throw_if_stopped(settings_.stop);
      const CoarseStep step = steps_.step(batch[i]->plan, slowest);
      batch[i]->coarse = step.step;
      batch[i]->hbm = step.hbm;
    });
    for (const GuidedPlan* each : batch) {
      effort_ -= each->estimate.tasks / steps_.together(each->plan);
      const auto [least, first] = least_by_rounds_.try_emplace(each->plan.rounds, each->coarse);
      if (!first) least->second = std::min(least->second, each->coarse);
      if (each->coarse >= slowest) continue;
      if (each->hbm > predictor_.machine().hbm) {
        const Bytes over = each->hbm - predictor_.machine().hbm;
        least_over_ = least_over_ ? std::min(*least_over_, over) : over;
        continue;
      }
      const auto place = std::upper_bound(
          ranked_.begin(), ranked_.end(), *each,
          [](const GuidedPlan& a, const GuidedPlan& b) { return a.coarse < b.coarse; });
      ranked_.insert(place, *each);
    }
    // Moves that help are followed at once.
    if (follow == Follow::first && better()) break;
    if (is_near()) break;
  }
  waiting_.clear();
  return better();
}

bool GuidedSearch::is_spent() const {
  return effort_ <= floor_ || (!ranked_.empty() && settings_.is_late());
}

bool GuidedSearch::is_near() const {
  return !ranked_.empty() && to_seconds(ranked_.front().coarse) <= (1 + kNear) * *bound_;
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
  play(Follow::all);
  // Where memory is scarce none of these may fit: two slots, and what was lacking set aside.
  const auto fits = [&] {
    return std::any_of(ranked_.begin(), ranked_.end(), [&](const GuidedPlan& each) {
      return each.plan.rounds == node.node.rounds;
    });
  };
  Bytes extra{0};
  for (int attempt = 0; attempt < kLeanAttempts && !fits() && !is_spent(); ++attempt) {
    least_over_.reset();
    for (const double slack : {0.4, 1.0}) {
      sketch_with(node, slack, std::min<std::int64_t>(2, per_round), extra);
    }
    if (waiting_.empty()) break;
    play(Follow::all);
    if (!least_over_) break;
    extra += *least_over_ + *least_over_ / 8;
  }
}

void GuidedSearch::sketch_with(const Node& node, double slack, std::int64_t activation_buffers,
                               Bytes extra) {
  const Job& job = predictor_.job();
  const double block = static_cast<double>(parameters_of_block(job));
  Plan usual = usual_plan();
  usual.activation_buffers = activation_buffers;
  RelaxedNode reserved = node.node;
  const double weight = static_cast<double>(job.weight_element().count());
  const Bytes free =
      predictor_.machine().hbm - outside_arena_bytes(job, predictor_.machine().profile);
  const double rings = block * (weight * static_cast<double>(usual.weight_buffers) +
                                4 * static_cast<double>(usual.gradient_buffers));
  reserved.reserve =
      Bytes(static_cast<std::int64_t>(slack * (rings + 0.01 * static_cast<double>(free.count())))) +
      extra;
  RelaxedPlan relaxed = relaxation_.solve(reserved);
  if (!relaxed.feasible) return;
  PlanSketch sketch = sketch_of(relaxation_, reserved, relaxed, usual);
  const bool offloads =
      std::any_of(sketch.records.begin(), sketch.records.end(),
                  [](const BlockCount& c) { return c.choice.keep_tier == Tier::host; });
  if (offloads) {
    reserved.reserve += block_record(job).all_bytes * usual.activation_buffers;
    relaxed = relaxation_.solve(reserved);
    if (!relaxed.feasible) return;
    sketch = sketch_of(relaxation_, reserved, relaxed, usual);
  }
  // Whole counts may need a little more of the host than the relaxed ones.
  const auto exceeds_host = [&] {
    Plan plan = to_plan(sketch);
    if (pins_) pins_(plan);
    return is_valid(plan, job) &&
           estimator_.estimate(plan).host_at_least > predictor_.machine().host;
  };
  for (std::int64_t i = 0; i < job.model.layers && exceeds_host(); ++i) {
    if (!lighten_host(sketch)) break;
  }
  add(std::move(sketch));  // Other orders follow for the best one.
}

/// The best plan with the same records of all blocks.
void GuidedSearch::add_uniform() {
  if (ranked_.empty()) return;
  const std::int64_t layers = predictor_.job().model.layers;
  for (const UnitChoice& choice : relaxation_.record_choices(ranked_.front().plan.rounds)) {
    PlanSketch sketch = ranked_.front().sketch;
    sketch.records = {{choice.unit, layers}};
    add(std::move(sketch));
  }
}

/// The best plan's blocks in every other order.
void GuidedSearch::add_orders() {
  if (ranked_.empty()) return;
  using Order = PlanSketch::Order;
  for (const Order records : {Order::spread, Order::grouped, Order::reversed}) {
    for (const Order residencies : {Order::grouped, Order::reversed, Order::spread}) {
      PlanSketch sketch = ranked_.front().sketch;
      sketch.record_order = records;
      sketch.residency_order = residencies;
      add(std::move(sketch));
    }
  }
}

/// A plan or two of each number of rounds that may be worth while and that leaves effort for more:
/// which of them to look into first is better known from these than from their bounds.
void GuidedSearch::look_at_nodes() {
  const std::int64_t affordable = effort_ / 4;
  for (const Node& node : nodes_) {
    if (!is_worthwhile(node)) break;
    const std::int64_t per_round = predictor_.job().micro_batches() / node.node.rounds;
    sketch_with(node, kFirstSlack, few_records(node));
    sketch_with(node, kFirstSlack, per_round);
    std::erase_if(waiting_, [&](const GuidedPlan& each) {
      const bool costly = each.estimate.tasks / steps_.together(each.plan) > affordable;
      if (costly) seen_.erase(plan_hash(each.plan));  // Later perhaps.
      return costly;
    });
    play(Follow::all);
  }
  const auto looked = [this](const Node& node) {
    const auto found = least_by_rounds_.find(node.node.rounds);
    return found == least_by_rounds_.end() ? Duration::max() : found->second;
  };
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [&looked](const Node& a, const Node& b) { return looked(a) < looked(b); });
}

void GuidedSearch::sketch_nodes() {
  look_at_nodes();
  for (const Node& node : nodes_) {
    if (is_near()) break;
    if (!is_worthwhile(node)) continue;
    // The first numbers of rounds leave effort for those behind them.
    floor_ = effort_ / 2;
    sketch_node(node);
    floor_ = 0;
  }
  add_orders();
  add_uniform();
  play(Follow::all);
}

/// A number of rounds that cannot be much better than what there is needs no plan of its own.
bool GuidedSearch::is_worthwhile(const Node& node) const {
  if (ranked_.empty()) return true;
  return node.relaxed.bound <= kWorthwhile * to_seconds(ranked_.front().coarse) && !is_near();
}

bool GuidedSearch::improve(std::size_t rank) {
  const PlanSketch sketch = ranked_[rank].sketch;
  for (PlanSketch& moved : moves(sketch, ranked_[rank].plan.rounds)) add(std::move(moved));
  return play(Follow::first);
}

std::vector<GuidedPlan> GuidedSearch::run() {
  if (nodes_.empty()) return {};
  sketch_nodes();
  if (ranked_.empty()) return {};
  const std::string sketched = plan_hash(ranked_.front().plan);
  for (std::size_t rank = 0; rank < kImproved && rank < ranked_.size() && !is_spent();) {
    if (is_near()) break;
    rank = improve(rank) ? 0 : rank + 1;
  }
  // Coarse times are near, not exact: what all moves came from is tried beside what became of it,
  // and the best of every other number of rounds.
  std::size_t place = 1;
  const auto bring_forward = [&](const auto& is_it) {
    const auto found = std::find_if(ranked_.begin(), ranked_.end(), is_it);
    const auto to = ranked_.begin() + static_cast<std::ptrdiff_t>(std::min(place, ranked_.size()));
    if (found == ranked_.end() || found < to) return;
    if (to_seconds(found->coarse) > kPerhapsBest * to_seconds(ranked_.front().coarse)) return;
    std::rotate(to, found, found + 1);
    ++place;
  };
  for (const Node& node : nodes_) {
    if (node.node.rounds == ranked_.front().plan.rounds) continue;
    bring_forward([&](const GuidedPlan& each) { return each.plan.rounds == node.node.rounds; });
  }
  bring_forward([&](const GuidedPlan& each) { return plan_hash(each.plan) == sketched; });
  return ranked_;
}

}  // namespace sluice::planner
