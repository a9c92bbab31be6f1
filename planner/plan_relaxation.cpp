#include "planner/plan_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/record.hpp"

namespace sluice::planner {
namespace {

/// What rounding in sums of some hundred terms may add.
constexpr double kRounding = 1e-9;

std::size_t index_of(Use use) { return static_cast<std::size_t>(use); }
std::size_t index_of(StepPart part) { return static_cast<std::size_t>(part); }

double& at(UseSum& sum, Use use) { return sum[index_of(use)]; }

double dot(const UseSum& a, const UseSum& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kUses; ++i) sum += a[i] * b[i];
  return sum;
}

std::size_t index_of(Limit limit) { return static_cast<std::size_t>(limit); }

/// Prices of `about` those given that make weak duality hold exactly: the priced rows' sum at the
/// cheapest choices is then below any plan's time. Rows of the whole step and the step as the sum
/// of its parts share a price of one; the rows of each part share the sum's, as often as the step
/// has the part.
void make_times_sound(std::array<double, kLimits>& prices, double together, std::int64_t rounds) {
  std::array<double, kParts + 1> shares{};
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    shares[index_of(part_of(static_cast<Limit>(i)))] += prices[i];
  }
  const double all = shares[index_of(StepPart::whole)] + together;
  if (!(all > 0)) {
    prices.fill(0);
    prices[0] = 1;
    return;
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    const double due = together / all * times_in_step(static_cast<StepPart>(part), rounds);
    for (std::size_t i = 0; i < kTimeLimits; ++i) {
      const auto limit = static_cast<Limit>(i);
      if (index_of(part_of(limit)) != part) continue;
      if (shares[part] > 0) {
        prices[i] *= due / shares[part];
      } else {  // To its first row, that of compute.
        prices[i] = i == 0 || part_of(static_cast<Limit>(i - 1)) != part_of(limit) ? due : 0;
      }
    }
  }
  for (std::size_t i = 0; i < kLimits; ++i) {
    if (i >= kTimeLimits || part_of(static_cast<Limit>(i)) == StepPart::whole) prices[i] /= all;
  }
}

/// What rounding left of counts: none negative, of the group's sum.
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

/// What a second of copies in a part is worth by the prices of the part's rows is the most that
/// rows of such copies, the part's and all parts', may cost together.
template <class Rows>
void make_copies_sound(std::array<double, kLimits>& prices, const Rows& rows, std::int64_t rounds) {
  for (const bool down : {true, false}) {
    std::array<double, kParts> worth{};
    for (std::size_t i = 0; i < kTimeLimits; ++i) {
      const StepPart part = part_of(static_cast<Limit>(i));
      if (part == StepPart::whole) continue;
      worth[index_of(part)] += prices[i] * (down ? rows[i].down : rows[i].up);
    }
    double& all = prices[index_of(down ? Limit::all_loads : Limit::all_stores)];
    for (std::size_t part = 0; part < kParts; ++part) {
      const double times = times_in_step(static_cast<StepPart>(part), rounds);
      if (times > 0) all = std::min(all, worth[part] / times);
    }
    for (std::size_t part = 0; part < kParts; ++part) {
      worth[part] -= all * times_in_step(static_cast<StepPart>(part), rounds);
    }
    for (std::size_t i = kTimeLimits; i < kSecondLimits; ++i) {
      const CopiedIn copied = copied_in(static_cast<Limit>(i));
      if (copied.down != down || copied.part == StepPart::whole) continue;
      double& left = worth[index_of(copied.part)];
      prices[i] = std::clamp(prices[i], 0.0, std::max(0.0, left));
      left -= prices[i];
    }
  }
}

}  // namespace

