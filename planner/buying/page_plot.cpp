#include <algorithm>
#include <cmath>

#include "planner/buying/advice_text.hpp"
#include "planner/buying/page.hpp"
#include "planner/files/html_text.hpp"

namespace sluice::planner {
namespace {

/// One machine of the plot.
struct Dot {
  std::string name;
  double usd = 0;
  double days = 0, low = 0, high = 0;
  bool is_rented = false;
  bool is_on_front = false;
};

std::vector<Dot> dots_of(const BuyReport& report) {
  std::vector<Dot> dots;
  for (const BuyRow& row : report.rows) {
    if (!row.fits || !row.days) continue;
    Dot dot{.name = row.machine, .days = *row.days, .low = *row.days_low, .high = *row.days_high};
    if (row.buy_usd) {
      dot.usd = *row.buy_usd;
      dot.is_on_front = row.kind == RowKind::build && !row.is_beaten;
      dots.push_back(dot);
    }
    if (row.rent_usd) {
      dot.usd = *row.rent_usd;
      dot.is_rented = true;
      dots.push_back(dot);
    }
  }
  return dots;
}

/// A logarithmic axis from whole decades to pixels.
struct Axis {
  double low = 0, high = 1;  ///< Decimal logarithms of the ends.
  double from = 0, to = 1;   ///< Pixels of the ends.

  [[nodiscard]] double at(double value) const {
    return from + (std::log10(value) - low) / (high - low) * (to - from);
  }
};

Axis axis_over(double least, double most, double from, double to) {
  Axis axis{.low = std::floor(std::log10(least)),
            .high = std::ceil(std::log10(most)),
            .from = from,
            .to = to};
  if (axis.high <= axis.low) axis.high = axis.low + 1;
  return axis;
}

std::string number(double value) { return decimal(value, 1); }

std::string line(double x1, double y1, double x2, double y2, const char* stroke) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" stroke=\"" + stroke + "\"/>";
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor +
         "\" font-size=\"12\">" + html_text(text) + "</text>";
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (double decade = x.low; decade <= x.high; ++decade) {
    const double at = x.at(std::pow(10, decade));
    svg += line(at, y.from, at, y.to, "#ddd") +
           label(at, y.from + 18, "middle", dollars(std::pow(10, decade)));
  }
  for (double decade = y.low; decade <= y.high; ++decade) {
    const double at = y.at(std::pow(10, decade));
    svg += line(x.from, at, x.to, at, "#ddd") +
           label(x.from - 6, at + 4, "end", days_text(std::pow(10, decade)));
  }
  return svg;
}

}  // namespace

std::string cost_plot(const BuyReport& report) {
  const std::vector<Dot> dots = dots_of(report);
  if (dots.empty()) return "";
  double least = dots[0].usd, most = dots[0].usd, soonest = dots[0].low, latest = dots[0].high;
  for (const Dot& dot : dots) {
    least = std::min(least, dot.usd);
    most = std::max(most, dot.usd);
    soonest = std::min(soonest, dot.low);
    latest = std::max(latest, dot.high);
  }
  const Axis x = axis_over(least, most, 90, 880), y = axis_over(soonest, latest, 420, 20);
  std::string svg =
      "<svg viewBox=\"0 0 940 470\" width=\"940\" role=\"img\" aria-label=\"cost against time\">" +
      grid(x, y);
  for (const Dot& dot : dots) {
    const char* colour = dot.is_rented ? "#b45309" : dot.is_on_front ? "#1d4ed8" : "#9ca3af";
    const double at = x.at(dot.usd);
    svg += line(at, y.at(dot.low), at, y.at(dot.high), colour) + "<circle cx=\"" + number(at) +
           "\" cy=\"" + number(y.at(dot.days)) + "\" r=\"5\" fill=\"" + colour + "\"><title>" +
           html_text(dot.name + ", " + dollars(dot.usd) + ", " + days_text(dot.days) + " (" +
                     days_range(dot.low, dot.high) + ")") +
           "</title></circle>";
  }
  return svg +
         label(
             480, 460, "middle",
             "to buy: blue where no other build is cheaper and faster, else grey; orange: rent of "
             "one run; bars: 90 %") +
         "</svg>";
}

}  // namespace sluice::planner
