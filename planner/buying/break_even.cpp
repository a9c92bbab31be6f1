#include "planner/buying/break_even.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "planner/buying/advice_text.hpp"
#include "planner/catalogue/several_gpus.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Times and energy of which the months until buying pays are computed: usual ones, or an end of
/// their intervals.
struct Assumed {
  double bought_days, rented_days, energy_usd;
};

std::optional<double> months_of(const BreakEven& pays, const BuyRow& bought, const BuyRow& rented,
                                double resale, const Assumed& assumed) {
  const double rent = *rented.rent_usd_per_hour * kHoursPerDay * assumed.rented_days;
  const double own = assumed.energy_usd * assumed.bought_days / *bought.days + pays.run.drives_usd;
  // Where runs a month follow from the machine's time, a slower machine does fewer of them.
  const bool follows = !pays.is_stated || pays.is_capped;
  const double runs = pays.runs_per_month * (follows ? *bought.days / assumed.bought_days : 1);
  if (rent <= own) return std::nullopt;
  return *bought.buy_usd * (1 - resale) / (runs * (rent - own));
}

std::string month_text(double months, std::chrono::year_month_day today) {
  constexpr std::array kNames = {"January",   "February", "March",    "April",
                                 "May",       "June",     "July",     "August",
                                 "September", "October",  "November", "December"};
  const auto end = std::chrono::year_month(today.year(), today.month()) +
                   std::chrono::months(static_cast<int>(std::lround(std::min(months, 12'000.0))));
  return std::string(kNames[static_cast<unsigned>(end.month()) - 1]) + " " +
         std::to_string(static_cast<int>(end.year()));
}

std::string percent_text(double share) { return decimal(std::ceil(100 * share), 0) + " %"; }

}  // namespace

void check_use(const MachineUse& use, const std::string& dashes) {
  if (use.share && !(*use.share > 0 && *use.share <= 1)) {
    throw BadRequest(dashes + "use: must be above 0 and at most 1, such as 0.5");
  }
  if (use.share && use.runs_per_month) {
    throw BadRequest(dashes + "use: give it or runs a month, not both");
  }
  if (use.resale < 0 || use.resale >= 1) {
    throw BadRequest(dashes + "resale: must be at least 0 and below 1, such as 0.4");
  }
}

RunCost run_cost(const BuyRow& bought, const BuyRequest& request) {
  RunCost cost;
  const std::optional<CountedParts> machine = find_counted_parts(bought.machine);
  if (!machine) return cost;
  const Composition* parts = &machine->parts;
  const CpuPart& cpu = find_cpu(parts->cpu);
  const auto cores = static_cast<double>(cpu.cores * sockets_of(cpu, machine->gpus));
  const double gpu = find_gpu(parts->gpu).watts * static_cast<double>(machine->gpus);
  const PowerRule& rule = power_rule();
  cost.watts = Range{.usual = gpu + rule.core * cores,
                     .low = rule.gpu_low * gpu + rule.core_low * cores,
                     .high = gpu + rule.core_high * cores};
  if (request.use.usd_per_kwh && bought.days) {
    const double usd = *bought.days * kHoursPerDay * *request.use.usd_per_kwh / 1000;
    cost.energy_usd = {.usual = usd * cost.watts->usual,
                       .low = usd * cost.watts->low,
                       .high = usd * cost.watts->high};
  }
  const auto drives = request.prices.buy("ssd " + parts->ssd.kind, parts->ssd.count);
  if (drives && bought.wear && bought.wear->steps && bought.days) {
    const double steps = *bought.days * kSecondsPerDay / to_seconds(bought.step).count();
    cost.drives_usd = *drives * steps / *bought.wear->steps;
  }
  return cost;
}

BreakEven break_even(const BuyRow& bought, const BuyRow& rented, const BuyRequest& request) {
  BreakEven pays{.run = run_cost(bought, request)};
  const double most = kDaysPerMonth / *bought.days;
  pays.is_stated = request.use.runs_per_month.has_value();
  pays.runs_per_month = request.use.runs_per_month.value_or(request.use.share.value_or(1) * most);
  if (pays.runs_per_month > most * (1 + 1e-9)) {
    pays.is_capped = true;
    pays.runs_per_month = most;
  }
  const double resale = request.use.resale;
  const Range& energy = pays.run.energy_usd;
  pays.months = months_of(
      pays, bought, rented, resale,
      {.bought_days = *bought.days, .rented_days = *rented.days, .energy_usd = energy.usual});
  pays.months_low = months_of(pays, bought, rented, resale,
                              {.bought_days = *bought.days_low,
                               .rented_days = *rented.days_high,
                               .energy_usd = energy.low});
  pays.months_high = months_of(pays, bought, rented, resale,
                               {.bought_days = *bought.days_high,
                                .rented_days = *rented.days_low,
                                .energy_usd = energy.high});
  return pays;
}

bool pays_in_time(const BreakEven& pays, const BuyRequest& request) {
  return (request.use.runs_per_month || request.use.share) && pays.months &&
         *pays.months <= kMonthsKept;
}

const BuyRow* soonest_to_pay(const std::vector<BuyRow>& rows, const BuyRequest& request,
                             const BuyRow& rented) {
  const BuyRow* best = nullptr;
  double least = 0;
  for (const BuyRow& row : rows) {
    const bool offered = row.fits && !row.owned;
    if (row.engine == EngineOnGpu::none || !offered || !row.buy_usd || !row.days) continue;
    if (request.days && *row.days > *request.days) continue;
    if (request.budget_usd && *row.buy_usd > *request.budget_usd) continue;
    const BreakEven pays = break_even(row, rented, request);
    if (!pays.months || (best != nullptr && *pays.months >= least)) continue;
    best = &row;
    least = *pays.months;
  }
  return best;
}

std::string months_text(const BreakEven& pays, const BuyRequest& request) {
  const auto count = [](double months) { return decimal(months, months < 10 ? 1 : 0); };
  std::string text = count(*pays.months) + " months (" + count(*pays.months_low) + " to ";
  text += pays.months_high ? count(*pays.months_high) : "never";
  if (request.use.today) text += "; " + month_text(*pays.months, *request.use.today);
  return text + ")";
}

std::string unless_text(const BuyRow& bought, const BuyRow& rented, const BuyRequest& request) {
  const BreakEven pays = break_even(bought, rented, request);
  if (!pays.months) return "";
  BuyRequest always = request;
  always.use.runs_per_month.reset();
  always.use.share.reset();
  const double full = *break_even(bought, rented, always).months;
  const std::string kept = decimal(kMonthsKept / 12, 0) + " years";
  if (full <= kMonthsKept) {
    std::string stated;
    if (request.use.runs_per_month || request.use.share) {
      const double share = pays.runs_per_month * *bought.days / kDaysPerMonth;
      stated = "; as stated it works " + decimal(100 * share, share < 0.1 ? 1 : 0) + " % of it";
    }
    return "unless " + bought.machine + " works more than " +
           decimal(std::floor(100 * full / kMonthsKept), 0) + " %" + " of the time for " + kept +
           stated;
  }
  const double own = pays.run.energy_usd.usual + pays.run.drives_usd;
  return "also where " + bought.machine + " works without a pause for " + kept +
         ", unless it costs " + percent_text(1 - kMonthsKept / full) + " less or rent rises by " +
         percent_text((full / kMonthsKept - 1) * (*rented.rent_usd - own) / *rented.rent_usd);
}

}  // namespace sluice::planner
