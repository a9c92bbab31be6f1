// The collector on a real GPU: every kernel and copy of a training session finds its task, inside
// the span that the engine's own events give it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "engine/cuda/runtime/usable.hpp"
#include "engine/training/session.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/runs/run_machine.hpp"
#include "profiler/cupti/attribution.hpp"
#include "profiler/cupti/task_tagging.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "profiler/tuning/measuring_session.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::profiler::cupti {
namespace {

constexpr std::uint64_t kSeed = 11;

/// One collector for the whole process, opened before any CUDA call.
class CuptiCollection : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { opened() = Collector::open(); }
  static void TearDownTestSuite() { opened() = Absence{}; }
  void SetUp() override {
    if (const auto why = engine::cuda::why_unusable(engine::cuda::query_devices())) {
      GTEST_SKIP() << *why;
    }
    if (const auto* absence = std::get_if<Absence>(&opened())) {
      if (absence->reason == AbsenceReason::not_built) GTEST_SKIP() << absence->line;
      FAIL() << absence->line;
    }
  }
  static std::variant<std::unique_ptr<Collector>, Absence>& opened() {
    static std::variant<std::unique_ptr<Collector>, Absence> kept = Absence{};
    return kept;
  }
  static Collector& collector() { return *std::get<std::unique_ptr<Collector>>(opened()); }
};

planner::Job small_job() {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.name = "small";
  shape.family = planner::Family::qwen2;
  shape.layers = 4;
  shape.hidden = 512;
  shape.intermediate = 1408;
  shape.heads = 8;
  shape.kv_heads = 2;
  shape.head_dim = 64;
  shape.vocab = 1024;
  shape.qkv_bias = true;
  job.seq_len = 512;
  job.batch_size = 4;
  job.micro_batch = 1;
  job.loss_chunk = 512;
  return job;
}

bool is_queued(const planner::StepTask& task) {
  return is_device_lane(task.lane) && task.kind != planner::TaskKind::grads;
}

/// A training session with everything streamed from the host.
struct SmallRun {
  explicit SmallRun(Collector& collector, std::int64_t most_steps)
      : graph(planner::build_step_graph(job, planner::uniform_plan(job, planner::UnitPlan{}, 2),
                                        planner::test::RoundCosts(1e9, planner::DeviceKind::cuda))),
        tokens(job.model.vocab, kSeed),
        recorder(graph, {.first = 1, .count = most_steps}),
        tagging(recorder, collector),
        session(
            job, graph, device(), tokens, [](std::int64_t) { return 1e-4; }, kSeed, &tagging) {}

  [[nodiscard]] std::unique_ptr<engine::Device> device() const {
    const engine::ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
    return std::make_unique<engine::CudaDevice>(
        job, engine::CudaDeviceSettings{.arenas = sizes, .capacity = sizes, .threads = 2});
  }

  StepRange run(std::int64_t steps) {
    const StepRange range{.first = session.steps_done() + 1, .count = steps};
    recorder.restart(range);
    session.run_to(session.steps_done() + steps);
    return range;
  }

  planner::Job job = small_job();
  planner::StepGraph graph;
  engine::SyntheticTokens tokens;
  Recorder recorder;
  TaskTagging tagging;
  engine::Session session;
};

TEST_F(CuptiCollection, AllKernelAndCopyTimeOfATrainingRunBelongsToItsTask) {
  SmallRun small(collector(), 8);
  small.run(3);  // Modules load.
  ASSERT_FALSE(collector().restart());
  const StepRange steps = small.run(8);
  const Attribution found = attribute(collector().take());
  std::printf(
      "%zu activities, %.3f ms of tasks, %.4f %% without, %zu duplicates, overhead %.3f ms\n",
      found.activities, to_seconds(found.attributed_time).count() * 1e3,
      100 * found.unattributed_share(), found.duplicates, to_seconds(found.overhead).count() * 1e3);
  EXPECT_EQ(why_unfit(found), std::nullopt);
  EXPECT_EQ(found.dropped, 0u);
  EXPECT_LE(found.unattributed_share(), 0.01);
  for (std::int64_t step = steps.first; step < steps.first + steps.count; ++step) {
    for (std::uint32_t task = 0; task < small.graph.tasks_per_step; ++task) {
      EXPECT_EQ(found.find({step, task}) != nullptr, is_queued(small.graph.tasks[task]))
          << small.graph.graph.tasks()[task].id;
    }
  }
}

