// Advice on machines: rows, one of them in detail, and the verdict.
#include "planner/buying/buy.hpp"

#include <algorithm>

#include "planner/buying/advice.hpp"
#include "planner/buying/advice_text.hpp"
#include "planner/buying/base_advice.hpp"
#include "planner/buying/break_even.hpp"
#include "planner/buying/choice.hpp"
#include "planner/buying/rented_rows.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/buying/rows.hpp"
#include "planner/buying/several_rows.hpp"
#include "planner/models/support.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/run_step.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Compares each row with that of the base machine.
void set_beside_base(BuyReport& report) {
  const auto base = std::ranges::find(report.rows, report.base, &BuyRow::machine);
  for (BuyRow& row : report.rows) {
    row.beside_base.reset();
    const bool both = base != report.rows.end() && base->fits && row.fits;
    if (!both || row.machine == report.base) continue;
    row.beside_base = ratio_interval(row.errors, base->errors);
  }
}

/// The request in one sentence: model, sizes, tokens, budget and days.
std::string question_of(const RunConfig& config, const BuyRequest& request) {
  const Job job = to_job(config);
  std::string text = "Asked: train all weights of " + config.model + ", sequences of " +
                     std::to_string(job.seq_len) + " tokens, " + std::to_string(job.batch_size) +
                     " a step";
  if (request.tokens) text += ", on " + decimal(*request.tokens / 1e6, 0) + " million tokens a run";
  if (request.use.runs_per_month) {
    text += ", " + decimal(*request.use.runs_per_month, 1) + " runs a month";
  }
  if (request.days) text += ", in " + decimal(*request.days, 0) + " days";
  if (request.budget_usd) text += ", within " + dollars(*request.budget_usd);
  if (request.use.usd_per_kwh) {
    text += ", electricity at " + decimal(*request.use.usd_per_kwh, 2) + " USD a kWh";
  }
  return text + ".";
}

}  // namespace

const char* to_string(RowKind kind) {
  switch (kind) {
    case RowKind::machine:
      return "machine";
    case RowKind::more_memory:
      return "more memory";
    case RowKind::instance:
      return "instance";
    case RowKind::build:
      return "build";
  }
  return "";
}

const char* to_string(EngineOnGpu engine) {
  switch (engine) {
    case EngineOnGpu::unknown:
      return "unknown";
    case EngineOnGpu::tested:
      return "tested";
    case EngineOnGpu::never_run:
      return "never run";
    case EngineOnGpu::none:
      return "none";
  }
  return "";
}

BuyReport advise(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                 std::vector<BuyRow> rows, const BuildCounts& builds) {
  BuyReport report{
      .question = question_of(config, request), .rows = std::move(rows), .builds = builds};
  for (BuyRow& row : report.rows) {
    row.within_budget.reset();
    if (row.cost && request.budget_usd) row.within_budget = *row.cost <= *request.budget_usd;
  }
  RunConfig base = config;
  bool is_rented = false;
  if (base.machine == RunConfig().machine && !request.owned) {
    // Where nothing fits, the first machine that was asked about says what it lacks.
    const std::string asked = request.machines.empty() ? base.machine : request.machines.front();
    base.machine = advised_machine(report.rows, request).value_or(asked);
    const BuyRow* rent = row_to_rent(report.rows, request);
    is_rented = rent != nullptr && rent->machine == base.machine;
  }
  report.base = base.machine;
  set_beside_base(report);
  const auto row = std::ranges::find(report.rows, report.base, &BuyRow::machine);
  if (row != report.rows.end()) base = run_of_row(base, *row);
  if (request.end.is_late()) {
    report.is_cut = true;
  } else {
    add_base(report, base, request, finder, is_rented);
    report.devices = devices_worth(report.rows, report.base, config, request);
  }
  try {
    const Job job = to_job(config);
    require_executable(job);
    require_computed_by_cuda(job.model);
  } catch (const BadRequest& refused) {
    report.untrainable = refused.what();
  }
  if (is_fp8(config.compute) && request.machines.empty()) {
    report.left_out = std::string("GPUs without the products of compute ") +
                      to_string(config.compute) + " are left out.";
  }
  const BuyRow* rent = cheapest_to_rent(report.rows, request);
  const BuyRow* soonest = rent == nullptr ? nullptr : soonest_to_pay(report.rows, request, *rent);
  if (soonest != nullptr) {
    report.break_even = BoughtOrRented{.bought = soonest->machine,
                                       .rented = rent->machine,
                                       .pays = break_even(*soonest, *rent, request)};
  }
  report.verdict = verdict(report, request);
  return report;
}

BuyReport buy(const RunConfig& config, const BuyRequest& request) {
  PlanFinder finder;
  return buy(config, request, finder);
}

BuyReport buy(const RunConfig& config, const BuyRequest& request, PlanFinder& finder) {
  const bool plan = config.plan.has_value();
  if (plan || config.policy) {
    const std::string what = plan ? "plan" : "policy";
    throw BadRequest("--" + what + ": buy looks for a plan on every machine (--" + what +
                     "= leaves a run's own out); sluice predict says what a given " + what +
                     " does on one");
  }
  ComparedRows compared = buy_rows(config, request, finder);
  return advise(config, request, finder, std::move(compared.rows), compared.builds);
}

}  // namespace sluice::planner
