#include "planner/relaxation/program.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::planner {
namespace {

/// Relative error that rounding may add to sums of some hundred terms.
constexpr double kRounding = 1e-9;
/// Constraints of memory count gigabytes, so that all constraints are of one size.
constexpr double kMemoryUnit = 1e9;

double scale_of(std::size_t limit) { return limit < kSecondLimits ? 1 : 1 / kMemoryUnit; }

double dot(const UseSum& a, const UseSum& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kUses; ++i) sum += a[i] * b[i];
  return sum;
}

/// The least sum of `prices` of `count` choices, each made as often as its range allows.
double cheapest(const std::vector<double>& prices, const std::vector<CountRange>& ranges,
                double count) {
  if (ranges.empty()) return count * *std::ranges::min_element(prices);
  double sum = 0, left = count;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    sum += ranges[i].least * prices[i];
    left -= ranges[i].least;
  }
  std::vector<std::size_t> order(prices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return prices[i]; });
  for (const std::size_t i : order) {
    const double more = std::min(left, ranges[i].most - ranges[i].least);
    sum += more * prices[i];
    left -= more;
  }
  return sum;
}

/// Removes what rounding left of counts: negative ones, and a sum that is not the group's.
void make_counts(std::vector<double>& values, double count) {
  double sum = 0;
  for (double& each : values) sum += each = each > 0 ? each : 0;
  if (!(sum > 0) || !std::isfinite(sum)) {
    values.assign(values.size(), 0);
    values.front() = sum = 1;
  }
  if (std::abs(sum - count) > 1e-9 * count) {
    for (double& each : values) each *= count / sum;
  }
}

}  // namespace

PlanRelaxation::Program::Program(const PlanRelaxation& relaxation, const RelaxedNode& node)
    : limits_(relaxation.constraints(node)),
      fixed_(relaxation.base()),
      layers_(static_cast<double>(relaxation.predictor_->part().model.layers)),
      most_slots_(relaxation.predictor_->part().gradient_element() * relaxation.parameters_[1]) {
  if (node.gradients_apart) {
    limits_[constraint_index(Limit::host_at_loss)]
        .weights[static_cast<std::size_t>(Use::host_gradients)] = 1;
  }
  const std::size_t head = unit_count(relaxation.predictor_->part().model) - 1;
  const auto residencies = [&](std::size_t unit) {
    return relaxation.residency_choices(unit, node.rounds);
  };
  groups_ = {{relaxation.record_choices(node), layers_, &RelaxedPlan::records},
             {residencies(1), layers_, &RelaxedPlan::residencies},
             {residencies(0), 1, &RelaxedPlan::embeds},
             {residencies(head), 1, &RelaxedPlan::heads}};
  const auto only = [](Group& group, const std::optional<std::size_t>& choice) {
    if (choice) group.choices = {group.choices[*choice]};
  };
  groups_[0].ranges = node.records;
  groups_[1].ranges = node.residencies;
  only(groups_[2], node.embed);
  only(groups_[3], node.head);
  if (!has_choices()) return;
  for (const Group& group : groups_) columns_.slots += group.choices.size();
  columns_.downs = columns_.slots + 1;
  columns_.ups = columns_.downs + kParts;
  columns_.parts = columns_.ups + kParts;
  program_.cost.assign(columns_.parts + kParts, 0);
  program_.cost.push_back(1);
  for (std::size_t i = 0; i < kLimits; ++i) add_limit(i, node.rounds);
  add_sum_of_parts(node.rounds);
  add_group_counts();
}

bool PlanRelaxation::Program::has_choices() const {
  return std::ranges::none_of(groups_, [](const Group& group) {
    double least = 0, most = 0;
    for (const CountRange& range : group.ranges) least += range.least, most += range.most;
    return group.choices.empty() ||
           (!group.ranges.empty() && (least > group.count || most < group.count));
  });
}

void PlanRelaxation::Program::add_limit(std::size_t limit, std::int64_t rounds) {
  const Constraint& from = limits_[limit];
  const double scale = scale_of(limit);
  LinearProgram::Constraint constraint;
  for (const Group& group : groups_) {
    for (const UnitChoice& choice : group.choices) {
      constraint.coefficients.push_back(scale * dot(from.weights, choice.use));
    }
  }
  constraint.coefficients.resize(program_.cost.size(), 0);
  constraint.coefficients[columns_.slots] = scale * from.slots * kMemoryUnit;
  const StepPart part = part_of(static_cast<Limit>(limit));
  if (part == StepPart::whole) constraint.coefficients[columns_.parts + part_index(part)] = -1;
  for (std::size_t each = 0; each < kParts; ++each) {
    const auto of = static_cast<StepPart>(each);
    if (part != of && (part != StepPart::update_span || !is_in_update_span(of))) continue;
    constraint.coefficients[columns_.parts + each] = -1;
    constraint.coefficients[columns_.downs + each] = from.down;
    constraint.coefficients[columns_.ups + each] = from.up;
  }
  if (part == StepPart::copies) {
    const CopiedIn copied = copied_in(static_cast<Limit>(limit));
    const std::size_t first = copied.down ? columns_.downs : columns_.ups;
    for (std::size_t each = 0; each < kParts; ++each) {
      const auto of = static_cast<StepPart>(each);
      const bool in_span = copied.part == StepPart::update_span && is_in_update_span(of);
      if (copied.part == of || in_span) constraint.coefficients[first + each] = -1;
      if (copied.part != StepPart::whole) continue;
      constraint.coefficients[first + each] = -times_in_step(of, rounds);
    }
  }
  constraint.limit = -scale * (from.constant + dot(from.weights, fixed_));
  program_.constraints.push_back(std::move(constraint));
}

