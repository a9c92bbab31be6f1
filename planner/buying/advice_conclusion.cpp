#include "planner/buying/advice_conclusion.hpp"

#include <algorithm>
#include <cmath>

#include "planner/buying/advice_text.hpp"
#include "planner/buying/break_even.hpp"
#include "planner/buying/choice.hpp"

namespace sluice::planner {
namespace {

/// A machine that costs less than this share of another is worth a word.
constexpr double kMuchCheaper = 0.8;

std::string limits_text(const BuyRequest& request) {
  std::string text;
  if (request.budget_usd) text += " within " + dollars(*request.budget_usd);
  if (request.days) text += " in " + decimal(*request.days, 0) + " days";
  return text;
}

/// Sentence on a machine that gives more for the money than the cheapest; empty where there is
/// none.
std::string better_text(const BuyReport& report, const BuyRequest& request,
                        const BuyRow& cheapest) {
  const BuyRow* better = best_for_the_money(report.rows, request);
  if (better == nullptr || better == &cheapest) return "";
  return "; the best for the money is " + buy_text(*better);
}

/// Where nothing that fits has a rent: the cheapest machine whose GPU can be rented on a host with
/// less memory, and the condition for it; empty where there is none.
std::string conditional_rent(const BuyReport& report, const BuyRequest& request) {
  const BuyRow* best = nullptr;
  double least = 0, rate = 0;
  for (const BuyRow& row : report.rows) {
    if (!row.fits || row.kind != RowKind::more_memory || !row.days || !row.phases) continue;
    // Hosts of nodes have memory to give; hosts of single cards have not.
    if (row.gpus == 1) continue;
    if (request.days && *row.days > *request.days) continue;
    const auto known = request.prices.machines.find(row.machine.substr(0, row.machine.find(" + ")));
    if (known == request.prices.machines.end() || !known->second.rent_usd_per_hour) continue;
    const double cost = *known->second.rent_usd_per_hour * *row.days * 24;
    if (best != nullptr && cost >= least) continue;
    best = &row;
    least = cost;
    rate = *known->second.rent_usd_per_hour;
  }
  if (best == nullptr || (request.budget_usd && least > *request.budget_usd)) return "";
  const Bytes host = at(*best->phases, Phase::save, Tier::host).peak;
  return "Rent, if a lessor gives " + std::to_string((host.count() >> 30) + 1) +
         " GiB of host memory with it: " + best->machine.substr(0, best->machine.find(" + ")) +
         ", " + time_text(*best) + ", " + dollars(least) + " at the " + decimal(rate, 2) +
         " USD an hour that it costs with less.";
}

/// The cheapest order within the budget with which the job fits on the user's own machine; false
/// where there is none.
bool say_order_that_fits(std::vector<std::string>& said, const BuyReport& report,
                         const BuyRequest& request, const BuyRow& own) {
  const Upgrade* best = nullptr;
  for (const Upgrade& one : report.upgrades) {
    if (!one.fits || !one.orderable || !one.price) continue;
    if (request.budget_usd && *one.price > *request.budget_usd) continue;
    if (request.days && one.days && *one.days > *request.days) continue;
    if (best == nullptr || *one.price < *best->price) best = &one;
  }
  if (best == nullptr) return false;
  said.push_back("Add to what you have, " + own.machine + ": " + best->what + ", for " +
                 dollars(*best->price) + (best->days ? ": then " + days_text(*best->days) : "") +
                 " (" + best->setting + "). As it is, the job does not fit: " + own.limit + ".");
  return true;
}

/// Adds a sentence on what one run costs to rent, where something to rent fits.
void say_rent_instead(std::vector<std::string>& said, const BuyReport& report,
                      const BuyRequest& request) {
  const BuyRow* rent = cheapest_to_rent(report.rows, request);
  if (rent == nullptr) return;
  if (request.budget_usd && *rent->rent_usd > *request.budget_usd) return;
  said.push_back("For one run alone, rent: " + rent_text(*rent) + ".");
}

/// Adds sentences on what the user's own machine does. Returns true where no more is to be said:
/// the job fits on it, within the days.
bool say_owned(std::vector<std::string>& said, const BuyRow& own) {
  if (!own.fits) {
    said.push_back("Yours, " + own.machine + ", does not fit this job: " + own.limit +
                   (own.remedy.empty() ? "" : "; " + own.remedy) + ".");
    return false;
  }
  if (own.within_days == false) {
    said.push_back("Yours, " + own.machine + ", is too slow: " + time_text(own) + ".");
    return false;
  }
  said.push_back("Use what you have: " + own.machine + ", " + time_text(own) + ".");
  return true;
}

/// Adds a sentence on what is worth renting for a user on whose own machine the job fits: a machine
/// at least twice as fast.
void say_sooner(std::vector<std::string>& said, const BuyReport& report, const BuyRequest& request,
                const BuyRow& own) {
  constexpr double kSooner = 0.5;
  if (!own.days) return;
  BuyRequest sooner = request;
  sooner.days = kSooner * *own.days;
  const BuyRow* rent = cheapest_to_rent(report.rows, sooner);
  if (rent != nullptr && (!request.budget_usd || *rent->rent_usd <= *request.budget_usd)) {
    said.push_back("Sooner, rented: " + rent_text(*rent) + ".");
  }
  const BuyRow* buy = best_to_buy(report.rows, sooner, true);
  if (buy != nullptr && buy->buy_usd) said.push_back("Sooner, bought: " + buy_text(*buy) + ".");
}

/// Adds sentences on when `bought` pays against `rent`, and against `faster` where there is one, a
/// dearer rent; what a run on it costs; and what would change the advice.
void say_break_even(std::vector<std::string>& said, const BuyRow& bought, const BuyRow& rent,
                    const BuyRequest& request, const BuyRow* faster = nullptr) {
  const BreakEven pays = break_even(bought, rent, request);
  if (!pays.months) return;
  std::string text =
      "Buying pays, against renting " + rent.machine + ", after " + months_text(pays, request);
  const bool stated = request.use.runs_per_month || request.use.share;
  if (!stated) text += " of work without a pause";
  if (stated) text += " at " + decimal(pays.runs_per_month, 1) + " such runs a month";
  if (pays.is_capped) text += ", the most that it can do";
  if (faster != nullptr) {
    const BreakEven beside = break_even(bought, *faster, request);
    text +=
        beside.months ? " (" + decimal(*beside.months, 1) + " months against " : " (never against ";
    text += faster->machine + ")";
  }
  text += ": " + buy_text(bought);
  const RunCost& run = pays.run;
  if (run.energy_usd.usual > 0) {
    text += "; a run takes " + dollars(run.energy_usd.low) + " to " + dollars(run.energy_usd.high) +
            " of electricity (" + decimal(run.watts->low, 0) + " to " +
            decimal(run.watts->high, 0) +
            " W of GPU and CPU, by a rule, without board, fans and losses; the months count " +
            decimal(run.watts->usual, 0) + " W, all that the GPU is rated for)";
  } else {
    text += request.use.usd_per_kwh ? "; its watts are not known, so electricity is left out"
                                    : "; electricity left out (--usd-per-kwh)";
  }
  if (run.drives_usd > 0) text += "; a run wears " + dollars(run.drives_usd) + " of drives";
  text += request.use.resale > 0
              ? "; sold again for " + decimal(100 * request.use.resale, 0) + " % of its price"
              : "; not sold again (--resale)";
  said.push_back(text + ".");
  const std::string unless = unless_text(bought, rent, request);
  if (!unless.empty() && !pays_in_time(pays, request)) {
    said.push_back("Rent, " + unless + ".");
  }
}

/// ", which pays after 12 months", or nothing where that cannot be said.
std::string pays_text(const BuyRow& bought, const BuyRow& rent, const BuyRequest& request) {
  const BreakEven pays = break_even(bought, rent, request);
  return pays.months ? ", which pays after " + months_text(pays, request) : "";
}

/// Adds sentences that advise to rent, and under which conditions buying would pay.
void say_rent(std::vector<std::string>& said, const BuyReport& report, const BuyRequest& request,
              const BuyRow& rent) {
  const auto& runs = request.use.runs_per_month;
  const bool one = !runs || *runs <= 1;
  said.push_back((one ? "Rent, do not buy, for one such run: "
                      : "Rent, do not buy, for " + decimal(*runs, 1) + " such runs a month (" +
                            dollars(*runs * *rent.rent_usd) + " a month): ") +
                 rent_text(rent) + "; no run costs less.");
  const BuyRow* faster = faster_to_rent(report.rows, request, rent);
  const BuyRow* near = nearly_as_cheap_to_rent(report.rows, request, rent);
  if (near != nullptr && near != faster) {
    said.push_back(
        "Hardly dearer" +
        std::string(near->engine == EngineOnGpu::tested && rent.engine == EngineOnGpu::never_run
                        ? ", and on a GPU on which Sluice has run"
                        : "") +
        ": " + rent_text(*near) + ".");
  }
  if (faster != nullptr) {
    // The difference of the amounts as they are shown.
    const double more = std::round(*faster->rent_usd) - std::round(*rent.rent_usd);
    said.push_back("For " + dollars(more) + " more, " + days_text(*rent.days - *faster->days) +
                   " sooner: " + rent_text(*faster) + ".");
  }
  const BuyRow* cheapest = cheapest_to_buy(report.rows, request);
  if (cheapest == nullptr) return;
  const BuyRow* soonest = soonest_to_pay(report.rows, request, rent);
  if (soonest != nullptr) say_break_even(said, *soonest, rent, request, faster);
  const BuyRow* best = best_to_buy(report.rows, request, true);
  if (best != nullptr && best->buy_usd) {
    if (best != soonest) {
      said.push_back("The fastest to buy" + limits_text(request) +
                     ", or at most 10 % slower and better for its price, is " + buy_text(*best) +
                     pays_text(*best, rent, request) + ".");
    }
    return;
  }
  const std::string limits = limits_text(request);
  if (limits.empty()) return;
  said.push_back("Nothing that fits is to be bought" + limits +
                 better_text(report, request, *cheapest) + ".");
}

}  // namespace

const BuyRow* find_row(const std::vector<BuyRow>& rows, const std::string& machine) {
  const auto found = std::ranges::find(rows, machine, &BuyRow::machine);
  return found == rows.end() ? nullptr : &*found;
}

std::vector<std::string> conclusion(const BuyReport& report, const BuyRequest& request) {
  std::vector<std::string> said;
  if (!report.untrainable.empty()) {
    said.push_back("Buy or rent nothing for this: Sluice cannot train it. " + report.untrainable +
                   ". What follows is prediction only.");
    return said;
  }
  const bool any = std::ranges::any_of(report.rows, &BuyRow::fits);
  if (!any) {
    said.emplace_back("No machine of the list fits this job; the rows say what each lacks.");
    return said;
  }
  const BuyRow* own = request.owned ? find_row(report.rows, report.base) : nullptr;
  if (own != nullptr && !own->fits && say_order_that_fits(said, report, request, *own)) {
    say_rent_instead(said, report, request);
    return said;
  }
  if (own != nullptr && say_owned(said, *own)) {
    say_sooner(said, report, request, *own);
    return said;
  }
  const BuyRow* buy = best_to_buy(report.rows, request, true);
  const BuyRow* rent = cheapest_to_rent(report.rows, request);
  const BuyRow* cheapest = cheapest_to_buy(report.rows, request);
  const bool affordable =
      rent != nullptr && (!request.budget_usd || *rent->rent_usd <= *request.budget_usd);
  if (const BuyRow* rented = row_to_rent(report.rows, request)) {
    say_rent(said, report, request, *rented);
    return said;
  }
  const std::string conditional = rent == nullptr ? conditional_rent(report, request) : "";
  if (!conditional.empty()) said.push_back(conditional);
  if (buy != nullptr) {
    said.push_back((conditional.empty() ? "Buy " : "Else buy ") + buy_text(*buy) + ".");
    const bool much_cheaper = cheapest != nullptr && cheapest != buy && buy->buy_usd &&
                              cheapest->within_days != false &&
                              *cheapest->buy_usd < kMuchCheaper * *buy->buy_usd;
    if (much_cheaper) {
      said.push_back("The cheapest that does it" +
                     (request.days ? " in " + decimal(*request.days, 0) + " days" : "") + " is " +
                     buy_text(*cheapest) + ".");
    }
    if (affordable && buy->buy_usd && *rent->rent_usd < *buy->buy_usd) {
      say_break_even(said, *buy, *rent, request);
      said.push_back("For one run alone, rent: " + rent_text(*rent) + ".");
    } else if (affordable) {
      said.push_back("Renting costs more: " + rent_text(*rent) + ".");
    } else if (rent != nullptr) {
      said.push_back("Renting is beyond the budget: the cheapest is " + rent_text(*rent) + ".");
    }
    return said;
  }
  if (cheapest != nullptr) {
    said.push_back("Nothing that fits is to be had" + limits_text(request) +
                   ": the cheapest to buy is " + buy_text(*cheapest) +
                   better_text(report, request, *cheapest) + ".");
    return said;
  }
  const BuyRow* fastest = best_to_buy(report.rows, request, false);
  said.push_back("What is to be had" + limits_text(request) +
                 " cannot be said: no machine that fits has a price to buy." +
                 (fastest != nullptr ? " The fastest is " + buy_text(*fastest) + "." : ""));
  return said;
}

}  // namespace sluice::planner
