#include "cli/shown/buy_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/shown/needs_table.hpp"
#include "planner/buying/advice_text.hpp"
#include "planner/buying/build_search.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::BuyReport;
using planner::BuyRow;

constexpr std::size_t kColumns = 100;

std::string or_dash(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// Validated cases that rows name, each once, in the order of the rows.
std::vector<std::string> cases_of(const BuyReport& report) {
  std::vector<std::string> cases;
  for (const BuyRow& row : report.rows) {
    if (row.fits && std::ranges::find(cases, row.nearest_case) == cases.end()) {
      cases.push_back(row.nearest_case);
    }
  }
  return cases;
}

std::string evidence_text(const BuyRow& row, const std::vector<std::string>& cases) {
  const auto number = std::ranges::find(cases, row.nearest_case) - cases.begin() + 1;
  return fmt::format("{:.0f}/{:.0f}/{:.0f} [{}]", 100 * row.evidence.measured,
                     100 * row.evidence.fitted, 100 * row.evidence.datasheet, number);
}

/// The cheapest other row to buy that costs no more and is not slower; null where there is none.
const BuyRow* better_for_no_more(const BuyRow& row, const BuyReport& report) {
  const BuyRow* best = nullptr;
  for (const BuyRow& one : report.rows) {
    const bool is_other = &one != &row && one.fits && one.buy_usd && row.buy_usd;
    if (!is_other || *one.buy_usd > *row.buy_usd || one.step > row.step * (1 + planner::kSameStep))
      continue;
    if (best == nullptr || *one.buy_usd < *best->buy_usd) best = &one;
  }
  return best;
}

/// The range of a rented row's rent that the interval of its time gives, and the date of the price.
std::string rented_text(const BuyRow& row) {
  if (!row.rent_usd || !row.days) return "";
  const double a_day = *row.rent_usd / *row.days;
  std::string text = fmt::format("; a run rents for {:.0f} to {:.0f} USD", a_day * *row.days_low,
                                 a_day * *row.days_high);
  if (!row.rent_date.empty()) text += ", price of " + row.rent_date;
  if (!row.rented && row.phases) {
    text += fmt::format("; ask for {} GiB of host memory", planner::host_gib(row));
  }
  return text;
}

/// A line below the row: the resource that sets its step, what the figures rest on, and notes on
/// the machine.
std::string limit_text(const BuyRow& row, const BuyReport& report,
                       const std::vector<std::string>& cases) {
  std::string text = row.limit;
  if (row.fits) {
    text += row.devices > 1 ? ", busy" : " at";
    text += fmt::format(" {:.0f} %", 100 * row.limit_share);
    text += row.next_limit.empty() ? " of the step" : ", next " + row.next_limit;
  }
  if (!row.fits && !row.remedy.empty()) text += "; " + row.remedy;
  if (row.fits) text += "; " + evidence_text(row, cases);
  if (row.gpus > row.devices) text += fmt::format("; uses {} of {} GPUs", row.devices, row.gpus);
  if (!row.devices_note.empty()) text += ": " + row.devices_note;
  if (row.engine == planner::EngineOnGpu::never_run) text += "; never run on such a GPU";
  if (row.engine == planner::EngineOnGpu::none) text += "; the engine does not run here";
  if (row.is_arm) text += "; Arm host";
  if (row.rented) {
    text += fmt::format("; with {} GiB and {} cores", row.rented->memory.count() >> 30,
                        row.rented->cores);
  }
  if (row.owned) text += "; yours";
  if (row.is_beaten) {
    const BuyRow* better = better_for_no_more(row, report);
    text += "; as fast for no more: " + (better != nullptr ? better->machine : "another build");
  }
  text += rented_text(row);
  if (row.within_days == false) text += "; too slow";
  if (row.within_budget == false) text += "; too dear";
  return text;
}

constexpr const char* kNumbers = "    {:>11}  {:>8}  {:>32}  {:>9}  {:>6}  {:>8}";

std::string numbers_text(const BuyRow& row) {
  std::string days = "-";
  if (row.days) {
    days = planner::days_text(*row.days) + " (" +
           planner::days_range(*row.days_low, *row.days_high) + ")";
  }
  const std::string usd = row.buy_usd ? planner::dollars(*row.buy_usd) : "-";
  return fmt::format(
      kNumbers, row.fits ? planner::format_seconds(to_seconds(row.step)) : "does not fit",
      row.fits ? fmt::format("{:.0f}", row.tokens_per_s) : "-", days, usd.substr(0, usd.find(' ')),
      or_dash(row.rent_usd_per_hour, 2), or_dash(row.rent_usd, 0));
}

/// The row's step over that of the base machine, with its interval; empty for that machine.
std::string beside_text(const BuyRow& row) {
  const auto& ratio = row.beside_base;
  if (!ratio) return "";
  return fmt::format("; {:.2f} ({:.2f} to {:.2f}) times the base's step", ratio->ratio, ratio->low,
                     ratio->high);
}

std::string rows_table(const BuyReport& report) {
  const std::vector<std::string> cases = cases_of(report);
  std::string text =
      fmt::format(kNumbers, "step", "tokens/s", "time, 90 %", "buy USD", "USD/h", "rent USD") +
      "\n";
  for (const BuyRow& row : report.rows) {
    text += row.machine;
    if (row.kind == planner::RowKind::build) text += planner::sockets_text(row.machine);
    text += "\n" + numbers_text(row) + "\n";
    text += in_columns("    " + limit_text(row, report, cases) + beside_text(row), 2) + "\n";
  }
  text += in_columns("base: " + report.base + "; what both steps rest on cancels in their ratio") +
          "\n";
  text += in_columns(
              "0/100/0: % of the step that rests on measured tasks / measured rates / datasheets "
              "and rules; then the nearest prediction that was held against a run:") +
          "\n";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    text += in_columns(fmt::format("  [{}] {}", i + 1, cases[i])) + "\n";
  }
  return text;
}

