#include "planner/buying/rows.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "planner/buying/resident_node.hpp"
#include "planner/buying/upgrades.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_needs.hpp"
#include "planner/requests/run_step.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

void within_days(BuyRow& row, const BuyRequest& request) {
  if (row.days && request.days) row.within_days = *row.days <= *request.days;
}

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
  const Price price =
      row.kind == RowKind::resident_node && !request.prices.machines.contains(row.machine)
          ? Price{}
          : request.prices.of(row.machine);
  if (row.owned) return within_days(row, request);
  row.buy_usd = price.buy_usd;
  row.rent_usd_per_hour = price.rent_usd_per_hour;
  if (row.rent_usd_per_hour && row.days) {
    row.rent_usd = *row.rent_usd_per_hour * *row.days * kHoursPerDay;
  }
  const bool rent = request.payment == Payment::rent;
  row.price = rent ? row.rent_usd_per_hour : row.buy_usd;
  row.cost = rent ? row.rent_usd : row.buy_usd;
  if (row.price) {
    row.price_date = price.date;
    row.price_source = price.source;
  }
  within_days(row, request);
  if (row.cost && request.budget_usd) row.within_budget = *row.cost <= *request.budget_usd;
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

class RowMaker {
 public:
  RowMaker(const RunConfig& config, const BuyRequest& request)
      : config_(config), request_(request) {}

  /// The row of a machine and, where it lacks host memory, the row of the same machine with the
  /// smallest sufficient kit.
  [[nodiscard]] std::vector<BuyRow> rows_of(const std::string& machine) const {
    std::vector<BuyRow> rows;
    std::optional<Infeasible> shortage;
    rows.push_back(row_of(machine, RowKind::machine, shortage));
    const std::optional<Composition> parts = composition_of(machine);
    if (!shortage || !parts || config_.limits.host) return rows;
    // A device that lacks much of what it has would hold what has no room on the host.
    const TierMemory& device = at(shortage->memory, Tier::hbm);
    const bool both =
        shortage->tier == Tier::hbm && shortage->short_by.count() > device.capacity.count() / 4;
    if (shortage->tier != Tier::host && !both) return rows;
    if (both) rows[0].limit = "hbm and host short by " + format_bytes(shortage->short_by);
    const Bytes needed = at(shortage->memory, Tier::host).capacity + shortage->short_by;
    auto larger = with_memory_for(*parts, needed);
    if (larger) {
      rows[0].remedy = "--ram \"" + to_text(larger->ram) + "\"";
    } else {
      rows[0].remedy = "its board takes too little memory";
      larger = with_board_for(*parts, needed);
      if (!larger) return rows;
      rows[0].remedy += ": --cpu " + larger->cpu + " --ram \"" + to_text(larger->ram) + "\"";
    }
    std::optional<Infeasible> still;
    BuyRow more = row_of(to_text(*larger), RowKind::more_memory, still);
    if (more.fits) rows.push_back(std::move(more));
    return rows;
  }

  [[nodiscard]] std::vector<BuyRow> node_rows() const {
    const Job job = to_job(config_);
    std::vector<BuyRow> rows;
    const std::vector<ResidentNode> nodes = resident_nodes(job);
    // The node that everybody can rent; where it does not hold the model, the smallest that does;
    // and those that the user has a price of.
    const auto usual = std::ranges::find(nodes, "8x-h100-sxm", &ResidentNode::name);
    const bool holds = usual != nodes.end() && usual->fits;
    std::string smallest;
    Bytes least{0};
    for (const ResidentNode& node : nodes) {
      if (holds || !node.fits || (!smallest.empty() && node.capacity >= least)) continue;
      smallest = node.name;
      least = node.capacity;
    }
    for (const ResidentNode& node : nodes) {
      const bool named = node.name == "8x-h100-sxm" || node.name == smallest;
      if (!named && !request_.prices.machines.contains(node.name)) continue;
      BuyRow row{.machine = node.name, .kind = RowKind::resident_node, .fits = node.fits};
      row.gpus = 8;
      row.limit = node.fits ? node.limit + " (roofline)"
                            : "hbm short by " + format_bytes(node.needed - node.capacity);
      row.next_limit = "a bound: real nodes reach 0.5 to 0.8 of it";
      row.nearest_case = "none: a bound";
      row.evidence.datasheet = 1;
      if (node.fits) {
        row.step = row.step_low = std::chrono::duration_cast<Duration>(node.step);
        row.step_high = row.step_low * 2;
        row.tokens_per_s = node.tokens_per_s;
      } else {
        row.remedy = "more nodes";
      }
      add_money(row, request_);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static std::optional<Composition> composition_of(const std::string& machine) {
    if (machine.ends_with(".json")) return std::nullopt;
    return find_composition(machine);
  }

  BuyRow row_of(const std::string& machine, RowKind kind,
                std::optional<Infeasible>& shortage) const {
    RunConfig config = config_;
    config.machine = machine;
    BuyRow row{.machine = machine, .kind = kind};
    row.owned = request_.owned && machine == config_.machine;
    Request run = resolve(config);
    run.search.effort = kAdviceEffort;
    run.search.threads = 1;
    run.search.stop = request_.stop;
    const auto found = choose_plan(run, {.remedies = false});
    if (const auto* chosen = std::get_if<ChosenPlan>(&found)) {
      describe(row, chosen->step().prediction, run.predictor, config);
    } else {
      shortage = std::get<Infeasible>(found);
      row.limit =
          std::string(to_string(shortage->tier)) + " short by " + format_bytes(shortage->short_by);
      if (shortage->tier == Tier::hbm) {
        row.remedy = "a smaller micro_batch, loss_chunk or seq_len, or a GPU with more memory";
      }
    }
    add_money(row, request_);
    return row;
  }

  static void describe(BuyRow& row, const Prediction& p, const Predictor& predictor,
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
    row.gpus = needs.gpus;
  }

  const RunConfig& config_;
  const BuyRequest& request_;
};

}  // namespace

std::vector<BuyRow> buy_rows(const RunConfig& config, const BuyRequest& request) {
  std::vector<std::string> machines = request.machines;
  if (machines.empty()) {
    for (const CatalogueMachine& machine : catalogue_machines()) machines.push_back(machine.name);
  }
  // The machine that the request is about is a row too.
  const bool named = request.owned || config.machine != RunConfig().machine;
  if (named && std::ranges::find(machines, config.machine) == machines.end()) {
    machines.push_back(config.machine);
  }
  for (const std::string& machine : machines) (void)find_machine(machine, config.backend);
  const RowMaker maker(config, request);
  std::vector<std::vector<BuyRow>> found(machines.size());
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(machines.size(), request.threads, [&](std::size_t i) {
    found[i] = maker.rows_of(machines[i]);
    const std::lock_guard lock(mutex);
    if (request.progress) request.progress(++done, machines.size(), machines[i]);
  });
  std::vector<BuyRow> rows = maker.node_rows();
  for (std::vector<BuyRow>& some : found) {
    for (BuyRow& row : some) {
      // With more memory one machine may be another of the catalogue.
      if (std::ranges::find(rows, row.machine, &BuyRow::machine) != rows.end()) continue;
      rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const BuyRow& a, const BuyRow& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits && a.step < b.step;
  });
  return rows;
}

}  // namespace sluice::planner
