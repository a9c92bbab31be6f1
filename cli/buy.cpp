// `sluice buy RUN`: machines ranked for a job, upgrades of one, and what its step depends on.
#include "planner/buying/buy.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "cli/shown/needs_table.hpp"
#include "cli/words/money_flags.hpp"
#include "cli/words/parse_run.hpp"
#include "sim/error.hpp"
#include "sim/message_line.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::BuyReport;
using planner::BuyRequest;
using planner::BuyRow;

std::vector<std::string> split(const std::string& list, const std::string& flag) {
  std::vector<std::string> items;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    const std::string item = list.substr(start, comma - start);
    if (item.empty()) throw BadRequest(flag + ": \"" + list + "\" has an empty name");
    items.push_back(item);
    start = comma + 1;
  }
  return items;
}

std::string or_dash(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string step_text(const BuyRow& row) {
  if (!row.fits) return "does not fit";
  if (row.kind == planner::RowKind::resident_node) {
    return ">= " + planner::format_seconds(to_seconds(row.step));
  }
  return planner::format_seconds(to_seconds(row.step));
}

std::string limit_text(const BuyRow& row) {
  std::string text = row.limit;
  if (row.fits && row.kind != planner::RowKind::resident_node) {
    text += fmt::format(" at {:.0f} %", 100 * row.limit_share);
    text += row.next_limit.empty() ? " of the step" : ", next " + row.next_limit;
  }
  if (!row.fits && !row.remedy.empty()) text += "; " + row.remedy;
  if (row.kind != planner::RowKind::resident_node && row.gpus > 1) {
    text += fmt::format("; uses 1 of {} GPUs", row.gpus);
  }
  if (row.owned) text += "; yours";
  if (row.within_days == false) text += "; too slow";
  if (row.within_budget == false) text += "; too dear";
  return text;
}

std::string evidence_text(const BuyRow& row) {
  if (!row.fits) return "-";
  if (row.kind == planner::RowKind::resident_node) return "roofline, " + row.nearest_case;
  return fmt::format("{:.0f}/{:.0f}/{:.0f}, {}", 100 * row.evidence.measured,
                     100 * row.evidence.fitted, 100 * row.evidence.datasheet, row.nearest_case);
}

/// The row's step over that of the base machine, with its interval.
std::string beside_text(const BuyRow& row) {
  const auto& ratio = row.beside_base;
  if (!ratio) return "-";
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio->ratio, ratio->low, ratio->high);
}

std::string rows_table(const BuyReport& report) {
  std::size_t wide = 7, limit = 5;
  for (const BuyRow& row : report.rows) {
    wide = std::max(wide, row.machine.size());
    if (row.fits) limit = std::max(limit, limit_text(row).size());
  }
  std::string text =
      fmt::format("{:<{}}  {:>12} {:>22} {:>9} {:>7} {:>13} {:>8} {:>7} {:>8}  {:<{}}  {}\n",
                  "machine", wide, "step", "beside base, 90 %", "tokens/s", "days", "90 %",
                  "buy USD", "USD/h", "rent USD", "limit", limit, "evidence");
  for (const BuyRow& row : report.rows) {
    const std::string interval =
        row.days ? fmt::format("{:.1f} to {:.1f}", *row.days_low, *row.days_high) : "-";
    text +=
        fmt::format("{:<{}}  {:>12} {:>22} {:>9} {:>7} {:>13} {:>8} {:>7} {:>8}  {:<{}}  {}\n",
                    row.machine, wide, step_text(row), beside_text(row),
                    row.fits ? fmt::format("{:.0f}", row.tokens_per_s) : "-", or_dash(row.days, 1),
                    interval, or_dash(row.buy_usd, 0), or_dash(row.rent_usd_per_hour, 2),
                    or_dash(row.rent_usd, 0), limit_text(row), limit, evidence_text(row));
  }
  return text + "beside base: the step over that of " + report.base +
         "; what both rest on cancels in the interval\n"
         "evidence: % of the step that rests on measured tasks / measured rates / datasheets and "
         "rules, and the nearest\n          prediction that was held against a run\n";
}

std::string speedup_text(const planner::Upgrade& upgrade) {
  const std::string text = fmt::format("{:.2f} times as fast", *upgrade.speedup);
  const auto& interval = upgrade.speedup_interval;
  return interval ? text + fmt::format(", 90 %: {:.2f} to {:.2f}", interval->low, interval->high)
                  : text;
}

std::string upgrades_table(const BuyReport& report) {
  std::string text = "\nupgrades of " + report.base + "\n";
  std::string idle;
  for (const planner::Upgrade& upgrade : report.upgrades) {
    if (upgrade.fits && upgrade.speedup && std::abs(*upgrade.speedup - 1) < 0.005) {
      idle += (idle.empty() ? "" : "; ") + upgrade.what.substr(0, upgrade.what.find(':'));
      continue;
    }
    std::string effect = "still does not fit";
    if (upgrade.fits) effect = planner::format_seconds(to_seconds(upgrade.step)) + " a step";
    if (upgrade.speedup) effect += " (" + speedup_text(upgrade) + ")";
    if (upgrade.days_saved) effect += fmt::format(", {:+.1f} days", -*upgrade.days_saved + 0.0);
    if (upgrade.price) effect += fmt::format(", {:.0f} USD", *upgrade.price);
    if (upgrade.total) effect += fmt::format(" ({:.0f} with the machine)", *upgrade.total);
    if (upgrade.within_budget == false) effect += "; too dear";
    text += fmt::format("  {}: {}\n    {}\n", upgrade.what, effect, upgrade.setting);
  }
  if (!idle.empty()) text += "  no effect: " + idle + "\n";
  if (report.elasticity.empty()) return text;
  text += "step time of " + report.base + ", in % for 1 % more of\n ";
  for (const auto& [resource, value] : report.elasticity) {
    text += fmt::format(" {} {:+.2f}", resource, value == 0 ? 0.0 : value);
  }
  return text + "\n";
}