std::string speedup_text(const planner::Upgrade& upgrade) {
  const std::string text = fmt::format("{:.2f} times as fast", *upgrade.speedup);
  const auto& interval = upgrade.speedup_interval;
  return interval ? text + fmt::format(", 90 %: {:.2f} to {:.2f}", interval->low, interval->high)
                  : text;
}

/// Days saved as text, such as "-1.6 hours"; more days are "+0.3 days".
std::string saved_text(double days) {
  return (days < 0 ? "+" : "-") + planner::days_text(std::abs(days));
}

std::string effect_text(const planner::Upgrade& upgrade) {
  std::string effect = "still does not fit";
  if (upgrade.fits) effect = planner::format_seconds(to_seconds(upgrade.step)) + " a step";
  if (upgrade.speedup) effect += " (" + speedup_text(upgrade) + ")";
  if (upgrade.days_saved) effect += ", " + saved_text(*upgrade.days_saved);
  if (upgrade.price) effect += fmt::format(", {:.0f} USD", *upgrade.price);
  if (upgrade.total) effect += fmt::format(" ({:.0f} with the machine)", *upgrade.total);
  return upgrade.within_budget == false ? effect + "; too dear" : effect;
}

std::string upgrades_table(const BuyReport& report) {
  if (report.upgrades.empty() && report.elasticity.empty()) return "";
  std::string text, idle;
  for (const planner::Upgrade& upgrade : report.upgrades) {
    if (upgrade.fits && upgrade.speedup && *upgrade.speedup < 1.005) {
      idle += (idle.empty() ? "" : "; ") + upgrade.what.substr(0, upgrade.what.find(':'));
      continue;
    }
    text += in_columns("  " + upgrade.what + ": " + effect_text(upgrade)) + "\n    " +
            upgrade.setting + "\n";
  }
  if (!idle.empty()) text += in_columns("  no effect: " + idle) + "\n";
  if (!text.empty()) text = "\n" + in_columns("upgrades of " + report.base) + "\n" + text;
  if (report.elasticity.empty()) return text;
  std::string line = "step time of " + report.base + ", in % for 1 % more of";
  for (const auto& [resource, value] : report.elasticity) {
    line += fmt::format(" {} {:+.2f}", resource, value == 0 ? 0.0 : value);
  }
  return text + in_columns(line) + "\n";
}

/// Memory by phase, checkpoint and SSD wear of the base machine.
std::string base_needs(const BuyReport& report) {
  const auto row = std::ranges::find(report.rows, report.base, &BuyRow::machine);
  if (row == report.rows.end() || !row->phases) return "";
  std::string text =
      "\n" + in_columns("memory of " + report.base) + "\n" + in_columns(phases_table(*row->phases));
  if (row->wear) text += in_columns("SSD " + wear_text(*row->wear)) + "\n";
  return text;
}

std::string verdict_text(const BuyReport& report) {
  std::string text;
  for (const std::string& sentence : report.verdict) text += in_columns(sentence) + "\n";
  return text;
}

/// One line, broken.
std::string line_in_columns(std::string line, std::size_t indent) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::string margin(first + indent, ' ');
  std::string text;
  while (line.size() > kColumns) {
    std::size_t at = line.rfind(' ', kColumns);
    const std::size_t start = line.find_first_not_of(' ');
    if (at == std::string::npos || at <= start) at = line.find(' ', start);
    if (at == std::string::npos) break;
    text += line.substr(0, at) + "\n";
    line = margin + line.substr(at + 1);
  }
  return text + line;
}

}  // namespace

std::string in_columns(const std::string& text, std::size_t indent) {
  std::string all;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    all += line_in_columns(text.substr(start, end - start), indent);
    if (end < text.size()) all += '\n';
    start = end + 1;
  }
  return all;
}

std::string advice_text(const BuyReport& report, double budget) {
  return "\nOn " + planner::dollars(budget) + "\n" + verdict_text(report) + base_needs(report) +
         upgrades_table(report);
}

std::string report_text(const BuyReport& report) {
  return verdict_text(report) + "\n" + rows_table(report) + base_needs(report) +
         upgrades_table(report);
}

}  // namespace sluice::cli
