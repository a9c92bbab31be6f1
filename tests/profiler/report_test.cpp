#include "profiler/report/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sluice::profiler {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto first = text.find(begin) + begin.size();
  return text.substr(first, text.find(end, first) - first);
}

ReportData small_report() {
  ReportData report;
  report.title = "run </script><script>alert(1)</script> {{script}}";
  report.predicted = Seconds(0.5);
  report.measured = Seconds(0.51);
  const auto at = [](int ms) { return Instant(std::chrono::milliseconds(ms)); };
  report.predicted_trace.spans = {{"s2/grads", "compute", "grads", at(100), at(100), Bytes(0)},
                                  {"s3/fwd", "compute", "forward", at(100), at(200), Bytes(0)},
                                  {"s3/grads", "compute", "grads", at(300), at(300), Bytes(0)}};
  report.critical = {"s3/fwd"};
  report.train_loss = {{1, 5.5}, {2, 5.0}};
  report.environment = {{"cpu", "A & B \"quoted\""}, {"bytes", std::string("\xff\xfe", 2)}};
  return report;
}

nlohmann::json data_of(const std::string& page) {
  return nlohmann::json::parse(
      between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

TEST(Report, TextCannotEndTheScriptItLiesIn) {
  const std::string page = report_html(small_report());
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(data_of(page)["title"], small_report().title);
}

TEST(Report, RefersToNothingOutsideItself) {
  const std::string page = report_html(small_report());
  for (const char* reference : {"src=", "href=", "url(", "@import", "fetch(", "https://"}) {
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  }
}

TEST(Report, AlignsSpansAtTheEndOfTheSecondStepsGradients) {
  const auto data = data_of(report_html(small_report()));
  const auto span = data["timeline"]["predicted"][0];
  EXPECT_DOUBLE_EQ(span[2], 0.0);
  EXPECT_DOUBLE_EQ(span[3], 0.1);
  EXPECT_EQ(span[4], "s3/fwd");
  EXPECT_EQ(span[6], 1) << "on the critical path";
  EXPECT_DOUBLE_EQ(data["timeline"]["period_s"], 0.2);
}

TEST(Report, EmptyRunStillMakesAPage) {
  const std::string page = report_html({});
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_TRUE(data_of(page)["memory"].empty());
}

}  // namespace
}  // namespace sluice::profiler
