#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "profiler/cupti/attribution.hpp"
#include "tests/profiler/cupti/cupti_records.hpp"

namespace sluice::profiler::cupti::test {
namespace {

TEST(TaskKey, EveryTaskOfEveryStepHasAnIdOfItsOwn) {
  EXPECT_EQ(external_id({1, 0}), std::uint64_t{1} << 20);
  EXPECT_EQ(external_id({3, 5}), (std::uint64_t{3} << 20) + 5);
  for (const TaskKey key : {TaskKey{1, 0}, TaskKey{1, kMostTasks - 1}, TaskKey{2, 0},
                            TaskKey{std::int64_t{1} << 40, 77}}) {
    EXPECT_EQ(task_of(external_id(key)), key);
  }
  EXPECT_NE(external_id({1, kMostTasks - 1}), external_id({2, 0}));
  EXPECT_THROW((void)external_id({1, kMostTasks}), std::logic_error);
  EXPECT_THROW((void)external_id({0, 0}), std::logic_error);
  EXPECT_EQ(task_of(0), std::nullopt);
  EXPECT_EQ(task_of(kMostTasks - 1), std::nullopt);
}

TEST(Attribution, NothingIsNothingAndUnfit) {
  const Attribution found = attribute({});
  EXPECT_TRUE(found.tasks.empty());
  EXPECT_EQ(found.unattributed_share(), 0);
  EXPECT_EQ(why_unfit(found), "CUPTI saw no kernel and no copy");
}

TEST(Attribution, ATasksTimeIsTheUnionOfItsKernelsAndItsGapsAreTheRest) {
  RecordSet records = on_one_clock();
  // Two kernels with 5 us between them.
  records.activities = {kernel(1, 10, 30), kernel(2, 35, 50)};
  records.tags = {tag(1, {1, 4}), tag(2, {1, 4})};
  const Attribution found = attribute(records);
  ASSERT_EQ(found.tasks.size(), 1u);
  const TaskActivity& task = found.tasks.front();
  EXPECT_EQ(task.key, (TaskKey{1, 4}));
  EXPECT_EQ(task.busy, us(35));
  EXPECT_EQ(task.kernel, us(35));
  EXPECT_EQ(task.gaps, us(5));
  EXPECT_EQ(task.start, host(10));
  EXPECT_EQ(task.end, host(50));
  EXPECT_EQ(task.activities, 2u);
  EXPECT_EQ(why_unfit(found), std::nullopt);
}

TEST(Attribution, KernelsOfASideStreamBelongToTheTaskAndOverlapOnce) {
  RecordSet records = on_one_clock();
  // 20 us on the main stream; 10 to 40 on another, 10 of them beside it: busy 0 to 40.
  records.activities = {kernel(1, 0, 20, 7), kernel(2, 10, 40, 13), kernel(3, 12, 15, 14)};
  records.tags = {tag(1, {2, 0}), tag(2, {2, 0}), tag(3, {2, 0})};
  const Attribution found = attribute(records);
  ASSERT_EQ(found.tasks.size(), 1u);
  EXPECT_EQ(found.tasks[0].busy, us(40));
  EXPECT_EQ(found.tasks[0].kernel, us(20 + 30 + 3));
  EXPECT_EQ(found.tasks[0].gaps, us(0));
  EXPECT_EQ(found.attributed_time, us(53));
}

TEST(Attribution, TasksOfOneStreamAndOfSeveralStepsStayApart) {
  RecordSet records = on_one_clock();
  records.activities = {kernel(1, 0, 10), kernel(2, 10, 30), kernel(3, 30, 31), copy(4, 0, 50)};
  records.tags = {tag(1, {1, 1}), tag(2, {1, 2}), tag(3, {2, 1}), tag(4, {1, 0})};
  const Attribution found = attribute(records);
  ASSERT_EQ(found.tasks.size(), 4u);
  EXPECT_TRUE(
      std::is_sorted(found.tasks.begin(), found.tasks.end(),
                     [](const TaskActivity& a, const TaskActivity& b) { return a.key < b.key; }));
  ASSERT_NE(found.find({1, 0}), nullptr);
  EXPECT_EQ(found.find({1, 0})->copy, us(50));
  EXPECT_EQ(found.find({1, 2})->kernel, us(20));
  EXPECT_EQ(found.find({2, 1})->kernel, us(1));
  EXPECT_EQ(found.find({2, 0}), nullptr);
  EXPECT_EQ(found.find({3, 0}), nullptr);
}

TEST(Attribution, DoesNotDependOnTheOrderOfRecords) {
  RecordSet records = on_one_clock();
  for (CorrelationId i = 1; i <= 60; ++i) {
    records.activities.push_back(
        kernel(i, std::int64_t{10} * i, std::int64_t{10} * i + 7, 7 + i % 3));
    records.tags.push_back(tag(i, {1 + i / 30, i % 5}));
  }
  const Attribution expected = attribute(records);
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(records.activities.begin(), records.activities.end(), random);
    std::shuffle(records.tags.begin(), records.tags.end(), random);
    const Attribution found = attribute(records);
    ASSERT_EQ(found.tasks.size(), expected.tasks.size());
    for (std::size_t i = 0; i < found.tasks.size(); ++i) {
      EXPECT_EQ(found.tasks[i].key, expected.tasks[i].key);
      EXPECT_EQ(found.tasks[i].busy, expected.tasks[i].busy);
      EXPECT_EQ(found.tasks[i].start, expected.tasks[i].start);
      EXPECT_EQ(found.tasks[i].gaps, expected.tasks[i].gaps);
    }
  }
}

TEST(Attribution, ARecordGivenTwiceCountsOnce) {
  RecordSet records = on_one_clock();
  records.activities = {kernel(1, 0, 10), kernel(1, 0, 10), kernel(1, 10, 20)};
  // The call's record comes from runtime and driver: the same tag twice is no contradiction.
  records.tags = {tag(1, {1, 0}), tag(1, {1, 0})};
  const Attribution found = attribute(records);
  EXPECT_EQ(found.duplicates, 1u);
  EXPECT_EQ(found.activities, 2u);
  EXPECT_EQ(found.find({1, 0})->kernel, us(20));
  EXPECT_EQ(found.ambiguous, 0u);
  EXPECT_EQ(why_unfit(found), std::nullopt);
}

TEST(Attribution, TimeWithoutATaskIsRefusedAboveOnePercentByNameAndNumbers) {
  RecordSet records = on_one_clock();
  records.tags = {tag(1, {1, 0})};
  records.activities = {kernel(1, 0, 990), kernel(2, 990, 1000, 7, "stray")};
  Attribution found = attribute(records);
  EXPECT_DOUBLE_EQ(found.unattributed_share(), 0.01);
  EXPECT_EQ(why_unfit(found), std::nullopt);

  records.activities.push_back(kernel(3, 1000, 1002, 7, "other"));
  records.activities.push_back(kernel(4, 1002, 1004, 7, "stray"));
  found = attribute(records);
  ASSERT_EQ(found.unattributed.size(), 2u);
  EXPECT_EQ(found.unattributed[0].name, "stray");
  EXPECT_EQ(found.unattributed[0].time, us(12));
  EXPECT_EQ(found.unattributed[0].count, 2u);
  // 14 of 1004 us.
  const auto why = why_unfit(found);
  ASSERT_TRUE(why);
  EXPECT_TRUE(contains(*why, "1.39 %"));
  EXPECT_TRUE(contains(*why, "0.014 of 1.004 ms"));
  EXPECT_TRUE(contains(*why, "stray"));
  EXPECT_EQ(why->find('\n'), std::string::npos);
}

TEST(Attribution, TagsOfNoTaskAndOfTwoTasksAttributeNothing) {
  RecordSet records = on_one_clock();
  records.activities = {kernel(1, 0, 10), copy(2, 0, 10)};
  records.tags = {{1, 12}, tag(2, {1, 1}), tag(2, {1, 2})};
  const Attribution found = attribute(records);
  EXPECT_TRUE(found.tasks.empty());
  EXPECT_EQ(found.ambiguous, 1u);
  EXPECT_EQ(found.unattributed_time, us(20));
  EXPECT_EQ(found.unattributed_share(), 1);
}

TEST(Attribution, DroppedUnreadAndUntimedRecordsAreRefusedWithTheirNumber) {
  RecordSet whole = on_one_clock();
  whole.activities = {kernel(1, 0, 10)};
  whole.tags = {tag(1, {1, 0})};
  ASSERT_EQ(why_unfit(attribute(whole)), std::nullopt);

  RecordSet records = whole;
  records.dropped = 12;
  EXPECT_TRUE(contains(why_unfit(attribute(records)).value_or(""), "dropped 12 records"));
  records = whole;
  records.unread = 3;
  EXPECT_TRUE(contains(why_unfit(attribute(records)).value_or(""), "3 CUPTI records"));
  records = whole;
  records.activities.push_back(kernel(1, 40, 30));  // Never finished.
  Activity unknown = kernel(1, 0, 0);
  unknown.start = unknown.end = DeviceInstant{};
  records.activities.push_back(unknown);
  const Attribution found = attribute(records);
  EXPECT_EQ(found.untimed, 2u);
  EXPECT_EQ(found.find({1, 0})->kernel, us(10));
  EXPECT_TRUE(contains(why_unfit(found).value_or(""), "2 of 3"));
}

TEST(Attribution, AnActivityOfNoLengthCountsAndTakesNoTime) {
  RecordSet records = on_one_clock();
  records.activities = {kernel(1, 5, 5), kernel(2, 9, 9)};
  records.tags = {tag(1, {1, 0})};
  const Attribution found = attribute(records);
  EXPECT_EQ(found.find({1, 0})->activities, 1u);
  EXPECT_EQ(found.find({1, 0})->busy, us(0));
  EXPECT_EQ(found.unattributed_share(), 0);
  EXPECT_EQ(why_unfit(found), std::nullopt);
}

TEST(Attribution, SpansLieOnTheHostsClockAlsoWhereTheDevicesRunsFast) {
  RecordSet records;
  // The device counts 1.0002 s in a host second, and its zero is elsewhere.
  records.begin = {host(0), at(500)};
  records.end = {host(1'000'000), at(1'000'700)};
  records.activities = {kernel(1, 500'600, 1'000'700)};
  records.tags = {tag(1, {1, 0})};
  const Attribution found = attribute(records);
  EXPECT_EQ(found.tasks[0].start, host(500'000));
  EXPECT_EQ(found.tasks[0].end, host(1'000'000));
  EXPECT_EQ(why_unfit(found), std::nullopt);

  // A clock that was set while it was read.
  records.end.device = at(1'100'500);
  EXPECT_TRUE(contains(why_unfit(attribute(records)).value_or(""), "1.100000"));
}

TEST(Attribution, OverheadAddsUp) {
  RecordSet records = on_one_clock();
  records.overheads = {{"buffer flush", at(0), at(3)}, {"resources", at(5), at(9)}};
  EXPECT_EQ(attribute(records).overhead, us(7));
}

}  // namespace
}  // namespace sluice::profiler::cupti::test
