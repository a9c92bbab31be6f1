// A run of the host backend under a collector that counts: every call for a task is tagged with it.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "engine/host/host_device.hpp"
#include "engine/training/session.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/layout/laid_out.hpp"
#include "profiler/cupti/task_tagging.hpp"
#include "profiler/traces/recorder.hpp"
#include "tests/profiler/small_machine.hpp"

namespace sluice::profiler::cupti {
namespace {

/// Keeps the tasks that were begun, and whether their calls nested.
class CountingCollector final : public Collector {
 public:
  [[nodiscard]] std::optional<Absence> restart() override { return std::nullopt; }
  [[nodiscard]] RecordSet take() override { return {}; }
  void begin_calls(TaskKey key) noexcept override {
    const std::lock_guard lock(mutex_);
    if (open()++ != 0) nested = true;
    seen.insert(key);
    ++begun;
  }
  void end_calls() noexcept override {
    const std::lock_guard lock(mutex_);
    if (--open() != 0) nested = true;
    ++ended;
  }
  std::set<TaskKey> seen;
  std::size_t begun = 0, ended = 0;
  bool nested = false;

 private:
  /// Open calls of this thread.
  static int& open() {
    thread_local int count = 0;
    return count;
  }
  std::mutex mutex_;
};

TEST(TaskTagging, EveryTaskOfEveryStepIsBegunOnceAndStillRecorded) {
  const planner::Job job = profiler::test::small_job();
  const planner::StepGraph graph =
      planner::build_step_graph(job, profiler::test::small_plan(job, 2, 2),
                                planner::ProfileCostModel(profiler::test::small_machine(), {}));
  const engine::ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  const engine::LinkPace fast{BytesPerSecond(1e10), Seconds(0)};
  engine::SyntheticTokens tokens(job.model.vocab, 1);
  Recorder recorder(graph, {.first = 1, .count = 3});
  CountingCollector collector;
  TaskTagging tagging(recorder, collector);
  engine::Session session(
      job, graph,
      std::make_unique<engine::HostDevice>(
          job,
          engine::HostDeviceSettings{
              .arenas = sizes, .capacity = sizes, .h2d = fast, .d2h = fast, .threads = 1}),
      tokens, [](std::int64_t) { return 1e-3; }, 1, &tagging);
  session.run_to(3);
  EXPECT_EQ(collector.seen.size(), 3 * graph.tasks_per_step);
  EXPECT_EQ(collector.begun, collector.seen.size());
  EXPECT_EQ(collector.ended, collector.begun);
  EXPECT_FALSE(collector.nested);
  EXPECT_EQ(*collector.seen.begin(), (TaskKey{1, 0}));
  for (std::int64_t step = 1; step <= 3; ++step) EXPECT_TRUE(recorder.has(step));
}

}  // namespace
}  // namespace sluice::profiler::cupti
