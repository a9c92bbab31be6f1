#include <algorithm>

#include "planner/buying/advice_text.hpp"
#include "planner/buying/break_even.hpp"
#include "planner/buying/choice.hpp"
#include "planner/buying/page.hpp"
#include "planner/catalogue/several_gpus.hpp"
#include "planner/files/html_text.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

void add_part(std::string& rows, const std::string& part, std::int64_t count,
              const BuyRequest& request) {
  const auto usd = request.prices.buy(part, count);
  const std::string times = count > 1 ? std::to_string(count) + " x " : "";
  const auto known = request.prices.parts.find(part);
  std::string source;
  if (known != request.prices.parts.end()) {
    source = known->second.source + (known->second.source.empty() ? "" : ", ") + known->second.date;
  }
  std::string size;
  if (part.starts_with("ssd ")) size = ", " + format_bytes(find_ssd(part.substr(4)).size);
  rows += "<tr><td>" + html_text(times + part + size) + "</td><td class=\"n\">" +
          (usd ? dollars(*usd) : "-") + "</td><td>" + html_text(source) + "</td></tr>";
}

std::string parts_html(const BuyRow& row, const BuyRequest& request) {
  const auto machine = find_counted_parts(row.machine);
  if (!machine) return "";
  const Composition* parts = &machine->parts;
  const std::int64_t sockets = sockets_of(find_cpu(parts->cpu), machine->gpus);
  std::string rows;
  add_part(rows, "gpu " + parts->gpu, machine->gpus, request);
  add_part(rows, "cpu " + parts->cpu, sockets, request);
  add_part(rows, module_text(parts->ram), sockets * parts->ram.count, request);
  add_part(rows, "ssd " + parts->ssd.kind, parts->ssd.count, request);
  if (row.buy_usd) {
    rows += "<tr><th>together</th><td class=\"n\">" + dollars(*row.buy_usd) + "</td></tr>";
  }
  return "<table>" + rows + "</table>";
}

std::string pays_text(const BuyRow& row, const BuyReport& report, const BuyRequest& request) {
  const BuyRow* rent = cheapest_to_rent(report.rows, request);
  if (rent == nullptr)
    return "not compared: nothing to rent fits with the memory that it comes with";
  const BreakEven pays = break_even(row, *rent, request);
  if (!pays.months) return "never, against " + rent->machine;
  return "after " + months_text(pays, request) + ", against " + rent->machine +
         (pays.is_stated ? "" : ", without a pause");
}

/// What to add next: the best order of the machine that was explained; of others the next build of
/// the front.
std::string next_text(const BuyRow& row, const BuyReport& report) {
  if (row.machine == report.base) {
    for (const Upgrade& one : report.upgrades) {
      constexpr double kWorth = 1.03;
      if (!one.fits || !one.speedup || *one.speedup < kWorth || one.within_budget == false)
        continue;
      return one.what + ": " + decimal(*one.speedup, 2) + " times as fast" +
             (one.price ? " for " + dollars(*one.price) : "");
    }
    if (!report.upgrades.empty()) return "nothing that was tried is worth 3 % of the step";
  }
  const BuyRow* next = nullptr;
  for (const BuyRow& other : report.rows) {
    const bool is_faster = other.kind == RowKind::build && other.fits && !other.is_beaten &&
                           other.step < row.step && other.buy_usd;
    if (is_faster && (next == nullptr || *other.buy_usd < *next->buy_usd)) next = &other;
  }
  if (next == nullptr || !row.buy_usd) return "no build found is faster";
  const auto here = find_counted_parts(row.machine), there = find_counted_parts(next->machine);
  const bool is_other = here && there && here->parts.gpu != there->parts.gpu;
  return (is_other ? "nothing to this one; instead of it, " : "") + next->machine + " for " +
         dollars(*next->buy_usd - *row.buy_usd) +
         " more: " + decimal(to_seconds(row.step) / to_seconds(next->step), 2) + " times as fast";
}

