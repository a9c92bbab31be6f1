#include "planner/relaxation/plan_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/graph/record.hpp"
#include "planner/relaxation/program.hpp"

namespace sluice::planner {
namespace {

/// Scales prices about as given until weak duality holds exactly: the priced sum at the cheapest
/// choices is then below any plan's time. Constraints of the whole step and T as the sum of its
/// parts (price `together`) share a price of one. Constraints of each part share the sum's price,
/// as often as a step has the part; those of the update span count in both its parts.
void make_times_sound(std::array<double, kLimits>& prices, double together, std::int64_t rounds) {
  std::array<double, kTimedParts> shares{};
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    shares[part_index(part_of(static_cast<Limit>(i)))] += prices[i];
  }
  const double all = shares[part_index(StepPart::whole)] + together;
  if (!(all > 0)) {
    prices.fill(0);
    prices[0] = 1;
    return;
  }
  // A step has each part of the update span once; a single round has no last backward pass.
  const double of_span =
      rounds > 1 ? std::min(shares[part_index(StepPart::update_span)], together) : 0;
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    const double share = shares[part_index(StepPart::update_span)];
    if (part_of(static_cast<Limit>(i)) != StepPart::update_span) continue;
    prices[i] *= share > 0 ? of_span / share / all : 0;
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto step_part = static_cast<StepPart>(part);
    const double due = (together * times_in_step(step_part, rounds) -
                        (is_in_update_span(step_part) ? of_span : 0)) /
                       all;
    for (std::size_t i = 0; i < kTimeLimits; ++i) {
      const auto limit = static_cast<Limit>(i);
      if (part_index(part_of(limit)) != part) continue;
      if (shares[part] > 0) {
        prices[i] *= due / shares[part];
      } else {  // The part's first constraint, of its passes, gets all of it.
        prices[i] = i == 0 || part_of(static_cast<Limit>(i - 1)) != part_of(limit) ? due : 0;
      }
    }
  }
  for (std::size_t i = 0; i < kLimits; ++i) {
    if (i >= kTimeLimits || part_of(static_cast<Limit>(i)) == StepPart::whole) prices[i] /= all;
  }
}

/// Lowers prices of copies: a second of copies in a part is worth what the part's and the update
/// span's constraints of time pay for it, and constraints of those copies (the part's, the span's
/// and those of all parts) may cost no more than that together.
template <class Constraints>
void make_copies_sound(std::array<double, kLimits>& prices, const Constraints& constraints,
                       std::int64_t rounds) {
  for (const bool down : {true, false}) {
    std::array<double, kParts> worth{};
    for (std::size_t i = 0; i < kTimeLimits; ++i) {
      const StepPart part = part_of(static_cast<Limit>(i));
      const double each = prices[i] * (down ? constraints[i].down : constraints[i].up);
      if (part < StepPart::whole) worth[part_index(part)] += each;
      if (part != StepPart::update_span) continue;
      worth[part_index(StepPart::first_forward)] += each;
      worth[part_index(StepPart::last_backward)] += each;
    }
    double& all = prices[constraint_index(down ? Limit::all_loads : Limit::all_stores)];
    for (std::size_t part = 0; part < kParts; ++part) {
      const double times = times_in_step(static_cast<StepPart>(part), rounds);
      if (times > 0) all = std::min(all, worth[part] / times);
    }
    for (std::size_t part = 0; part < kParts; ++part) {
      worth[part] -= all * times_in_step(static_cast<StepPart>(part), rounds);
    }
    for (const bool of_span : {true, false}) {
      for (std::size_t i = kTimeLimits; i < kSecondLimits; ++i) {
        const CopiedIn copied = copied_in(static_cast<Limit>(i));
        if (copied.down != down || copied.part == StepPart::whole) continue;
        if ((copied.part == StepPart::update_span) != of_span) continue;
        double left = std::numeric_limits<double>::infinity();
        const auto is_of = [&](std::size_t part) {
          return of_span ? is_in_update_span(static_cast<StepPart>(part))
                         : part == part_index(copied.part);
        };
        for (std::size_t part = 0; part < kParts; ++part) {
          if (is_of(part)) left = std::min(left, worth[part]);
        }
        prices[i] = std::clamp(prices[i], 0.0, std::max(0.0, left));
        for (std::size_t part = 0; part < kParts; ++part) {
          if (is_of(part)) worth[part] -= prices[i];
        }
      }
    }
  }
}

