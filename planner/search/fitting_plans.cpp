#include "planner/search/fitting_plans.hpp"

#include <algorithm>
#include <utility>

#include "planner/effort/interruption.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/guided/guided_search.hpp"
#include "planner/guided/plan_sketch.hpp"
#include "planner/guided/usual_values.hpp"
#include "planner/search/plan_space.hpp"

namespace sluice::planner {
namespace {

/// Numbers of rounds whose plans are compared; the largest number is added to them.
constexpr std::size_t kCompared = 3;
/// Effort of the guided search that is compared with sketches, in tasks.
constexpr std::int64_t kLittle = 400'000;
/// Attempts to make a sketch fit, each with what it lacked set aside.
constexpr int kSketched = 5;
/// Halvings of the interval between too little memory and enough.
constexpr int kHalvings = 12;
constexpr Bytes kFirstGuess{1ll << 30};
constexpr Bytes kBoundless{1ll << 58};

bool takes_less_time(const TimedPlan& a, const TimedPlan& b) { return a.step < b.step; }

Bytes beyond(Bytes taken, Bytes limit) { return taken > limit ? taken - limit : Bytes(0); }

bool all_tiers_fit(const Memory& memory) {
  return std::ranges::all_of(memory, [](const TierMemory& tier) { return tier.fits(); });
}

/// The first few numbers of rounds, by bound, and the largest of the others, whose records are the
/// smallest.
std::vector<std::int64_t> few_of(std::vector<std::int64_t> rounds) {
  if (rounds.size() <= kCompared + 1) return rounds;
  rounds[kCompared] = *std::max_element(rounds.begin() + kCompared, rounds.end());
  rounds.resize(kCompared + 1);
  return rounds;
}

}  // namespace

FittingPlans::FittingPlans(const Predictor& predictor, const SearchSettings& settings)
    : predictor_(predictor),
      settings_(settings),
      relaxation_(PlanRelaxation(predictor, settings.pins).without_rings()),
      estimator_(predictor),
      steps_(predictor),
      rounds_(rounds_in(all_room())) {}

FittingPlans::Room FittingPlans::with(Room room, Tier tier, Bytes bytes) {
  (tier == Tier::hbm ? room.hbm : room.host) = bytes;
  return room;
}

bool FittingPlans::is_within(const TimedPlan& plan, const Room& limit) {
  return plan.hbm <= limit.hbm && plan.host <= limit.host;
}

RelaxedNode FittingPlans::node_in(std::int64_t rounds, const Room& room) const {
  RelaxedNode node;
  node.rounds = rounds;
  node.reserve = predictor_.machine().hbm - room.hbm;
  node.host_reserve = predictor_.machine().host - room.host;
  return node;
}

std::vector<std::int64_t> FittingPlans::rounds_in(const Room& room) const {
  std::vector<std::pair<Seconds, std::int64_t>> found;
  for (const std::int64_t rounds : relaxation_.rounds()) {
    const RelaxedPlan relaxed = relaxation_.solve(node_in(rounds, room));
    if (relaxed.feasible) found.emplace_back(relaxed.bound, rounds);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::int64_t> all;
  all.reserve(found.size());
  for (const auto& each : found) all.push_back(each.second);
  return all;
}

/// A plan with so many slots for weights, one fewer for gradients and records. With one slot it
/// copies whole tensors, which makes many times fewer tasks.
Plan FittingPlans::usual_plan(std::int64_t buffers) const {
  const Job& job = predictor_.part();
  Plan plan = predictor_.plan_of({}, 1);
  set_weight_buffers(plan, std::min(buffers, job.model.layers));
  plan.gradient_buffers = plan.activation_buffers = std::max<std::int64_t>(1, buffers - 1);
  plan.threads = usual_threads(predictor_);
  plan.copy_chunk = buffers > 1 ? usual_chunk(predictor_) : Bytes(0);
  return plan;
}

/// A plan near the node's relaxed optimum, and what it takes; none where pins or relaxation refuse.
std::optional<TimedPlan> FittingPlans::near(const RelaxedNode& node, const Room& limit,
                                            std::int64_t buffers) const {
  throw_if_stopped(settings_.stop);
  const RelaxedPlan relaxed = relaxation_.solve(node);
  if (!relaxed.feasible) return std::nullopt;
  Plan plan = to_plan(sketch_of(relaxation_, node, relaxed, usual_plan(buffers)));
  if (settings_.pins) settings_.pins(plan);
  const bool apart = plan.units.front().gradients != plan.units.back().gradients;
  if (apart && predictor_.part().model.tied_head) return std::nullopt;
  if (!is_valid(plan, predictor_.job())) return std::nullopt;
  const PlanEstimate estimate = estimator_.estimate(plan);
  TimedPlan found{std::move(plan), {}, Duration(0), estimate.hbm_at_least, estimate.host_at_least};
  if (!is_within(found, limit)) return found;
  if (is_costly(found.plan)) return std::nullopt;
  lay_out_few(found);
  return found;
}

/// A plan of so many rounds that about fits.
std::optional<TimedPlan> FittingPlans::sketch(std::int64_t rounds, std::int64_t buffers) const {
  const Room all = all_room();
  RelaxedNode node = node_in(rounds, all);
  for (int i = 0; i < kSketched; ++i) {
    auto found = near(node, all, buffers);
    if (!found || is_within(*found, all)) return found;
    node.reserve += beyond(found->hbm, all.hbm) * 9 / 8;
    node.host_reserve += beyond(found->host, all.host) * 9 / 8;
  }
  return std::nullopt;
}

/// The fastest plan of a guided search with little effort.
std::optional<TimedPlan> FittingPlans::guided() const {
  if (rounds_.empty()) return std::nullopt;
  SearchSettings little = settings_;
  little.effort = kLittle;
  const std::vector<GuidedPlan> plans = GuidedSearch(predictor_, little).run();
  if (plans.empty()) return std::nullopt;
  const GuidedPlan& best = plans.front();
  return TimedPlan{best.plan, {}, best.coarse, best.hbm, best.host};
}

std::optional<TimedPlan> FittingPlans::any() const {
  if (auto usual = usual_one()) return usual;
  std::vector<TimedPlan> small = plans_of_little_memory();
  if (small.empty()) return std::nullopt;
  return std::move(small.front());
}

std::optional<TimedPlan> FittingPlans::usual_one() const {
  std::vector<TimedPlan> found;
  for (const std::int64_t buffers : {3, 1}) {
    for (const std::int64_t rounds : few_of(rounds_)) {
      if (found.size() == kCompared || (!found.empty() && settings_.is_late())) break;
      if (auto plan = sketch(rounds, buffers)) found.push_back(std::move(*plan));
    }
    if (!found.empty()) break;
  }
  for (TimedPlan& each : found) time(each);
  const bool will_do = !found.empty() && settings_.is_late();
  if (auto plan = will_do ? std::nullopt : guided()) found.push_back(std::move(*plan));
  std::stable_sort(found.begin(), found.end(), takes_less_time);
  for (TimedPlan& each : found) {
    if (!really_fits(each)) continue;
    predict(each);
    return std::move(each);
  }
  return std::nullopt;
}

std::vector<TimedPlan> FittingPlans::plans_of_little_memory() const {
  std::vector<TimedPlan> fitting;
  for (const Tier tier : {Tier::host, Tier::hbm}) {
    for (const std::int64_t rounds : few_of(rounds_)) {
      if (!fitting.empty() && settings_.is_late()) return fitting;
      auto plan = plan_of_little_memory(tier, rounds);
      if (!plan || !really_fits(*plan)) continue;
      time(*plan);
      predict(*plan);
      fitting.push_back(std::move(*plan));
    }
  }
  for (const Tier tier : {Tier::host, Tier::hbm}) {
    if (rounds_.empty() || (!fitting.empty() && settings_.is_late())) break;
    auto plan = plan_of_least_memory(tier);
    if (plan && all_tiers_fit(plan->memory)) fitting.push_back(std::move(*plan));
  }
  std::stable_sort(fitting.begin(), fitting.end(), takes_less_time);
  return fitting;
}

/// About the least of a tier that the relaxation needs for so many rounds, with so much of the
/// other; 0 where no plan fits that.
Bytes FittingPlans::least(Tier tier, std::int64_t rounds, const Room& other) const {
  const auto suffices = [&](Bytes bytes) {
    return relaxation_.solve(node_in(rounds, with(other, tier, bytes))).feasible;
  };
  if (!suffices(kBoundless)) return Bytes(0);
  Bytes high = kFirstGuess;
  while (!suffices(high)) high = high * 2;
  Bytes low = high > kFirstGuess ? high / 2 : Bytes(0);
  for (int i = 0; i < kHalvings; ++i) {
    const Bytes middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

/// A plan of so many rounds that takes about the least of `tier` and fits the other: what it lacks
/// there is set aside until it does.
std::optional<TimedPlan> FittingPlans::plan_of_little_memory(Tier tier, std::int64_t rounds) const {
  const Tier other = tier == Tier::hbm ? Tier::host : Tier::hbm;
  const Room limit = with(all_room(), tier, kBoundless);
  Room room = all_room();
  for (int i = 0; i < kSketched; ++i) {
    const Bytes needed = least(tier, rounds, room);
    if (needed == Bytes(0)) return std::nullopt;
    auto found = near(node_in(rounds, with(room, tier, needed)), limit, 1);
    if (!found || is_within(*found, limit)) return found;
    const Bytes taken = other == Tier::hbm ? found->hbm : found->host;
    const Bytes there = other == Tier::hbm ? limit.hbm : limit.host;
    room = with(room, other,
                (other == Tier::hbm ? room.hbm : room.host) - beyond(taken, there) * 9 / 8);
  }
  return std::nullopt;
}

std::optional<TimedPlan> FittingPlans::plan_of_least_memory(Tier tier) const {
  const auto taken = [tier](const TimedPlan& each) {
    return tier == Tier::hbm ? each.hbm : each.host;
  };
  std::vector<TimedPlan> found;
  for (const std::int64_t rounds : few_of(rounds_in(with(all_room(), tier, kBoundless)))) {
    if (auto plan = plan_of_little_memory(tier, rounds)) found.push_back(std::move(*plan));
  }
  for (const Candidate& each : plans_of_least_memory(estimator_, predictor_, settings_.pins)) {
    if (!found.empty() && is_costly(each.plan)) continue;
    TimedPlan plan{each.plan, {}};
    lay_out_few(plan);
    if (is_within(plan, with(all_room(), tier, kBoundless))) found.push_back(std::move(plan));
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const TimedPlan& a, const TimedPlan& b) { return taken(a) < taken(b); });
  const Tier other = tier == Tier::hbm ? Tier::host : Tier::hbm;
  for (TimedPlan& each : found) {
    throw_if_stopped(settings_.stop);
    each.memory = memory_at_most(each.plan);
    if (!at(each.memory, other).fits()) continue;
    time(each);
    predict(each);
    return std::move(each);
  }
  return std::nullopt;
}

}  // namespace sluice::planner
