#include "planner/buying/page.hpp"

#include "planner/buying/advice_text.hpp"
#include "planner/buying/choice.hpp"
#include "planner/files/html_text.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kStyle =
    "body{font:16px/1.45 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1b1b;background:#fff}h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}"
    ".builds{display:flex;flex-wrap:wrap;gap:1rem}.build{flex:1 1 18rem;border:1px solid #bbb;"
    "border-radius:6px;padding:0 1rem 1rem}table{border-collapse:collapse;font-size:.9rem}"
    "td,th{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}"
    "td.n{text-align:right;white-space:nowrap}.s{overflow-x:auto}svg{max-width:100%;height:auto}"
    "p.small{font-size:.85rem;color:#555}";

std::string cell(const std::string& text, bool is_number = false) {
  return (is_number ? "<td class=\"n\">" : "<td>") + html_text(text) + "</td>";
}

std::string or_dash(const std::optional<double>& usd) { return usd ? dollars(*usd) : "-"; }

/// Where the price was read, as text; an address as a link.
std::string source_html(const BuyRow& row, const BuyRequest& request) {
  const auto instance = request.prices.instances.find(row.machine);
  if (instance == request.prices.instances.end()) {
    return html_text(row.price_source.empty() ? request.prices.of(row.machine).source
                                              : row.price_source);
  }
  const auto link = [](const std::string& address, const std::string& text) {
    return "<a href=\"" + html_text(address) + "\">" + text + "</a>";
  };
  const Instance& one = instance->second;
  std::string text = link(one.address, "rent");
  if (!one.specification.empty()) text += ", " + link(one.specification, "specification");
  return text + ", " + html_text(one.date);
}

/// Rent of a run with what the interval of its time makes of it.
std::string rent_range(const BuyRow& row) {
  if (!row.rent_usd || !row.days) return "-";
  const auto rent = [&](double days) { return dollars(*row.rent_usd * days / *row.days); };
  const std::string low = rent(*row.days_low);
  return dollars(*row.rent_usd) + " (" + low.substr(0, low.find(' ')) + " to " +
         rent(*row.days_high) + ")";
}

std::string clouds_html(const BuyReport& report, const BuyRequest& request) {
  std::string rows;
  for (const BuyRow& row : report.rows) {
    if (!row.rent_usd_per_hour) continue;
    std::string host = row.devices > 1 ? "the node's" : "-";
    if (row.rented) {
      host = std::to_string(row.rented->memory.count() >> 30) + " GiB, " +
             std::to_string(row.rented->cores) + " cores";
    } else if (row.phases) {
      host = "ask for " + std::to_string(host_gib(row)) + " GiB";
    }
    std::string time = row.fits ? time_text(row) : row.limit;
    if (!row.fits && row.limit != kNotPlanned) time = "does not fit: " + time;
    rows += "<tr>" + cell(row.machine) + cell(host) +
            cell(decimal(*row.rent_usd_per_hour, 2), true) + cell(time) +
            cell(rent_range(row), true) + "<td>" + source_html(row, request) + "</td></tr>";
  }
  if (rows.empty()) return "<p>The price file has no rents.</p>";
  return "<div class=\"s\"><table><tr><th>rented</th><th>host</th><th>USD an hour</th><th>time of "
         "a run</th><th>a run</th><th>source</th></tr>" +
         rows + "</table></div>";
}

std::string rows_html(const BuyReport& report) {
  std::string rows;
  for (const BuyRow& row : report.rows) {
    std::string what = row.limit;
    if (row.fits)
      what += (row.devices > 1 ? ", busy " : " at ") + decimal(100 * row.limit_share, 0) +
              " % of the step";
    if (row.gpus > row.devices) {
      what += "; uses " + std::to_string(row.devices) + " of " + std::to_string(row.gpus) + " GPUs";
    }
    if (!row.devices_note.empty()) what += ": " + row.devices_note;
    if (!row.fits && !row.remedy.empty()) what += "; " + row.remedy;
    rows += "<tr>" + cell(row.machine) +
            cell(row.fits ? format_seconds(to_seconds(row.step)) : "-", true) +
            cell(row.days ? time_text(row) : "-") + cell(or_dash(row.buy_usd), true) + cell(what) +
            "</tr>";
  }
  return "<div class=\"s\"><table><tr><th>machine</th><th>step</th><th>time</th><th>to buy</th>"
         "<th>what binds</th></tr>" +
         rows + "</table></div>";
}

}  // namespace

std::string advice_page(const BuyReport& report, const BuyRequest& request) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>What to buy or rent</title><style>" +
      std::string(kStyle) + "</style></head><body>\n<h1>What to buy or rent</h1>\n";
  page += "<p class=\"small\">" + html_text(report.question) + "</p>\n";
  for (const std::string& sentence : report.verdict) {
    page += "<p>" + html_text(sentence) + "</p>\n";
  }
  const std::string rented = "<h2>Rented</h2>\n" + clouds_html(report, request) + "\n";
  const BuyRow* rent = row_to_rent(report.rows, request);
  const bool rents = rent != nullptr && rent->machine == report.base;
  if (rents) page += rented;
  const std::vector<ShownBuild> builds = shown_builds(report, request);
  if (!builds.empty()) {
    page += rents ? "<h2>Builds, if you buy</h2>\n" : "<h2>Builds</h2>\n";
    page += "<div class=\"builds\">\n";
    for (const ShownBuild& build : builds) page += build_html(build, report, request);
    page += "</div>\n";
  }
  const std::string plot = cost_plot(report);
  if (!plot.empty()) page += "<h2>Cost against time</h2>\n" + plot + "\n";
  if (!rents) page += rented;
  page +=
      "<h2>All rows</h2>\n" + rows_html(report) +
      "\n<p class=\"small\">Times in brackets are 90 % intervals of predictions. Prices are the "
      "price file's, with what it says that they include, a CPU's with its board, case and power "
      "supply; what it does not name is not in a sum. A resource's share of a step may pass 100 % "
      "together with another's: they work at "
      "the same time. Machines whose parts are not all named have those of the catalogue "
      "(sluice machines show NAME).</p>\n"
      "</body></html>\n";
  return page;
}

}  // namespace sluice::planner
