// Records as CUPTI's headers lay them out, filled in by hand.
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

#include "profiler/cupti/cuda/parse.hpp"

namespace sluice::profiler::cupti {
namespace {

// The library writes its newest records; what is read must lie where older ones had it.
#if CUPTI_API_VERSION >= 130000
using NewestKernel = CUpti_ActivityKernel10;
using NewestCopy = CUpti_ActivityMemcpy6;
#else
using NewestKernel = CUpti_ActivityKernel9;
using NewestCopy = CUpti_ActivityMemcpy5;
#endif

DeviceInstant at(std::int64_t nanoseconds) {
  return DeviceInstant(std::chrono::nanoseconds(nanoseconds));
}

TEST(Parse, AKernelOfTheNewestLayout) {
  NewestKernel kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 100;
  kernel.end = 250;
  kernel.streamId = 13;
  kernel.correlationId = 77;
  kernel.name = "gemm";
  RecordSet records;
  add_record(&kernel, records);
  ASSERT_EQ(records.activities.size(), 1u);
  const Activity& activity = records.activities[0];
  EXPECT_EQ(activity.kind, ActivityKind::kernel);
  EXPECT_EQ(activity.start, at(100));
  EXPECT_EQ(activity.end, at(250));
  EXPECT_EQ(activity.stream, 13u);
  EXPECT_EQ(activity.correlation, 77u);
  EXPECT_EQ(activity.name, "gemm");

  kernel.name = nullptr;
  add_record(&kernel, records);
  EXPECT_EQ(records.activities[1].name, "");
}

TEST(Parse, CopiesAndFillsHaveBytes) {
  NewestCopy copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.bytes = 4096;
  copy.start = 5;
  copy.end = 9;
  copy.streamId = 3;
  copy.correlationId = 11;
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.bytes = 64;
  fill.start = 20;
  fill.end = 21;
  fill.correlationId = 12;
  RecordSet records;
  add_record(&copy, records);
  add_record(&fill, records);
  ASSERT_EQ(records.activities.size(), 2u);
  EXPECT_EQ(records.activities[0].kind, ActivityKind::copy);
  EXPECT_EQ(records.activities[0].copy, CopyKind::device_to_host);
  EXPECT_EQ(records.activities[0].bytes, 4_KiB);
  EXPECT_EQ(records.activities[0].correlation, 11u);
  EXPECT_EQ(records.activities[0].end, at(9));
  EXPECT_EQ(records.activities[1].kind, ActivityKind::fill);
  EXPECT_EQ(records.activities[1].bytes, 64_B);
  EXPECT_EQ(records.activities[1].correlation, 12u);
}

TEST(Parse, OnlyOurTagsAreTags) {
  CUpti_ActivityExternalCorrelation tag{};
  tag.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  tag.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  tag.correlationId = 5;
  tag.externalId = external_id({3, 9});
  RecordSet records;
  add_record(&tag, records);
  tag.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC;
  add_record(&tag, records);
  ASSERT_EQ(records.tags.size(), 1u);
  EXPECT_EQ(records.tags[0].correlation, 5u);
  EXPECT_EQ(task_of(records.tags[0].id), (TaskKey{3, 9}));
}

TEST(Parse, OverheadIsKeptAndItsDetailsFreed) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.start = 10;
  overhead.end = 30;
  overhead.overheadData = std::malloc(16);  // A leak checker sees whether it is freed.
  RecordSet records;
  add_record(&overhead, records);
  ASSERT_EQ(records.overheads.size(), 1u);
  EXPECT_EQ(records.overheads[0].kind, "buffer flush");
  EXPECT_EQ(records.overheads[0].end - records.overheads[0].start, Duration(20));
}

TEST(Parse, RecordsOfCallsAddNothing) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  RecordSet records;
  add_record(&call, records);
  EXPECT_TRUE(records.activities.empty());
  EXPECT_TRUE(records.tags.empty());
  EXPECT_TRUE(records.overheads.empty());
}

}  // namespace
}  // namespace sluice::profiler::cupti