constexpr double kNone = 1e-6;  ///< Block counts below this are treated as zero.

/// Whether the one unit with these counts makes only parts of choices.
bool is_of_several(const std::vector<double>& counts) {
  constexpr double kWhole = 1 - 1e-6;
  return std::all_of(counts.begin(), counts.end(), [](double each) { return each < kWhole; });
}

}  // namespace

UseSum PlanRelaxation::base() const {
  const Job& job = predictor_->job();
  const PassTimes& pass = predictor_->pass_times();
  const auto micro = static_cast<double>(job.micro_batches());
  const auto layers = static_cast<double>(job.model.layers);
  UseSum sum{};
  use_of(sum, Use::forward) = micro * (pass.embed_forward + layers * pass.block_forward).count();
  use_of(sum, Use::tail) =
      micro * (pass.loss + layers * pass.block_backward + pass.embed_backward).count() +
      pass.once.count();
  use_of(sum, Use::compute) = use_of(sum, Use::forward) + use_of(sum, Use::tail);
  return sum;
}

PlanRelaxation PlanRelaxation::at_pace(const Pace& pace) const {
  PlanRelaxation slower = *this;
  slower.h2d_rate_ *= pace.h2d;
  slower.d2h_rate_ *= pace.d2h;
  slower.update_rate_ *= pace.update;
  return slower;
}

RelaxedPlan PlanRelaxation::solve(const RelaxedNode& node) const {
  RelaxedPlan found;
  const Program program(*this, node);
  found.feasible = program.has_choices();
  if (!found.feasible) return found;
  LinearSolution solution = program.minimized();
  if (!solution.feasible) {
    found.feasible = !program.is_refused_by(solution.prices);
    if (!found.feasible) return found;
    // Rounding alone refused it, so any choices will do, at no price but compute's.
    solution = program.at_any_choices();
  }
  program.take_counts(solution.values, found);
  for (std::size_t i = 0; i < kLimits; ++i) found.prices[i] = std::max(0.0, solution.prices[i]);
  make_times_sound(found.prices, std::max(0.0, solution.prices[kLimits]), node.rounds);
  make_copies_sound(found.prices, program.limits(), node.rounds);
  // Choices follow sustained times, the bound follows times after rest.
  auto least = program.limits();
  add_rest(least);
  found.bound = Seconds(std::max(0.0, program.priced_sum(least, found.prices)));
  return found;
}

