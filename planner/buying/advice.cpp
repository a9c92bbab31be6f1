#include "planner/buying/advice.hpp"

#include <algorithm>
#include <cmath>

#include "planner/buying/advice_conclusion.hpp"
#include "planner/buying/advice_text.hpp"
#include "planner/buying/choice.hpp"
#include "planner/buying/upgrade_worth.hpp"

namespace sluice::planner {
namespace {

/// Says what the GPUs of a row with several gain over one, and from how many tokens a step they
/// pay.
void say_devices(std::vector<std::string>& said, const BuyReport& report) {
  if (!report.devices) return;
  const DevicesPay& pay = report.devices->pay;
  std::string text =
      "Several GPUs: the " + std::to_string(pay.devices) + " of " + report.devices->machine;
  if (!pay.speed) {
    text += " hold this job, and one of them does not";
  } else {
    text += " do " + decimal(*pay.speed, 2) + " times what one of them does";
    const double half = static_cast<double>(pay.devices) / 2;
    text += "; more than " + decimal(half, pay.devices % 2 == 0 ? 0 : 1) + " times ";
    if (pay.pays_from) {
      text += "from " + std::to_string(*pay.pays_from) + " tokens a step on";
    } else if (pay.cut_short) {
      text += "from a number of tokens that time did not find (--seconds gives more)";
    } else {
      text += "at no number up to " + std::to_string(pay.most_tried) + " tokens a step";
    }
  }
  said.push_back(text + ".");
}

std::string plain(const std::string& resource) {
  if (resource == "h2d" || resource == "d2h") return resource + " link rate";
  if (resource == "dram") return "host memory bandwidth";
  if (resource == "cpu") return "CPU optimizer speed";
  if (resource == "hbm") return "device memory";
  if (resource == "host") return "host memory";
  if (resource == "disk") return "disk rate";
  if (resource == "hbm_bandwidth") return "device memory bandwidth";
  return resource;
}

/// One elasticity in words, such as "10 % more link rate takes 3.1 % off the step".
std::string felt_text(const std::pair<std::string, double>& one) {
  return "10 % more " + plain(one.first) + " takes " +
         decimal(100 * (1 - std::pow(1.1, one.second)), 1) + " % off the step";
}

void say_what_binds(std::vector<std::string>& said, const BuyReport& report) {
  const BuyRow* row = find_row(report.rows, report.base);
  if (row == nullptr || !row->fits || report.elasticity.empty()) return;
  auto order = report.elasticity;
  std::ranges::stable_sort(order, {}, [](const auto& one) { return one.second; });
  std::string text = "What binds on " + report.base + ": " + row->limit +
                     (row->devices > 1 ? ", busy " : ", whose bound is ") +
                     decimal(100 * row->limit_share, 0) + " % of the step";
  if (!row->next_limit.empty()) text += ", next " + row->next_limit;
  constexpr double kFelt = -0.05;
  if (order.front().second > kFelt) {
    text += "; 10 % more of any one resource takes less than " +
            decimal(100 * (1 - std::pow(1.1, kFelt)), 1) + " % off";
  } else {
    text += "; " + felt_text(order[0]);
    if (order.size() > 1 && order[1].second <= kFelt) text += ", " + felt_text(order[1]);
  }
  said.push_back(text + ".");
}

/// One upgrade in words, such as "+4 DIMMs: ...: -0.9 days for 614 USD more (5,115 USD in all)".
std::string order_text(const Upgrade& upgrade) {
  std::string text = upgrade.what;
  if (upgrade.days_saved) {
    text += ": -" + days_text(*upgrade.days_saved);
  } else if (upgrade.speedup) {
    text += ": " + decimal(*upgrade.speedup, 2) + " times as fast";
  } else if (upgrade.days) {
    text += ": fits, " + days_text(*upgrade.days);
  }
  if (upgrade.price) text += " for " + dollars(*upgrade.price);
  if (upgrade.total) {
    text += " (" + dollars(*upgrade.total) + " with the machine)";
  }
  return text;
}

void say_what_to_add(std::vector<std::string>& said, const BuyReport& report,
                     const BuyRequest& request) {
  const BuyRow* row = find_row(report.rows, report.base);
  const bool fits = row != nullptr && row->fits;
  constexpr double kWorth = 1.03;
  constexpr int kMost = 2;
  if (report.upgrades.empty()) return;
  std::string text;
  int count = 0;
  const Upgrade* dear = nullptr;  // The cheapest upgrade beyond the budget.
  auto upgrades = report.upgrades;
  std::stable_partition(upgrades.begin(), upgrades.end(),
                        [](const Upgrade& one) { return one.price.has_value(); });
  for (const Upgrade& upgrade : upgrades) {
    if (!upgrade.fits || (fits && upgrade.speedup.value_or(1) < kWorth)) continue;
    const auto least = [](const Upgrade& one) { return one.total ? one.total : one.price; };
    if (least(upgrade) && request.budget_usd && *least(upgrade) > *request.budget_usd) {
      if (dear == nullptr || *least(upgrade) < *least(*dear)) dear = &upgrade;
      continue;
    }
    if (++count > kMost) break;
    text += (count == 1 ? "" : "; or ") + order_text(upgrade);
  }
  if (text.empty()) {
    text =
        fits ? "nothing: no order tried is worth 3 % of the step" : "no single order makes it fit";
    if (dear != nullptr) {
      text += " within " + dollars(*request.budget_usd) +
              (request.owned ? "" : " for machine and order together") + "; beyond it, " +
              order_text(*dear);
    }
  }
  said.push_back("What to add to " + report.base + ": " + text + ".");
}

void say_how_sure(std::vector<std::string>& said, const BuyReport& report) {
  const BuyRow* row = find_row(report.rows, report.base);
  if (row == nullptr || !row->fits) return;
  said.push_back("How sure: times in brackets are 90 % intervals; of the step on " + report.base +
                 ", " + decimal(100 * row->evidence.measured, 0) + " % rests on measured tasks, " +
                 decimal(100 * row->evidence.fitted, 0) + " % on measured rates, " +
                 decimal(100 * row->evidence.datasheet, 0) +
                 " % on datasheets and rules. Nearest validated case: " + row->nearest_case + ".");
  if (!row->phases) return;
  for (const std::string& lacking : phase_shortages(*row->phases)) {
    said.push_back("Mind, on " + report.base + ": " + lacking + ".");
  }
}

/// Says how old the base machine's price is, where it is more than half a year.
void say_how_old(std::vector<std::string>& said, const BuyReport& report,
                 const BuyRequest& request) {
  const BuyRow* row = find_row(report.rows, report.base);
  if (row == nullptr || !request.use.today) return;
  const bool is_rented = row_to_rent(report.rows, request) == row;
  const std::string& date = is_rented ? row->rent_date : row->price_date;
  if (date.empty()) return;
  const auto then = *request.use.today - std::chrono::months(6);
  const auto number = [](unsigned value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  const std::string oldest = std::to_string(static_cast<int>(then.year())) + "-" +
                             number(static_cast<unsigned>(then.month())) + "-" +
                             number(static_cast<unsigned>(then.day()));
  if (date >= oldest) return;
  said.push_back((is_rented ? "The rent of " : "The price of ") + row->machine + " is of " + date +
                 (row->kind == RowKind::build ? ", as its oldest part's" : "") +
                 ": ask for today's before you order.");
}

/// Says that the engine has never run on the advised machine's GPU, and which machines it cannot
/// run on and are therefore not advised.
void say_how_tried(std::vector<std::string>& said, const BuyReport& report) {
  const BuyRow* row = find_row(report.rows, report.base);
  if (row != nullptr && row->engine == EngineOnGpu::never_run) {
    said.push_back("Sluice has never run on the GPU of " + row->machine +
                   ": its figures are predictions that no run has tested.");
  }
  if (row != nullptr && row->is_arm) {
    said.push_back("The host of " + row->machine +
                   " is an Arm CPU: Sluice must be built for aarch64 there, which no run on such a "
                   "machine has tested.");
  }
  std::string without;
  for (const BuyRow& one : report.rows) {
    if (one.engine == EngineOnGpu::none) without += (without.empty() ? "" : ", ") + one.machine;
  }
  if (!without.empty())
    said.push_back("Not advised, the engine does not run there: " + without + ".");
  if (!report.left_out.empty()) said.push_back(report.left_out);
}

void say_what_was_searched(std::vector<std::string>& said, const BuildCounts& builds,
                           bool has_deadline) {
  if (builds.planned == 0 && builds.open == 0) return;
  std::string text = "Of the builds of parts that have a price, " + std::to_string(builds.planned) +
                     " were planned and " + std::to_string(builds.ruled_out) + " ruled out";
  if (builds.open > 0) {
    text += "; " + std::to_string(builds.open) + " are open, and a better one may be among them (" +
            (has_deadline ? "--seconds searches for longer"
                          : "the search ends after so many: a price file with fewer parts, or a "
                            "smaller --budget, leaves fewer open") +
            ")";
  }
  said.push_back(text + ".");
  if (builds.left_out.empty()) return;
  const LeftOutBuild& least = builds.left_out.front();
  text =
      "Left out untried, since by a guess another is twice as fast for at most half again the "
      "price: " +
      least.machine + (least.lends_drives ? ", with state on its drives," : "") + " for " +
      dollars(least.usd);
  const std::size_t others = builds.left_out.size() - 1;
  if (others > 0) text += ", and dearer ones of " + std::to_string(others) + " more GPUs (--json)";
  said.push_back(text + ".");
}

/// Says for how many machines and clouds no plan was searched.
void say_what_was_not_planned(std::vector<std::string>& said, const BuyReport& report) {
  std::string names;
  std::size_t count = 0;
  for (const BuyRow& row : report.rows) {
    if (row.limit != kNotPlanned) continue;
    if (++count <= 3) names += (names.empty() ? "" : ", ") + row.machine;
  }
  if (count == 0) return;
  if (count > 3) names += " and " + std::to_string(count - 3) + " more";
  said.push_back("Not planned, time was over before (--seconds gives more): " + names + ".");
}

}  // namespace

std::vector<std::string> verdict(const BuyReport& report, const BuyRequest& request) {
  std::vector<std::string> said = conclusion(report, request);
  said.insert(said.end(), report.before_hardware.begin(), report.before_hardware.end());
  say_how_tried(said, report);
  say_devices(said, report);
  say_what_binds(said, report);
  say_what_to_add(said, report, request);
  if (report.is_cut) {
    said.emplace_back(
        "Time was over before it was tried what binds and what to add (--seconds gives more).");
  }
  say_how_sure(said, report);
  say_how_old(said, report, request);
  say_what_was_searched(said, report.builds, request.until.is_set());
  say_what_was_not_planned(said, report);
  if (request.prices.machines.empty() && request.prices.parts.empty()) {
    said.emplace_back("No prices were given (--prices FILE): nothing here weighs money.");
  }
  return said;
}

}  // namespace sluice::planner