UseSum PlanRelaxation::base() const {
  const Job& job = predictor_->job();
  const PassTimes& pass = predictor_->pass_times();
  const auto micro = static_cast<double>(job.micro_batches());
  const auto layers = static_cast<double>(job.model.layers);
  UseSum sum{};
  at(sum, Use::forward) = micro * (pass.embed_forward + layers * pass.block_forward).count();
  at(sum, Use::tail) =
      micro * (pass.loss + layers * pass.block_backward + pass.embed_backward).count() +
      pass.once.count();
  at(sum, Use::compute) = at(sum, Use::forward) + at(sum, Use::tail);
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
  auto limits = rows(node);
  if (node.gradients_apart) {
    limits[index_of(Limit::host_at_loss)].weights[static_cast<std::size_t>(Use::host_gradients)] =
        1;
  }
  const UseSum fixed = base();
  const auto layers = static_cast<double>(predictor_->job().model.layers);
  const std::size_t head = unit_count(predictor_->job().model) - 1;
  // Groups of choices, each of which must be made a number of times.
  struct Group {
    std::vector<UnitChoice> choices;
    double count;
    std::vector<double> RelaxedPlan::*values;
  };
  std::vector<Group> groups{{record_choices(node.rounds), layers, &RelaxedPlan::records},
                            {residency_choices(1, node.rounds), layers, &RelaxedPlan::residencies},
                            {residency_choices(0, node.rounds), 1, &RelaxedPlan::embeds},
                            {residency_choices(head, node.rounds), 1, &RelaxedPlan::heads}};
  const auto only = [](Group& group, const std::optional<std::size_t>& choice) {
    if (choice) group.choices = {group.choices[*choice]};
  };
  only(groups[2], node.embed);
  only(groups[3], node.head);
  RelaxedPlan found;
  LinearProgram program;
  for (const Group& group : groups) {
    if (group.choices.empty()) {
      found.feasible = false;
      return found;
    }
    program.cost.insert(program.cost.end(), group.choices.size(), 0.0);
  }
  // Slots for gradients, the parts' copies to the device and from it, then their times, then the
  // step's.
  const std::size_t slots = program.cost.size();
  const std::size_t downs = slots + 1, ups = downs + kParts, parts = ups + kParts;
  program.cost.insert(program.cost.end(), 1 + 3 * kParts, 0.0);
  program.cost.push_back(1);
  // Memory in gigabytes, so that the rows are of one size.
  constexpr double kGiga = 1e9;
  for (std::size_t i = 0; i < kLimits; ++i) {
    LinearProgram::Row row;
    const double scale = i < kSecondLimits ? 1 : 1 / kGiga;
    for (const Group& group : groups) {
      for (const UnitChoice& choice : group.choices) {
        row.coefficients.push_back(scale * dot(limits[i].weights, choice.use));
      }
    }
    row.coefficients.resize(program.cost.size(), 0);
    row.coefficients[slots] = scale * limits[i].slots * kGiga;
    const StepPart part = part_of(static_cast<Limit>(i));
    if (part <= StepPart::whole) row.coefficients[parts + index_of(part)] = -1;
    if (part < StepPart::whole) {
      row.coefficients[downs + index_of(part)] = limits[i].down;
      row.coefficients[ups + index_of(part)] = limits[i].up;
    }
    if (part == StepPart::copies) {
      const CopiedIn copied = copied_in(static_cast<Limit>(i));
      const std::size_t first = copied.down ? downs : ups;
      for (std::size_t each = 0; each < kParts; ++each) {
        const auto of = static_cast<StepPart>(each);
        if (copied.part == of) row.coefficients[first + each] = -1;
        if (copied.part != StepPart::whole) continue;
        row.coefficients[first + each] = -times_in_step(of, node.rounds);
      }
    }
    row.limit = -scale * (limits[i].constant + dot(limits[i].weights, fixed));
    program.rows.push_back(row);
  }
  LinearProgram::Row together;
  together.coefficients.assign(program.cost.size(), 0);
  for (std::size_t part = 0; part < kParts; ++part) {
    together.coefficients[parts + part] = times_in_step(static_cast<StepPart>(part), node.rounds);
  }
  together.coefficients.back() = -1;
  program.rows.push_back(together);
  std::size_t first = 0;
  for (const Group& group : groups) {
    LinearProgram::Row row;
    row.coefficients.assign(program.cost.size(), 0);
    std::fill_n(row.coefficients.begin() + static_cast<std::ptrdiff_t>(first), group.choices.size(),
                1.0);
    first += group.choices.size();
    row.limit = group.count;
    row.equal = true;
    program.rows.push_back(row);
  }
  // Weak duality holds at any prices: the priced rows' sum at the cheapest choices.
  const Bytes most_slots = predictor_->job().gradient_element() * parameters_[1];
  const auto priced_sum = [&](const auto& priced_rows, const std::array<double, kLimits>& prices) {
    UseSum priced{};
    double sum = 0, size = 0, slot_price = 0;
    for (std::size_t i = 0; i < kLimits; ++i) {
      const double price = prices[i] * (i < kSecondLimits ? 1 : 1 / kGiga);
      sum += price * priced_rows[i].constant;
      size += std::abs(price * priced_rows[i].constant);
      slot_price += price * priced_rows[i].slots;
      for (std::size_t use = 0; use < kUses; ++use) {
        priced[use] += price * priced_rows[i].weights[use];
      }
    }
    sum += dot(priced, fixed);
    for (const Group& group : groups) {
      double least = std::numeric_limits<double>::infinity();
      for (const UnitChoice& choice : group.choices) {
        least = std::min(least, dot(priced, choice.use));
      }
      sum += group.count * least;
      size += std::abs(group.count * least);
    }
    // More slots than blocks are of no use.
    sum += std::min(0.0, slot_price) * layers * static_cast<double>(most_slots.count());
    return sum - kRounding * size;
  };
  LinearSolution solution = minimize(program);
  if (!solution.feasible) {
    // Only memory can refuse a plan, for times may be of any length: so must its rows' prices.
    std::array<double, kLimits> prices{};
    for (std::size_t i = kSecondLimits; i < kLimits; ++i) {
      prices[i] = std::max(0.0, solution.prices[i]);
    }
    if (priced_sum(limits, prices) > 0) {
      found.feasible = false;
      return found;
    }
    // Rounding alone refused it: any choices, at no price but compute's.
    solution.values.assign(program.cost.size(), 0);
    first = 0;
    for (const Group& group : groups) {
      solution.values[first] = group.count;
      first += group.choices.size();
    }
    solution.prices.assign(program.rows.size(), 0);
  }
  first = 0;
  for (const Group& group : groups) {
    const auto begin = solution.values.begin() + static_cast<std::ptrdiff_t>(first);
    found.*group.values = {begin, begin + static_cast<std::ptrdiff_t>(group.choices.size())};
    make_counts(found.*group.values, group.count);
    first += group.choices.size();
  }
  for (std::size_t i = 0; i < kLimits; ++i) found.prices[i] = std::max(0.0, solution.prices[i]);
  make_times_sound(found.prices, std::max(0.0, solution.prices[kLimits]), node.rounds);
  make_copies_sound(found.prices, limits, node.rounds);
  // Choices follow sustained times, the bound those after rest.
  auto least_rows = limits;
  add_rest(least_rows);
  found.bound = Seconds(std::max(0.0, priced_sum(least_rows, found.prices)));
  return found;
}

Seconds PlanRelaxation::bound_of_whole_ends(const RelaxedNode& node,
                                            const RelaxedPlan& relaxed) const {
  const auto is_split = [](const std::vector<double>& values) {
    constexpr double kWhole = 1 - 1e-6;
    return std::all_of(values.begin(), values.end(), [](double each) { return each < kWhole; });
  };
  const bool embed = is_split(relaxed.embeds);
  if (!embed && !is_split(relaxed.heads)) return relaxed.bound;
  Seconds least(std::numeric_limits<double>::infinity());
  for (std::size_t choice = 0; choice < (embed ? relaxed.embeds : relaxed.heads).size(); ++choice) {
    RelaxedNode whole = node;
    (embed ? whole.embed : whole.head) = choice;
    const RelaxedPlan plan = solve(whole);
    if (plan.feasible) least = std::min(least, plan.bound);
  }
  return std::isfinite(least.count()) ? std::max(least, relaxed.bound) : relaxed.bound;
}

}  // namespace sluice::planner
