#include "planner/buying/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/files/html_text.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

BuyRow build(const std::string& machine, double usd, double seconds) {
  BuyRow row{.machine = machine, .kind = RowKind::build, .fits = true};
  row.buy_usd = usd;
  row.step = std::chrono::duration_cast<Duration>(Seconds(seconds));
  row.days = seconds;
  row.days_low = 0.8 * seconds;
  row.days_high = 1.2 * seconds;
  row.limit = "compute";
  return row;
}

// 1,000 USD at 8 days, 2,000 at 3 (6,000 together, the least), 7,000 at 2.
BuyReport three() {
  BuyReport report;
  report.rows = {build("fast", 7000, 2), build("middle", 2000, 3), build("cheap", 1000, 8)};
  report.base = "middle";
  report.verdict = {"Buy <middle> & be done."};
  return report;
}

TEST(Page, ShowsACheapABalancedAndAFastBuild) {
  const BuyReport report = three();
  const std::vector<ShownBuild> shown = shown_builds(report, {});
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].row->machine, "cheap");
  EXPECT_EQ(shown[1].row->machine, "middle");
  EXPECT_EQ(shown[2].row->machine, "fast");
  EXPECT_EQ(shown[2].heading, "Fast, advised if you buy");  // The base is another.
  BuyRequest request;
  request.budget_usd = 1500;
  EXPECT_EQ(shown_builds(report, request).size(), 1u);  // One build is all three.
}

// 2,300 USD at 2.1 days: within 10 % of the fastest, and more for the money; beside it, a build of
// 1,200 USD gives the most.
TEST(Page, ShowsTheBuildThatIsAdvisedAndWhereItKeepsState) {
  BuyReport report;
  report.rows = {build("fast", 7000, 2), build("near", 2300, 2.1), build("middle", 1200, 3),
                 build("cheap", 1000, 8)};
  report.rows[1].disk_lent = Bytes(300ll << 30);
  report.rows[3].within_days = false;
  report.base = "near";
  const std::vector<ShownBuild> shown = shown_builds(report, {});
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[3].heading, "Between them, advised");
  const std::string page = advice_page(report, {});
  EXPECT_THAT(page, testing::HasSubstr("on its drives: --disk 300GiB"));
  EXPECT_THAT(page, testing::HasSubstr("takes longer than the days asked for"));
}

// Each run saves a rent of 600 USD: 1,200 USD at 4 days a run are back after two runs, 8 days;
// 1,000 USD at 8 days a run after 13 days; 7,000 USD at 2 days a run after 23.
TEST(Page, ShowsTheBuildThatPaysSoonestAndWhatAnIntervalMakesOfARent) {
  BuyReport report;
  report.rows = {build("fast", 7000, 2), build("rent", 1, 3), build("middle", 1200, 4),
                 build("cheap", 1000, 8)};
  BuyRow& rent = report.rows[1];
  rent.kind = RowKind::machine;
  rent.buy_usd.reset();
  rent.rent_usd = 600;
  rent.rent_usd_per_hour = 600 / 72.0;
  const std::vector<ShownBuild> shown = shown_builds(report, {});
  const auto soonest = std::ranges::find(shown, std::string("middle"),
                                         [](const ShownBuild& one) { return one.row->machine; });
  ASSERT_NE(soonest, shown.end());
  EXPECT_THAT(soonest->heading, testing::HasSubstr("pays soonest"));
  EXPECT_THAT(advice_page(report, {}), testing::HasSubstr("600 USD (480 to 720 USD)"));
}

TEST(Page, EscapesWhatHtmlWouldRead) {
  EXPECT_EQ(html_text("<a href=\"x\"> & b"), "&lt;a href=&quot;x&quot;&gt; &amp; b");
  const std::string page = advice_page(three(), {});
  EXPECT_THAT(page, testing::HasSubstr("Buy &lt;middle&gt; &amp; be done."));
  EXPECT_THAT(page, testing::HasSubstr("for 1,000 USD more: 2.67 times as fast"));
}

// Dearer is further right, longer is further up; the interval's bar spans the dot.
TEST(Page, PlotsCostAgainstTime) {
  const std::string plot = cost_plot(three());
  std::size_t dots = 0;
  for (std::size_t at = plot.find("<circle"); at != std::string::npos;
       at = plot.find("<circle", at + 1)) {
    ++dots;
  }
  EXPECT_EQ(dots, 3u);
  EXPECT_THAT(plot, testing::HasSubstr("middle, 2,000 USD, 3.0 days (2.4 to 3.6 days)"));
  EXPECT_EQ(cost_plot({}), "");
}

}  // namespace
}  // namespace sluice::planner
