#include "planner/buying/row_maker.hpp"

#include <algorithm>
#include <cmath>

#include "planner/buying/break_even.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/several_gpus.hpp"
#include "planner/predictions/limited_by.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_needs.hpp"
#include "planner/requests/run_step.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

void within_days(BuyRow& row, const BuyRequest& request) {
  if (row.days && request.days) row.within_days = *row.days <= *request.days;
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
}

/// Name of the largest bound other than `by`, with its share of the step, as text.
std::string next_limit(const Bound& bound, Duration step) {
  std::size_t next = kBounds;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto what = static_cast<BoundBy>(i);
    if (what == bound.by || what == BoundBy::chain) continue;
    if (next == kBounds || bound.each[i] > bound.each[next]) next = i;
  }
  if (next == kBounds || bound.each[next].count() <= 0) return "";
  return std::string(to_string(static_cast<BoundBy>(next))) + " at " +
         percent(bound.each[next] / to_seconds(step)) + " of the step";
}

EngineOnGpu engine_on(const MachineProfile& profile) {
  if (profile.device == DeviceKind::host) return EngineOnGpu::tested;
  if (profile.architecture.empty()) return EngineOnGpu::unknown;
  for (const Support& one : support()) {
    if (profile.architecture != one.architecture) continue;
    if (std::string(one.state) == kDoesNotRun) return EngineOnGpu::none;
    return std::string(one.state) == "tested" ? EngineOnGpu::tested : EngineOnGpu::never_run;
  }
  return EngineOnGpu::none;
}

void describe(BuyRow& row, const Prediction& p, const Predictor& predictor,
              const RunConfig& config) {
  row.fits = true;
  row.step = p.step;
  row.step_low = std::chrono::duration_cast<Duration>(p.step_low);
  row.step_high = std::chrono::duration_cast<Duration>(p.step_high);
  row.tokens_per_s = p.tokens_per_s;
  row.limit = to_string(p.bound.by);
  row.limit_share = p.bound.time / to_seconds(p.step);
  row.next_limit = next_limit(p.bound, p.step);
  row.evidence = p.evidence;
  row.errors = p.errors;
  const RunNeeds needs = run_needs(p, predictor, config);
  row.nearest_case = needs.nearest_case;
  row.phases = needs.phases;
  row.wear = needs.wear;
  row.gpus = std::max(needs.gpus, p.plan.ranks);
  row.devices = p.plan.ranks;
  if (row.devices > 1) {  // Their bound is of compute alone.
    const auto [lane, share] = limited_by(p);
    row.limit = lane;
    row.limit_share = share;
    row.next_limit = "the least that compute needs, ";
    row.next_limit += percent(p.bound.time / to_seconds(p.step)) + " of the step";
  }
  row.engine = engine_on(predictor.machine().profile);
  const auto machine = find_counted_parts(config.machine);
  row.is_arm = machine && find_cpu(machine->parts.cpu).is_arm;
}

}  // namespace

void add_money(BuyRow& row, const BuyRequest& request) {
  if (row.fits && request.tokens) {
    const double steps = *request.tokens / (row.tokens_per_s * to_seconds(row.step).count());
    const auto days = [&](Duration step) {
      return steps * to_seconds(step).count() / kSecondsPerDay;
    };
    row.days = days(row.step);
    row.days_low = days(row.step_low);
    row.days_high = days(row.step_high);
  }
  const Price price = request.prices.of(row.machine);
  if (row.owned) return within_days(row, request);
  row.buy_usd = price.buy_usd;
  row.rent_usd_per_hour = price.rent_usd_per_hour;
  if (price.rent_usd_per_hour) row.rent_date = price.rent_date;
  if (row.rent_usd_per_hour && row.days) {
    row.rent_usd = *row.rent_usd_per_hour * *row.days * kHoursPerDay;
  }
  const bool rent = request.payment == Payment::rent;
  row.price = rent ? row.rent_usd_per_hour : row.buy_usd;
  row.cost = rent ? row.rent_usd : row.buy_usd;
  if (row.price) {
    row.price_date = rent ? price.rent_date : price.date;
    row.price_source = price.source;
  }
  row.run = run_cost(row, request);
  within_days(row, request);
  if (row.cost && request.budget_usd) row.within_budget = *row.cost <= *request.budget_usd;
}

std::optional<Bytes> host_needed(const Infeasible& shortage) {
  // A device that lacks much of what it has would hold what has no room on the host.
  const TierMemory& device = at(shortage.memory, Tier::hbm);
  const bool both =
      shortage.tier == Tier::hbm && shortage.short_by.count() > device.capacity.count() / 4;
  if (shortage.tier != Tier::host && !both) return std::nullopt;
  return at(shortage.memory, Tier::host).capacity + shortage.short_by;
}

std::optional<Bytes> left_on_drives(Bytes drives, std::int64_t parameters) {
  constexpr std::int64_t kFiles = 2 + 2 * 12;
  const std::int64_t left = drives.count() - kFiles * parameters;
  return left > 0 ? std::optional(Bytes(left)) : std::nullopt;
}

Request run_on(const RunConfig& config, const BuyRequest& request, const std::string& machine,
               std::optional<Bytes> disk) {
  RunConfig there = config;
  there.machine = machine;
  if (!config.stated.contains("devices")) there.devices = counted_machine(machine).gpus;
  spread_cluster(there);
  if (disk) there.limits.disk = disk;
  Request run = resolve(there);
  run.search.effort = kAdviceEffort;
  run.search.threads = 1;
  run.search.stop = request.stop;
  return run;
}

BuyRow make_row_of(const Request& run, const BuyRequest& request, const Plan& plan, RowKind kind,
                   bool owned) {
  const std::string machine = machine_name(run.config);
  BuyRow row{.machine = machine, .kind = kind};
  row.owned = owned;
  if (kind == RowKind::build) row.disk_lent = run.config.limits.disk;
  describe(row, run.predictor.predict(plan).prediction, run.predictor, run.config);
  add_money(row, request);
  return row;
}

MadeRow make_row(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                 const std::string& machine, RowKind kind, std::optional<Bytes> disk,
                 SearchDepth depth) {
  const Request run = run_on(config, request, machine, disk);
  const auto found = finder.find(run, depth);
  if (const auto* plan = std::get_if<TimedPlan>(&found)) {
    return {.row = make_row_of(run, request, plan->plan, kind,
                               request.owned && machine == config.machine)};
  }
  MadeRow made{.row = {.machine = machine, .kind = kind}, .shortage = std::get<Infeasible>(found)};
  BuyRow& row = made.row;
  row.owned = request.owned && machine == config.machine;
  row.disk_lent = disk;
  row.limit = std::string(to_string(made.shortage->tier)) + " short by " +
              format_bytes(made.shortage->short_by);
  if (made.shortage->tier == Tier::hbm) {
    row.remedy = "a smaller micro_batch, loss_chunk or seq_len, or a GPU with more memory";
  }
  row.devices = run.config.devices;
  row.gpus = row.devices;
  add_money(row, request);
  return made;
}

}  // namespace sluice::planner
