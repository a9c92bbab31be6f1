#include "planner/advice.hpp"

#include <algorithm>
#include <cmath>

#include "planner/advice_text.hpp"
#include "planner/buy_choice.hpp"

namespace sluice::planner {
namespace {

const BuyRow* find_row(const std::vector<BuyRow>& rows, const std::string& machine) {
  const auto found = std::ranges::find(rows, machine, &BuyRow::machine);
  return found == rows.end() ? nullptr : &*found;
}

std::string limits_text(const BuyRequest& request) {
  std::string text;
  if (request.budget_usd) text += " within " + dollars(*request.budget_usd);
  if (request.days) text += " in " + decimal(*request.days, 0) + " days";
  return text;
}

/// What is better for the money than the cheapest, if anything is.
std::string better_text(const BuyReport& report, const BuyRequest& request,
                        const BuyRow& cheapest) {
  const BuyRow* better = best_for_the_money(report.rows, request);
  if (better == nullptr || better == &cheapest) return "";
  return "; the best for the money is " + buy_text(*better);
}

/// Nothing that fits has a rent: the cheapest whose GPU has one on a host with less memory, and on
/// what condition; empty where there is none.
std::string conditional_rent(const BuyReport& report, const BuyRequest& request) {
  const BuyRow* best = nullptr;
  double least = 0, rate = 0;
  for (const BuyRow& row : report.rows) {
    if (!row.fits || row.kind != RowKind::more_memory || !row.days || !row.phases) continue;
    if (row.gpus == 1) continue;  // Hosts of nodes have memory to give; a card's have not.
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

/// The first sentences: what to do, and what the other choice costs.
void conclude(std::vector<std::string>& said, const BuyReport& report, const BuyRequest& request) {
  const BuyRow* buy = best_to_buy(report.rows, request, true);
  const BuyRow* rent = cheapest_to_rent(report.rows, request);
  const BuyRow* cheapest = cheapest_to_buy(report.rows, request);
  const bool any = std::ranges::any_of(report.rows, [](const BuyRow& row) {
    return row.fits && row.kind != RowKind::resident_node;
  });
  if (!any) {
    said.emplace_back(
        "No single-GPU machine of the list fits this job; the rows say what each lacks.");
    return;
  }
  const bool affordable =
      rent != nullptr && (!request.budget_usd || *rent->rent_usd <= *request.budget_usd);
  const bool cheaper = affordable && (cheapest == nullptr || *rent->rent_usd < *cheapest->buy_usd);
  if (rent == nullptr) {
    if (std::string text = conditional_rent(report, request); !text.empty()) {
      said.push_back(std::move(text));
    }
  }
  if (cheaper) {
    said.push_back("Rent, do not buy, for one such run: " + rent_text(*rent) + ".");
    if (const BuyRow* faster = faster_to_rent(report.rows, request, *rent)) {
      said.push_back("For " + dollars(*faster->rent_usd - *rent->rent_usd) + " more, " +
                     days_text(*rent->days - *faster->days) + " sooner: " + rent_text(*faster) +
                     ".");
    }
    const BuyRow* own = buy != nullptr && buy->buy_usd ? buy : cheapest;
    if (own != nullptr) {
      const double runs = std::ceil(*own->buy_usd / *rent->rent_usd);
      said.push_back("Buying pays after about " + decimal(runs, 0) +
                     " such runs, electricity aside" +
                     (own == buy ? ": then, " + buy_text(*own) + "."
                                 : "; and nothing that fits is to be had" + limits_text(request) +
                                       ": the cheapest is " + buy_text(*own) +
                                       better_text(report, request, *own) + "."));
    }
  } else if (buy != nullptr) {
    said.push_back((said.empty() ? "Buy " : "Else buy ") + buy_text(*buy) + ".");
    if (affordable) {
      said.push_back("Renting costs more: " + rent_text(*rent) + ".");
    } else if (rent != nullptr) {
      said.push_back("Renting is beyond the budget: the cheapest is " + rent_text(*rent) + ".");
    }
  } else {
    said.push_back("Nothing that fits is to be had" + limits_text(request) +
                   (cheapest != nullptr ? ": the cheapest to buy is " + buy_text(*cheapest) +
                                              better_text(report, request, *cheapest) + "."
                                        : ": no machine that fits has a price to buy."));
  }
}

void compare_nodes(std::vector<std::string>& said, const BuyReport& report) {
  const BuyRow* best = nullptr;
  for (const BuyRow& row : report.rows) {
    if (row.kind != RowKind::resident_node || !row.fits) continue;
    const bool cheaper =
        best != nullptr && row.rent_usd && (!best->rent_usd || *row.rent_usd < *best->rent_usd);
    if (best == nullptr || cheaper) best = &row;
  }
  if (best == nullptr) {
    said.emplace_back("No node of eight GPUs of the catalogue holds this model resident.");
    return;
  }
  std::string text = "Faster: rent " + best->machine + ", which holds the model resident: ";
  if (best->days) {
    text += "between " + days_text(*best->days) + " (no schedule is faster) and " +
            days_text(*best->days_high);
  } else {
    text += "at most " + decimal(best->tokens_per_s, 0) + " tokens/s";
  }
  if (best->rent_usd) text += ", from " + dollars(*best->rent_usd);
  said.push_back(text + (best->rent_usd_per_hour ? "." : "; no price of it is known."));
}

std::string plain(const std::string& resource) {
  if (resource == "h2d" || resource == "d2h") return resource + " link rate";
  if (resource == "dram") return "host memory bandwidth";
  if (resource == "cpu") return "CPU optimizer speed";
  if (resource == "hbm") return "device memory";
  if (resource == "host") return "host memory";
  if (resource == "hbm_bandwidth") return "device memory bandwidth";
  return resource;
}

void say_what_binds(std::vector<std::string>& said, const BuyReport& report) {
  const BuyRow* row = find_row(report.rows, report.base);
  if (row == nullptr || !row->fits || report.elasticity.empty()) return;
  auto order = report.elasticity;
  std::ranges::stable_sort(order, {}, [](const auto& one) { return one.second; });
  std::string text = "What binds on " + report.base + ": ";
  constexpr double kFelt = -0.05;
  if (order.front().second > kFelt) {
    text += "no one resource alone";
  } else {
    const auto felt = [](const std::pair<std::string, double>& one) {
      return plain(one.first) + " (10 % more takes " +
             decimal(100 * (1 - std::pow(1.1, one.second)), 1) + " % off the step)";
    };
    text += felt(order[0]);
    if (order.size() > 1 && order[1].second <= kFelt) text += ", then " + felt(order[1]);
  }
  said.push_back(text + ". No plan there beats its " + row->limit + " bound" +
                 (row->next_limit.empty() ? "" : "; next is " + row->next_limit) + ".");
}

void say_what_to_add(std::vector<std::string>& said, const BuyReport& report,
                     const BuyRequest& request) {
  const BuyRow* row = find_row(report.rows, report.base);
  const bool fits = row != nullptr && row->fits;
  constexpr double kWorth = 1.03;
  std::string text;
  int count = 0;
  bool too_dear = false;
  auto upgrades = report.upgrades;
  std::stable_partition(upgrades.begin(), upgrades.end(),
                        [](const Upgrade& one) { return one.price.has_value(); });
  for (const Upgrade& upgrade : upgrades) {
    if (!upgrade.fits || (fits && upgrade.speedup.value_or(1) < kWorth)) continue;
    if (upgrade.price && request.budget_usd && *upgrade.price > *request.budget_usd) {
      too_dear = true;
      continue;
    }
    if (++count > 2) break;
    text += count == 1 ? "" : "; or ";
    text += upgrade.what;
    if (upgrade.days_saved) {
      text += ": -" + days_text(*upgrade.days_saved);
    } else if (upgrade.speedup) {
      text += ": " + decimal(*upgrade.speedup, 2) + " times as fast";
    } else if (upgrade.days) {
      text += ": fits, " + days_text(*upgrade.days);
    }
    if (upgrade.price) text += " for " + dollars(*upgrade.price);
  }
  if (report.upgrades.empty()) return;
  if (text.empty()) {
    text =
        fits ? "nothing: no order tried is worth 3 % of the step" : "no single order makes it fit";
    if (too_dear) text += " within " + dollars(*request.budget_usd);
  }
  said.push_back("What to add to " + report.base + ": " + text + ".");
}

void say_how_sure(std::vector<std::string>& said, const BuyReport& report) {
  const BuyRow* row = find_row(report.rows, report.base);
  if (row == nullptr || !row->fits) return;
  said.push_back("How sure: 90 % intervals above; " + decimal(100 * row->evidence.measured, 0) +
                 " % of the step rests on measurements, " + decimal(100 * row->evidence.fitted, 0) +
                 " % on fits, " + decimal(100 * row->evidence.datasheet, 0) +
                 " % on datasheets and rules. Nearest validated case: " + row->nearest_case + ".");
  if (!row->phases) return;
  for (const Phase phase : kPhases) {
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const PhaseNeed& need = at(*row->phases, phase, tier);
      if (need.fits()) continue;
      constexpr double kGiB = 1 << 30;
      said.push_back(std::string("Mind: to ") + to_string(phase) + ", " + report.base + " lacks " +
                     decimal(static_cast<double>((need.peak - need.capacity).count()) / kGiB, 1) +
                     " GiB of " + to_string(tier) + ".");
    }
  }
}

}  // namespace

std::vector<std::string> verdict(const BuyReport& report, const BuyRequest& request) {
  std::vector<std::string> said;
  conclude(said, report, request);
  compare_nodes(said, report);
  say_what_binds(said, report);
  say_what_to_add(said, report, request);
  say_how_sure(said, report);
  if (request.prices.machines.empty() && request.prices.parts.empty()) {
    said.emplace_back("No prices were given (--prices FILE): nothing here weighs money.");
  }
  return said;
}

}  // namespace sluice::planner