std::string watts_text(const BuyRow& row) {
  if (!row.run.watts) return "not known";
  return decimal(row.run.watts->low, 0) + " to " + decimal(row.run.watts->high, 0) +
         " of GPU and CPU, by a rule; board, fans and the supply's losses come on top";
}

}  // namespace

std::vector<ShownBuild> shown_builds(const BuyReport& report, const BuyRequest& request) {
  std::vector<BuyRow> within;
  for (const BuyRow& row : report.rows) {
    const bool is_dear = request.budget_usd && (!row.buy_usd || *row.buy_usd > *request.budget_usd);
    if (!is_dear && row.within_days != false) within.push_back(row);
  }
  const BuyRow* fast = nullptr;
  for (const BuyRow& row : within) {
    const bool counts = row.fits && row.buy_usd && row.engine != EngineOnGpu::none && !row.owned;
    if (counts && (fast == nullptr || row.step < fast->step)) fast = &row;
  }
  std::vector<ShownBuild> shown;
  const auto add = [&](const char* heading, const BuyRow* row) {
    if (row == nullptr || !row->buy_usd) return;
    const auto own = std::ranges::find(report.rows, row->machine, &BuyRow::machine);
    const bool is_shown =
        std::ranges::any_of(shown, [&](const ShownBuild& one) { return one.row == &*own; });
    if (!is_shown) shown.push_back({.heading = heading, .row = &*own});
  };
  add("Cheap", cheapest_to_buy(report.rows, request));
  add("Balanced", best_for_the_money(within, request));
  add("Fast", fast);
  // The verdict's machines to buy are among them, whatever makes them the best.
  if (const BuyRow* rent = cheapest_to_rent(report.rows, request)) {
    if (const BuyRow* soonest = soonest_to_pay(report.rows, request, *rent)) {
      const auto same = std::ranges::find_if(
          shown, [soonest](const ShownBuild& one) { return one.row == soonest; });
      if (same != shown.end()) {
        same->heading += ", pays soonest";
      } else {
        add("Pays soonest", soonest);
      }
    }
  }
  const BuyRow* best = best_to_buy(report.rows, request, true);
  if (best == nullptr || !best->buy_usd) return shown;
  const char* advised = best->machine == report.base ? "advised" : "advised if you buy";
  add("Between them", best);
  for (ShownBuild& one : shown) {
    if (one.row->machine == best->machine) one.heading += std::string(", ") + advised;
  }
  return shown;
}

std::string build_html(const ShownBuild& build, const BuyReport& report,
                       const BuyRequest& request) {
  const BuyRow& row = *build.row;
  std::string html =
      "<div class=\"build\"><h3>" + build.heading + "</h3><p>" + html_text(row.machine) + "</p>";
  html += parts_html(row, request) + "<table>";
  const auto line = [&](const char* name, const std::string& text) {
    html += std::string("<tr><th>") + name + "</th><td>" + html_text(text) + "</td></tr>";
  };
  line("time of a run", time_text(row));
  line("watts", watts_text(row));
  line("pays", pays_text(row, report, request));
  if (row.disk_lent) {
    line("state",
         "in part on its drives: --disk " + std::to_string(row.disk_lent->count() >> 30) + "GiB");
  }
  line("what binds", row.limit + (row.devices > 1 ? ", busy " : " at ") +
                         decimal(100 * row.limit_share, 0) + " % of the step" +
                         (row.next_limit.empty() ? "" : ", next " + row.next_limit));
  line("add next", next_text(row, report));
  if (row.within_budget == false) line("mind", "beyond the budget");
  if (row.within_days == false) line("mind", "takes longer than the days asked for");
  if (row.engine == EngineOnGpu::never_run) line("mind", "Sluice has never run on this GPU");
  return html + "</table></div>\n";
}

}  // namespace sluice::planner
