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
std::size_t index_of(Limit limit) { return static_cast<std::size_t>(limit); }

double& at(UseSum& sum, Use use) { return sum[index_of(use)]; }

double dot(const UseSum& a, const UseSum& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kUses; ++i) sum += a[i] * b[i];
  return sum;
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

std::array<PlanRelaxation::Row, kLimits> PlanRelaxation::rows(std::int64_t rounds,
                                                              Bytes reserve) const {
  const Job& job = predictor_->job();
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  std::array<Row, kLimits> all{};
  const auto row = [&all](Limit limit) -> Row& { return all[index_of(limit)]; };
  const auto put = [&row](Limit limit, Use use, double weight) {
    row(limit).weights[index_of(use)] += weight;
  };
  const double down = 1 / h2d_rate_, up = 1 / d2h_rate_, update = 1 / update_rate_;
  // A lane that others slow works at most at the product of their factors while they run.
  const auto interference = costs.interference();
  const auto slowed = [&](Limit limit, const char* lane) {
    double left = 1;
    for (const auto& each : interference) {
      if (each.on != lane || each.factor >= 1) continue;
      const double lost = left * (1 - each.factor);
      if (each.from == "h2d") put(limit, Use::h2d, lost * down);
      if (each.from == "d2h") put(limit, Use::d2h, lost * up);
      if (each.from == "cpu") put(limit, Use::update, lost * update);
      if (each.from == "compute") put(limit, Use::compute, lost);
      left *= each.factor;
    }
  };
  put(Limit::compute, Use::compute, 1);
  slowed(Limit::compute, "compute");
  put(Limit::h2d, Use::h2d, down);
  slowed(Limit::h2d, "h2d");
  put(Limit::d2h, Use::d2h, up);
  slowed(Limit::d2h, "d2h");
  put(Limit::cpu, Use::update, update);
  slowed(Limit::cpu, "cpu");
  const bool contention = costs.switches().contention;
  if (contention && profile.dram.value > 0) {
    put(Limit::dram, Use::h2d, profile.h2d_dram.value / profile.dram.value);
    put(Limit::dram, Use::d2h, profile.d2h_dram.value / profile.dram.value);
    put(Limit::dram, Use::update, profile.update_dram.value / profile.dram.value);
  }
  if (contention && profile.cores.value > 0) {
    const double cores = profile.cores.value;
    put(Limit::cores, Use::update, update_cores_ / cores);
    put(Limit::cores, Use::h2d, profile.copy_cores.value / cores);
    put(Limit::cores, Use::d2h, profile.copy_cores.value / cores);
    if (profile.device == DeviceKind::host) put(Limit::cores, Use::compute, 1 / cores);
  }
  const std::int64_t a_round = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(a_round);
  const auto stream = static_cast<double>(stream_bytes(job).count());
  const double hbm = static_cast<double>((predictor_->machine().hbm - reserve).count());
  double fixed = static_cast<double>(
      (workspace_bytes(job, costs.device()) + context_bytes(profile)).count() + 8 * job.tokens());
  if (job.model.tied_head)
    fixed += static_cast<double>((job.gradient_element() * parameters_[0]).count());
  // The inputs of the loss, later its gradients; the head's weights, later its gradient, too.
  const double at_loss = fixed + per_round * stream;
  const auto times = static_cast<double>(rounds);
  if (job.optimizer.clip) {
    put(Limit::update_chain, Use::update, update);
    put(Limit::update_chain, Use::tail, 1);
    put(Limit::refresh_chain, Use::refresh, down);
    put(Limit::refresh_chain, Use::tail, 1);
    put(Limit::embed_chain, Use::embed_wait, 1);
    put(Limit::embed_chain, Use::compute, 1);
  }
  for (const Limit limit : {Limit::forward_stores, Limit::backward_loads}) {
    const bool stores = limit == Limit::forward_stores;
    const double rate = stores ? up : down;
    put(limit, stores ? Use::tail : Use::forward, 1);
    put(limit, Use::staged, rate);
    for (const Use use : {Use::records, Use::resident, Use::scratch}) put(limit, use, times * rate);
    put(limit, Use::waiting, (times - 1) * rate);
    row(limit).constant = times * (at_loss - hbm) * rate;
  }
  put(Limit::backward_loads, Use::reloads, down);
  // The share of the ring is part of what streams.
  put(Limit::backward_loads, Use::streamed,
      times * down * (1 - 1 / static_cast<double>(job.model.layers)));
  for (const Use use : {Use::device_records, Use::resident, Use::scratch}) {
    put(Limit::hbm_at_loss, use, 1);
  }
  if (rounds > 1) put(Limit::hbm_at_loss, Use::waiting, 1);
  const auto head = static_cast<double>((job.gradient_element() * parameters_[2]).count());
  row(Limit::hbm_at_loss).constant = at_loss + (rounds > 1 ? 0 : head) - hbm;
  put(Limit::hbm_at_norm, Use::resident, 1);
  put(Limit::hbm_at_norm, Use::waiting, 1);
  // Staged state of two units never shares bytes: each is loaded before the other is stored.
  put(Limit::hbm_at_norm, Use::staged, 1);
  row(Limit::hbm_at_norm).constant = fixed - hbm;
  put(Limit::host_memory, Use::host, 1);
  const bool cuda = profile.device == DeviceKind::cuda;
  row(Limit::host_memory).constant = static_cast<double>(
      ((cuda ? kCudaProcessBaseline : kProcessBaseline) - predictor_->machine().host).count());
  return all;
}