TEST_F(CuptiCollection, ATasksActivitiesLieWithinItsEvents) {
  SmallRun small(collector(), 8);
  small.run(3);
  ASSERT_FALSE(collector().restart());
  const StepRange steps = small.run(8);
  const Attribution found = attribute(collector().take());
  // An event's time is a float of milliseconds and counts half microseconds; the two clocks are
  // tied to the CPU's separately, each to some microseconds.
  constexpr Duration kEventClock = std::chrono::microseconds(5);
  constexpr Duration kClocksApart = std::chrono::microseconds(100);
  Duration worst{0}, apart{0};
  for (std::int64_t step = steps.first; step < steps.first + steps.count; ++step) {
    const auto spans = small.recorder.spans(step);
    for (std::uint32_t task = 0; task < small.graph.tasks_per_step; ++task) {
      if (!is_queued(small.graph.tasks[task])) continue;
      const TaskActivity* seen = found.find({step, task});
      ASSERT_NE(seen, nullptr);
      const Instant start = small.session.instant(seen->start);
      const Instant end = small.session.instant(seen->end);
      const Duration longer = (end - start) - (spans[task].end - spans[task].start);
      worst = std::max(worst, longer);
      apart = std::max({apart, spans[task].start - start, end - spans[task].end});
      EXPECT_LE(longer, kEventClock) << small.graph.graph.tasks()[task].id << " step " << step;
    }
  }
  std::printf("longer than its events by %.3f us at most, outside by %.3f us at most\n",
              to_seconds(worst).count() * 1e6, to_seconds(apart).count() * 1e6);
  EXPECT_LE(apart, kClocksApart);
}

TEST_F(CuptiCollection, NothingIsCollectedBetweenTakeAndRestart) {
  SmallRun small(collector(), 4);
  ASSERT_FALSE(collector().restart());
  small.run(3);
  EXPECT_FALSE(attribute(collector().take()).tasks.empty());
  small.run(3);
  ASSERT_FALSE(collector().restart());
  const StepRange steps = small.run(3);
  const Attribution found = attribute(collector().take());
  ASSERT_FALSE(found.tasks.empty());
  EXPECT_EQ(found.tasks.front().key.step, steps.first);
  EXPECT_EQ(found.tasks.back().key.step, steps.first + 2);
  EXPECT_EQ(why_unfit(found), std::nullopt);
}

TEST_F(CuptiCollection, StreamsOfOneTaskShareItAndOtherThreadsHaveNone) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  void* memory = nullptr;
  cudaStream_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 2 * kBytes), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_FALSE(collector().restart());
  collector().begin_calls({3, 5});
  EXPECT_EQ(cudaMemsetAsync(memory, 1, kBytes, first), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(static_cast<char*>(memory) + kBytes, 2, kBytes, second), cudaSuccess);
  std::thread([&] { EXPECT_EQ(cudaMemsetAsync(memory, 3, kBytes, first), cudaSuccess); }).join();
  collector().end_calls();
  const Attribution found = attribute(collector().take());
  ASSERT_EQ(found.tasks.size(), 1u);
  EXPECT_EQ(found.tasks[0].key, (TaskKey{3, 5}));
  EXPECT_EQ(found.tasks[0].activities, 2u);
  ASSERT_EQ(found.unattributed.size(), 1u);
  EXPECT_EQ(found.unattributed[0].count, 1u);
  EXPECT_TRUE(why_unfit(found)) << "a third of the time has no task";
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaFree(memory);
}

TEST_F(CuptiCollection, ASecondProfilerIsToldOfTheFirst) {
  const auto second = Collector::open();
  const auto* absence = std::get_if<Absence>(&second);
  ASSERT_NE(absence, nullptr);
  EXPECT_EQ(absence->reason, AbsenceReason::other_profiler) << absence->line;
  // The first goes on.
  ASSERT_FALSE(collector().restart());
  EXPECT_EQ(collector().take().dropped, 0u);
}

TEST_F(CuptiCollection, AMeasuringSessionCalibratesFromCuptiOrSaysWhyNot) {
  const planner::RunConfig config =
      planner::parse_run({"--model", "bytes-2m", "--machine", "h200", "--seq-len", "256",
                          "--batch-size", "4", "--micro-batch", "1", "--host", "4 GiB"})
          .config;
  const planner::Predictor predictor(planner::to_job(config), planner::to_machine(config), {});
  const planner::PredictedStep step =
      predictor.predict(planner::uniform_plan(predictor.job(), planner::UnitPlan{}, 2));
  MeasuringSession session(predictor, step, 12, &collector());
  const Measurement measured = session.measure(12);
  ASSERT_TRUE(measured.overhead) << measured.refusal;
  std::printf("tracing costs %.2f +- %.2f %% of a step of %.3f ms\n",
              100 * measured.overhead->share, 100 * measured.overhead->deviation,
              1e3 * measured.overhead->untraced.count());
  EXPECT_EQ(measured.untraced.device_times, sim::SpanSource::event);
  EXPECT_EQ(measured.traced.has_value(), measured.refusal.empty()) << measured.refusal;
  EXPECT_EQ(measured.traced.has_value(), measured.overhead->share <= kMostTraceOverhead);
  EXPECT_EQ(measured.to_fit().device_times,
            measured.traced ? sim::SpanSource::cupti : sim::SpanSource::event);
  const auto traced_or_absence = session.run_traced(5);
  ASSERT_TRUE(std::holds_alternative<MeasuredRun>(traced_or_absence));
  const auto& traced = std::get<MeasuredRun>(traced_or_absence);
  EXPECT_EQ(traced.device_times, sim::SpanSource::cupti);
  const auto fit =
      fit_calibration(predictor.job(), predictor.machine().profile, {}, std::span(&traced, 1));
  EXPECT_TRUE(std::any_of(fit.calibration.begin(), fit.calibration.end(), [](const auto& known) {
    return known.second.timing == sim::SpanSource::cupti;
  }));
}

}  // namespace
}  // namespace sluice::profiler::cupti