/// Memory by phase, checkpoint and SSD wear of the base machine.
std::string base_needs(const BuyReport& report) {
  const auto row = std::ranges::find(report.rows, report.base, &BuyRow::machine);
  if (row == report.rows.end() || !row->phases) return "";
  std::string text = "\nmemory of " + report.base + "\n" + phases_table(*row->phases);
  if (row->wear) text += "SSD " + wear_text(*row->wear) + "\n";
  return text;
}

std::string verdict_text(const BuyReport& report) {
  std::string text;
  for (const std::string& sentence : report.verdict) text += sentence + "\n";
  return text;
}

/// Text of the advice for one more budget, without the table, which is printed once.
std::string advice_text(const BuyReport& report, double budget) {
  return fmt::format("\nOn {:.0f} USD\n", budget) + verdict_text(report) + base_needs(report) +
         upgrades_table(report);
}

std::string report_text(const BuyReport& report) {
  return verdict_text(report) + "\n" + rows_table(report) + base_needs(report) +
         upgrades_table(report);
}

/// Progress line, overwritten in place on a terminal; nothing elsewhere.
void show_progress(std::size_t done, std::size_t of, const std::string& machine) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (done == of) {
    std::fputs("\r\033[K", stderr);
  } else {
    std::fprintf(stderr, "\r\033[K%zu of %zu machines: %s", done, of,
                 sim::message_line(machine).c_str());
  }
  std::fflush(stderr);
}

}  // namespace

int run_buy(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments asked = parse_run(
      arguments, "sluice buy RUN [flags]",
      {{"--machines", Takes::value, "names, separated by commas (the whole catalogue)"},
       {"--tokens", Takes::value, "number of tokens to train on, such as 10B (billion)"},
       {"--days", Takes::value, "days in which to train"},
       {"--budget", Takes::value,
        "US dollars; give several, separated by commas, for advice on each"},
       {"--prices", Takes::value, "YAML or JSON file of dated prices; none is ever guessed"},
       {"--runs-per-month", Takes::value, "runs of these tokens in a month, for break-even"},
       {"--use", Takes::value, "share of its time that a bought machine works, such as 0.5"},
       {"--usd-per-kwh", Takes::value, "price of electricity; none leaves it out"},
       {"--seconds", Takes::value, "when to begin no further build (30)"},
       {"--rent", Takes::nothing, "price by the hour"},
       {"--own", Takes::nothing, "the run's machine is yours: only orders for it cost"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/buy.schema.json)"}});
  BuyRequest request;
  if (const auto names = asked.value("--machines")) request.machines = split(*names, "--machines");
  request.tokens = token_count(asked);
  request.days = positive_number(asked, "--days");
  std::vector<double> budgets;
  if (const auto list = asked.value("--budget")) {
    for (const std::string& one : split(*list, "--budget")) {
      budgets.push_back(planner::parse_number(one, "--budget"));
      if (budgets.back() <= 0) throw BadRequest("--budget: must be above 0");
    }
    request.budget_usd = budgets.front();
  }
  if (budgets.size() > 1 && asked.has("--json")) {
    throw BadRequest("--budget: give only one with --json");
  }
  if (const auto file = asked.value("--prices")) request.prices = planner::read_prices(*file);
  request.use.runs_per_month = positive_number(asked, "--runs-per-month");
  request.use.share = positive_number(asked, "--use");
  if (request.use.share && *request.use.share > 1) throw BadRequest("--use: must be at most 1");
  if (request.use.share && request.use.runs_per_month) {
    throw BadRequest("--use: give it or --runs-per-month, not both");
  }
  request.use.usd_per_kwh = positive_number(asked, "--usd-per-kwh");
  request.use.today = std::chrono::year_month_day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  constexpr double kUsualSeconds = 30;
  request.until =
      planner::Deadline::in(Seconds(positive_number(asked, "--seconds").value_or(kUsualSeconds)));
  if (budgets.size() > 1) request.other_budgets_usd.assign(budgets.begin() + 1, budgets.end());
  if (asked.has("--rent")) request.payment = planner::Payment::rent;
  request.owned = asked.has("--own");
  request.threads = std::max(1U, std::thread::hardware_concurrency());
  request.progress = show_progress;
  BuyReport report = planner::buy(asked.config, request);
  if (budgets.size() > 1) {
    // These rows are the same for all budgets.
    for (BuyRow& row : report.rows) row.within_budget.reset();
    std::fputs(fmt::format("On {:.0f} USD\n", budgets.front()).c_str(), stdout);
  }
  const std::string text = asked.has("--json") ? to_json_text(report) : report_text(report);
  std::fputs(text.c_str(), stdout);
  for (std::size_t i = 1; i < budgets.size(); ++i) {
    request.budget_usd = budgets[i];
    std::fputs(
        advice_text(advise(asked.config, request, report.rows, report.builds), budgets[i]).c_str(),
        stdout);
  }
  return 0;
}

}  // namespace sluice::cli