Seconds PlanRelaxation::time_of(const UseSum& sum, std::int64_t rounds) const {
  const auto all = rows(rounds, Bytes(0));
  double most = 0;
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    most = std::max(most, dot(all[i].weights, sum) + all[i].constant);
  }
  return Seconds(most);
}

RelaxedPlan PlanRelaxation::solve(const RelaxedNode& node) const {
  const auto limits = rows(node.rounds, node.reserve);
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
  program.cost.push_back(1);  // The time.
  // Memory in gigabytes, so that the rows are of one size.
  constexpr double kGiga = 1e9;
  for (std::size_t i = 0; i < kLimits; ++i) {
    LinearProgram::Row row;
    const double scale = i < kTimeLimits ? 1 : 1 / kGiga;
    for (const Group& group : groups) {
      for (const UnitChoice& choice : group.choices) {
        row.coefficients.push_back(scale * dot(limits[i].weights, choice.use));
      }
    }
    row.coefficients.push_back(i < kTimeLimits ? -1 : 0);
    row.limit = -scale * (limits[i].constant + dot(limits[i].weights, fixed));
    program.rows.push_back(row);
  }
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
  const auto solution = minimize(program);
  if (!solution) {
    found.feasible = false;
    return found;
  }
  first = 0;
  for (const Group& group : groups) {
    const auto begin = solution->values.begin() + static_cast<std::ptrdiff_t>(first);
    found.*group.values = {begin, begin + static_cast<std::ptrdiff_t>(group.choices.size())};
    first += group.choices.size();
  }
  // Weak duality: with time prices that sum to one, the priced rows' sum at the cheapest choices is
  // below any plan's time, whatever the prices are.
  double shares = 0;
  for (std::size_t i = 0; i < kLimits; ++i) {
    found.prices[i] = std::max(0.0, solution->prices[i]);
    if (i < kTimeLimits) shares += found.prices[i];
  }
  if (!(shares > 0)) {
    found.prices.fill(0);
    found.prices[0] = shares = 1;
  }
  UseSum priced{};
  double bound = 0, size = 0;
  for (std::size_t i = 0; i < kLimits; ++i) {
    found.prices[i] /= shares;
    const double price = found.prices[i] * (i < kTimeLimits ? 1 : 1 / kGiga);
    bound += price * limits[i].constant;
    size += std::abs(price * limits[i].constant);
    for (std::size_t use = 0; use < kUses; ++use) priced[use] += price * limits[i].weights[use];
  }
  bound += dot(priced, fixed);
  for (const Group& group : groups) {
    double least = std::numeric_limits<double>::infinity();
    for (const UnitChoice& choice : group.choices) {
      least = std::min(least, dot(priced, choice.use));
    }
    bound += group.count * least;
    size += std::abs(group.count * least);
  }
  found.bound = Seconds(std::max(0.0, bound - kRounding * size));
  return found;
}

const char* to_string(Limit limit) {
  constexpr const char* kNames[kLimits] = {
      "compute",        "h2d",          "d2h",           "cpu",         "dram",
      "cores",          "update_chain", "refresh_chain", "embed_chain", "forward_stores",
      "backward_loads", "hbm_at_loss",  "hbm_at_norm",   "host_memory"};
  return kNames[index_of(limit)];
}

}  // namespace sluice::planner