void PlanRelaxation::Program::add_sum_of_parts(std::int64_t rounds) {
  LinearProgram::Constraint together;
  together.coefficients.assign(program_.cost.size(), 0);
  for (std::size_t part = 0; part < kParts; ++part) {
    together.coefficients[columns_.parts + part] =
        times_in_step(static_cast<StepPart>(part), rounds);
  }
  together.coefficients.back() = -1;
  program_.constraints.push_back(std::move(together));
}

void PlanRelaxation::Program::add_group_counts() {
  std::size_t first = 0;
  for (const Group& group : groups_) {
    LinearProgram::Constraint constraint;
    constraint.coefficients.assign(program_.cost.size(), 0);
    std::fill_n(constraint.coefficients.begin() + static_cast<std::ptrdiff_t>(first),
                group.choices.size(), 1.0);
    constraint.limit = group.count;
    constraint.equal = true;
    program_.constraints.push_back(std::move(constraint));
    add_ranges(group, first);
    first += group.choices.size();
  }
}

void PlanRelaxation::Program::add_ranges(const Group& group, std::size_t first) {
  const auto add = [&](std::size_t choice, double sign, double limit) {
    LinearProgram::Constraint constraint;
    constraint.coefficients.assign(program_.cost.size(), 0);
    constraint.coefficients[first + choice] = sign;
    constraint.limit = sign * limit;
    program_.constraints.push_back(std::move(constraint));
  };
  for (std::size_t choice = 0; choice < group.ranges.size(); ++choice) {
    const CountRange& range = group.ranges[choice];
    if (range.least > 0) add(choice, -1, range.least);
    if (range.most < group.count) add(choice, 1, range.most);
  }
}

double PlanRelaxation::Program::priced_sum(const Constraints& constraints,
                                           const std::array<double, kLimits>& prices) const {
  UseSum priced{};
  double sum = 0, size = 0, slot_price = 0;
  for (std::size_t i = 0; i < kLimits; ++i) {
    const double price = prices[i] * scale_of(i);
    sum += price * constraints[i].constant;
    size += std::abs(price * constraints[i].constant);
    slot_price += price * constraints[i].slots;
    for (std::size_t use = 0; use < kUses; ++use) {
      priced[use] += price * constraints[i].weights[use];
    }
  }
  sum += dot(priced, fixed_);
  for (const Group& group : groups_) {
    std::vector<double> each;
    each.reserve(group.choices.size());
    for (const UnitChoice& choice : group.choices) each.push_back(dot(priced, choice.use));
    const double least = cheapest(each, group.ranges, group.count);
    sum += least;
    size += std::abs(least);
  }
  // More slots than blocks are of no use.
  sum += std::min(0.0, slot_price) * layers_ * static_cast<double>(most_slots_.count());
  return sum - kRounding * size;
}

bool PlanRelaxation::Program::is_refused_by(const std::vector<double>& prices) const {
  std::array<double, kLimits> of_memory{};
  for (std::size_t i = kSecondLimits; i < kLimits; ++i) of_memory[i] = std::max(0.0, prices[i]);
  return priced_sum(limits_, of_memory) > 0;
}

LinearSolution PlanRelaxation::Program::at_any_choices() const {
  LinearSolution solution;
  solution.values.assign(program_.cost.size(), 0);
  std::size_t first = 0;
  for (const Group& group : groups_) {
    solution.values[first] = group.count;
    first += group.choices.size();
  }
  solution.prices.assign(program_.constraints.size(), 0);
  return solution;
}

void PlanRelaxation::Program::take_counts(const std::vector<double>& values,
                                          RelaxedPlan& plan) const {
  plan.more_slots = values[columns_.slots] * kMemoryUnit;
  auto begin = values.begin();
  for (const Group& group : groups_) {
    const auto end = begin + static_cast<std::ptrdiff_t>(group.choices.size());
    plan.*group.values = {begin, end};
    make_counts(plan.*group.values, group.count);
    begin = end;
  }
}

}  // namespace sluice::planner
