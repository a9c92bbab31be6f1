#include "profiler/tuning/sweep.hpp"

#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

SweepPoint swept(std::int64_t value, double predicted, double waits, bool fits = true) {
  SweepPoint result;
  result.value = value;
  result.predicted = Seconds(predicted);
  result.waits = Seconds(waits);
  result.fits = fits;
  return result;
}

SweepCurve concluded(std::vector<SweepPoint> points) {
  SweepCurve curve;
  curve.field = "prefetch_depth";
  curve.stall = planner::Stall::weights;
  curve.points = std::move(points);
  conclude(curve);
  return curve;
}

TEST(SweepCurve, KneeIsTheFirstAsGoodAsTheBest) {
  const SweepCurve curve =
      concluded({swept(0, 2, 1), swept(1, 1.005, 0.002), swept(2, 1, 0), swept(3, 1.3, 0)});
  ASSERT_TRUE(curve.knee);
  EXPECT_EQ(curve.points[*curve.knee].value, 1);
  EXPECT_NE(curve.why.find("nothing left"), std::string::npos) << curve.why;
}

TEST(SweepCurve, ALinkThatIsFullIsNamed) {
  const SweepCurve curve = concluded({swept(0, 2, 1.2), swept(1, 1.99, 1.2)});
  EXPECT_EQ(curve.points[curve.knee.value()].value, 0);
  EXPECT_NE(curve.why.find("for weights"), std::string::npos) << curve.why;
  EXPECT_NE(curve.why.find("full"), std::string::npos) << curve.why;
}

TEST(SweepCurve, WhatDoesNotFitIsNoKnee) {
  const SweepCurve curve = concluded({swept(0, 2, 1), swept(1, 1.5, 0.5), swept(2, 1, 0, false)});
  EXPECT_EQ(curve.points[curve.knee.value()].value, 1);
  EXPECT_EQ(curve.why, "2 does not fit");
  const SweepCurve none = concluded({swept(0, 2, 1, false)});
  EXPECT_FALSE(none.knee);
  EXPECT_EQ(none.why, "no value fits");
}

TEST(SweepCurve, WithoutPointsThePlanHasNoUse) {
  const SweepCurve curve = concluded({});
  EXPECT_FALSE(curve.knee);
  EXPECT_NE(curve.why.find("no use"), std::string::npos);
}

TEST(ParseSweep, KnowsItsFieldsAndNamesTheNearest) {
  EXPECT_EQ(parse_sweep("prefetch_depth,threads"),
            (std::vector<std::string>{"prefetch_depth", "threads"}));
  EXPECT_THROW(parse_sweep(""), BadRequest);
  try {
    static_cast<void>(parse_sweep("weight_bufers"));
    FAIL();
  } catch (const BadRequest& error) {
    EXPECT_NE(std::string(error.what()).find("\"weight_buffers\""), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sluice::profiler