std::vector<RelaxedNode> PlanRelaxation::split(const RelaxedNode& node,
                                               const RelaxedPlan& relaxed) const {
  std::vector<RelaxedNode> nodes;
  const bool embed = !node.embed && is_of_several(relaxed.embeds);
  if (embed || (!node.head && is_of_several(relaxed.heads))) {
    for (std::size_t choice = 0; choice < (embed ? relaxed.embeds : relaxed.heads).size();
         ++choice) {
      (embed ? nodes.emplace_back(node).embed : nodes.emplace_back(node).head) = choice;
    }
    return nodes;
  }
  if (node.proves) {
    nodes = split_gradients(node, relaxed);
    if (!nodes.empty()) return nodes;
  }
  // Slots are of one size: that of a record which may leave, or 0.
  const BlockRecord record = block_record(predictor_->job());
  std::vector<Bytes> sizes;
  if (!node.largest_record) {
    for (const UnitPlan& unit : kept_) {
      if (unit.keep_tier == Tier::host) sizes.push_back(record.kept(unit.keep));
    }
  }
  if (!sizes.empty()) {
    sizes.push_back(Bytes(0));
    for (const Bytes size : sizes) nodes.emplace_back(node).largest_record = size;
    return nodes;
  }
  // With as many slots as a block has records in a round nothing waits for one.
  const SlotRange& slots = node.record_slots;
  const std::int64_t most = std::min(slots.most, predictor_->job().micro_batches() / node.rounds);
  if (slots.least >= most) return split_counts(node, relaxed);
  const auto choices = record_choices(node);
  RelaxedNode fewest = node;
  fewest.record_slots.most = slots.least;
  const auto single = record_choices(fewest);
  const auto waits = [](UseSum use) {
    return use_of(use, Use::forward_waits) + use_of(use, Use::backward_waits);
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (relaxed.records[i] < kNone || waits(single[i].use) <= waits(choices[i].use)) continue;
    const auto middle =
        static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(slots.least * most))));
    const std::int64_t from = std::clamp(middle, slots.least + 1, most);
    nodes = {node, node};
    nodes.front().record_slots.most = from - 1;
    nodes.back().record_slots.least = from;
    return nodes;
  }
  return split_counts(node, relaxed);
}

std::vector<RelaxedNode> PlanRelaxation::split_gradients(const RelaxedNode& node,
                                                         const RelaxedPlan& relaxed) const {
  constexpr std::int64_t kMostSlots = 8;
  const std::int64_t layers = predictor_->job().model.layers;
  const std::int64_t fewest = node.gradient_slots.least;
  if (node.rounds == 1 || fewest >= std::min({node.gradient_slots.most, kMostSlots, layers})) {
    return {};
  }
  double blocks = 0;
  const std::vector<UnitChoice> choices = residency_choices(1, node.rounds);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (stores_gradient(choices[i].unit)) blocks += relaxed.residencies[i];
  }
  const auto slot =
      static_cast<double>((predictor_->job().gradient_element() * parameters_[1]).count());
  const double slots = relaxed.more_slots / slot + blocks / static_cast<double>(layers);
  const auto few = static_cast<double>(fewest);
  if (blocks <= few + kNone || slots >= few + 1 - kNone) return {};
  std::vector<RelaxedNode> nodes{node, node, node};
  nodes[0].gradient_blocks.most = std::min(node.gradient_blocks.most, fewest);
  for (RelaxedNode* each : {&nodes[1], &nodes[2]}) {
    each->gradient_blocks.least = std::max(node.gradient_blocks.least, fewest + 1);
  }
  nodes[1].gradient_slots.most = fewest;
  nodes[2].gradient_slots.least = fewest + 1;
  return nodes;
}

std::vector<RelaxedNode> PlanRelaxation::split_counts(const RelaxedNode& node,
                                                      const RelaxedPlan& relaxed) {
  constexpr double kPart = 1e-4;  // Smaller parts of a block count as none.
  const auto part = [](double count) { return std::abs(count - std::round(count)); };
  const auto most = [&part](const std::vector<double>& counts) {
    return std::ranges::max_element(counts, {}, part);
  };
  const bool residency = part(*most(relaxed.residencies)) >= kPart;
  const auto& counts = residency ? relaxed.residencies : relaxed.records;
  const auto at = most(counts);
  if (part(*at) < kPart) return {};
  std::vector<RelaxedNode> nodes{node, node};
  const auto range_of = [&](RelaxedNode& each) -> CountRange& {
    auto& ranges = residency ? each.residencies : each.records;
    ranges.resize(counts.size());
    return ranges[static_cast<std::size_t>(at - counts.begin())];
  };
  range_of(nodes.front()).most = std::floor(*at);
  range_of(nodes.back()).least = std::ceil(*at);
  return nodes;
}

}  // namespace sluice::planner
