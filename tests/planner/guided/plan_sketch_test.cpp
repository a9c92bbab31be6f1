#include "planner/guided/plan_sketch.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::tiny_job;

/// Eight blocks whose records are, in the host's: h for all of one, i for an input; in the
/// device's: d.
std::string records_in(PlanSketch::Order order) {
  Job job = tiny_job();
  job.model.layers = 8;
  PlanSketch sketch;
  const auto keep = [](Keep what, Tier where) {
    UnitPlan unit;
    unit.keep = what;
    unit.keep_tier = where;
    return unit;
  };
  sketch.records = {{keep(Keep::input, Tier::host), 2},
                    {keep(Keep::all, Tier::host), 4},
                    {keep(Keep::all, Tier::hbm), 2}};
  sketch.residencies = {{UnitPlan{}, 8}};
  sketch.record_bytes = {Bytes(1), Bytes(4), Bytes(16)};
  sketch.record_order = order;
  sketch.rest = uniform_plan(job, {}, 1);
  std::string text;
  const Plan plan = to_plan(sketch);
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    const UnitPlan& block = plan.units[unit];
    text += block.keep_tier == Tier::hbm ? 'd' : block.keep == Keep::all ? 'h' : 'i';
  }
  return text;
}

TEST(PlanSketch, OrdersOfTheListAreTheLists) {
  EXPECT_EQ(records_in(PlanSketch::Order::grouped), "iihhhhdd");
  EXPECT_EQ(records_in(PlanSketch::Order::reversed), "ddhhhhii");
}

TEST(PlanSketch, DeviceFirstPutsWhatStaysBeforeWhatLeaves) {
  const std::string order = records_in(PlanSketch::Order::device_first);
  EXPECT_EQ(order.substr(0, 2), "dd");
  EXPECT_EQ(order.find('d', 2), std::string::npos);
  EXPECT_EQ(order.find("ii"), std::string::npos);
}

/// Eight bytes are due a block, and a record of sixteen is never followed by another at once.
TEST(PlanSketch, LevelLetsAsMuchLeaveAsIsDue) {
  const std::string order = records_in(PlanSketch::Order::level);
  EXPECT_EQ(order.find("hh"), std::string::npos) << order;
  double left = 0;
  for (std::size_t block = 0; block < order.size(); ++block) {
    left += order[block] == 'h' ? 16 : (order[block] == 'i' ? 1 : 0);
    const double due = 66.0 * (static_cast<double>(block) + 1) / 8;
    EXPECT_NEAR(left, due, 8.5) << order;
  }
}

}  // namespace
}  // namespace sluice::planner
