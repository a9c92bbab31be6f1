// `sluice buy RUN`: machines ranked for a job, upgrades of one, and what its step depends on.
#include "planner/buy.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/parse_run.hpp"
#include "planner/units_text.hpp"
#include "sim/error.hpp"

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

std::optional<double> number(const planner::RunArguments& request, const char* flag) {
  const auto text = request.value(flag);
  if (!text) return std::nullopt;
  const double value = planner::parse_number(*text, flag);
  if (value <= 0) throw BadRequest(std::string(flag) + ": must be above 0");
  return value;
}

/// "10G", "10B" (billion), "1.5T", "2e9".
std::optional<double> token_count(const planner::RunArguments& request) {
  auto text = request.value("--tokens");
  if (!text || text->empty()) return std::nullopt;
  constexpr std::pair<char, double> kFactors[] = {
      {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}, {'T', 1e12}};
  double factor = 1;
  for (const auto& [letter, value] : kFactors) {
    if (text->back() == letter) factor = value;
  }
  if (factor != 1) text->pop_back();
  const double count = planner::parse_number(*text, "--tokens") * factor;
  if (count <= 0) throw BadRequest("--tokens: must be above 0");
  return count;
}

std::string or_dash(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string rows_table(const BuyReport& report, planner::Payment payment) {
  std::string text =
      fmt::format("{:<20} {:>10} {:>10} {:>8} {:>10} {:>10}  {}\n", "machine", "step", "tokens/s",
                  "days", payment == planner::Payment::rent ? "USD/hour" : "USD", "cost", "limit");
  for (const BuyRow& row : report.rows) {
    std::string limit = row.limit;
    if (row.within_days == false) limit += ", too slow";
    if (row.within_budget == false) limit += ", too dear";
    text += fmt::format("{:<20} {:>10} {:>10} {:>8} {:>10} {:>10}  {}\n", row.machine,
                        row.fits ? planner::format_seconds(to_seconds(row.step)) : "does not",
                        row.fits ? fmt::format("{:.0f}", row.tokens_per_s) : "fit",
                        or_dash(row.days, 1), or_dash(row.price, 2), or_dash(row.cost, 0), limit);
  }
  return text;
}

std::string base_table(const BuyReport& report) {
  std::string text = "\nupgrades of " + report.base + "\n";
  for (const planner::Upgrade& upgrade : report.upgrades) {
    text += fmt::format(
        "  {:<58} {}\n", upgrade.what,
        !upgrade.fits ? "still does not fit"
        : !upgrade.speedup
            ? "fits, " + planner::format_seconds(to_seconds(upgrade.step))
            : fmt::format("{} ({:.2f} times as fast)",
                          planner::format_seconds(to_seconds(upgrade.step)), *upgrade.speedup));
  }
  if (report.elasticity.empty()) return text;
  text += "step time of " + report.base + ", in % for 1 % more of\n ";
  for (const auto& [resource, value] : report.elasticity) {
    text += fmt::format(" {} {:+.2f}", resource, value == 0 ? 0.0 : value);
  }
  return text + "\n";
}

}  // namespace

int run_buy(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments asked = parse_run(
      arguments, "sluice buy RUN [flags]",
      {{"--machines", Takes::value, "names, separated by commas (the whole catalogue)"},
       {"--tokens", Takes::value, "to train on, such as 10B (billion)"},
       {"--days", Takes::value, "to train in"},
       {"--budget", Takes::value, "US dollars"},
       {"--prices", Takes::value, "YAML or JSON file of dated prices; none is ever guessed"},
       {"--rent", Takes::nothing, "price by the hour"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/buy.schema.json)"}});
  BuyRequest request;
  if (const auto names = asked.value("--machines")) request.machines = split(*names, "--machines");
  request.tokens = token_count(asked);
  request.days = number(asked, "--days");
  request.budget_usd = number(asked, "--budget");
  if (const auto file = asked.value("--prices")) request.prices = planner::read_prices(*file);
  if (asked.has("--rent")) request.payment = planner::Payment::rent;
  const BuyReport report = planner::buy(asked.config, request);
  const std::string text = asked.has("--json")
                               ? to_json_text(report)
                               : rows_table(report, request.payment) + base_table(report);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace sluice::cli
