// Advice on one page to read: builds, clouds and a plot of cost against time.
#pragma once

#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// The advice as one HTML page that loads nothing else: the verdict; up to five builds (cheap,
/// balanced, fast, paying soonest, advised) with parts, prices, watts, time, break-even, what binds
/// and what to add next; a plot of cost against time with intervals; rented machines beside them;
/// all rows.
[[nodiscard]] std::string advice_page(const BuyReport& report, const BuyRequest& request);

/// SVG of cost against time on logarithmic axes: of machines to buy their price, of rented ones the
/// rent of a run, with the 90 % interval of the time. Empty where no row has a cost.
[[nodiscard]] std::string cost_plot(const BuyReport& report);

/// A build of the page with its heading ("Cheap").
struct ShownBuild {
  std::string heading;
  const BuyRow* row = nullptr;
};
/// The cheapest build that fits, the one with the least price times step within the limits, the
/// fastest within them, the one that pays soonest, and the one that the verdict names to be bought,
/// whose heading says so;
/// each row once.
[[nodiscard]] std::vector<ShownBuild> shown_builds(const BuyReport& report,
                                                   const BuyRequest& request);
/// HTML of one of the builds.
[[nodiscard]] std::string build_html(const ShownBuild& build, const BuyReport& report,
                                     const BuyRequest& request);

}  // namespace sluice::planner
