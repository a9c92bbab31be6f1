#include "profiler/probe/cuda/block_passes.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

#include "profiler/probe/cuda/block_step.hpp"

namespace sluice::profiler {
namespace {

/// Random numbers of which weights are repetitions.
constexpr std::int64_t kNormals = std::int64_t{8} << 20;
constexpr float kWeightDeviation = 0.02F;

class BlockPasses {
 public:
  BlockPasses(const std::vector<planner::Job>& jobs, const engine::GemmTable& table)
      : stream_(make_stream()), normals_(random_bf16(kNormals, kWeightDeviation)) {
    Bytes largest(0);
    for (const planner::Job& job : jobs) {
      measured_.push_back({.job = job, .passes = {}, .refused = {}});
      samples_.emplace_back();
      steps_.push_back(nullptr);
      try {
        steps_.back() = std::make_unique<BlockStep>(job, table);
      } catch (const std::exception& error) {
        measured_.back().refused = error.what();
        continue;
      }
      largest = std::max(largest, probed_memory(job).total);
    }
    memory_ = allocate_device(largest);
  }

  std::vector<JobPasses> measure(const BlockBudget& budget, const std::string& note) {
    // Kernels are loaded on their first run, which takes longer than a warm-up.
    for (const auto& each : steps_) {
      SamplesByKey unused;
      if (!each) continue;
      prepare(*each);
      (void)step(*each, unused);
    }
    settle(budget.settle);
    for (int round = 0; round < budget.rounds; ++round) {
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i]) visit(*steps_[i], budget, samples_[i]);
      }
    }
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      measured_[i].passes = passes_of(samples_[i], note);
    }
    return std::move(measured_);
  }

 private:
  /// Seconds of one step, whose passes are added to `samples`.
  double step(BlockStep& step, SamplesByKey& samples) {
    const Seconds from = read(Timer::wall);
    // Not timed: keeps the device busy while the rest is enqueued.
    PassClock untimed;
    step.micro_batch(stream_.get(), BlockStep::kMicroBatches - 1, untimed);
    clock_.begin(stream_.get());
    for (int i = 0; i < BlockStep::kMicroBatches; ++i) step.micro_batch(stream_.get(), i, clock_);
    step.finish(stream_.get(), clock_);
    clock_.read(samples);
    return (read(Timer::wall) - from).count();
  }

  void prepare(BlockStep& step) {
    step.prepare(stream_.get(), static_cast<std::byte*>(memory_.get()),
                 static_cast<const std::uint16_t*>(normals_.get()), kNormals);
  }

  /// Runs the last job's steps until their time settles.
  void settle(Seconds most) {
    constexpr double kSettled = 0.005;
    constexpr Seconds kQuarter{0.25};
    const auto last = std::find_if(steps_.rbegin(), steps_.rend(),
                                   [](const auto& each) { return each != nullptr; });
    if (last == steps_.rend()) return;
    prepare(**last);
    SamplesByKey unused;
    const Seconds started = read(Timer::wall);
    double before = 0;
    while (read(Timer::wall) - started < most) {
      Samples window;
      const Seconds opened = read(Timer::wall);
      while (read(Timer::wall) - opened < kQuarter) window.push_back(step(**last, unused));
      const double now = median(window);
      if (before > 0 && std::abs(now / before - 1) < kSettled) return;
      before = now;
    }
  }

  void visit(BlockStep& job, const BlockBudget& budget, SamplesByKey& samples) {
    prepare(job);
    SamplesByKey unused;
    Seconds from = read(Timer::wall);
    do {
      (void)step(job, unused);
    } while (read(Timer::wall) - from < budget.warm);
    from = read(Timer::wall);
    do {
      (void)step(job, samples);
    } while (read(Timer::wall) - from < budget.visit);
  }

  Stream stream_;
  DeviceMemory normals_, memory_;
  PassClock clock_;
  std::vector<JobPasses> measured_;
  std::vector<SamplesByKey> samples_;
  std::vector<std::unique_ptr<BlockStep>> steps_;  ///< Null where the libraries refuse the job.
};

}  // namespace

std::vector<planner::MeasuredPass> passes_of(const SamplesByKey& samples, const std::string& note) {
  constexpr double kFirst = 1.0 / BlockStep::kMicroBatches;
  std::vector<planner::MeasuredPass> passes;
  for (const auto& [key, seconds] : samples) {
    const Samples& usual = seconds.later.empty() ? seconds.first : seconds.later;
    double time = median(usual);
    if (!seconds.first.empty()) time += kFirst * (median(seconds.first) - time);
    passes.push_back(
        {.key = key,
         .time = Seconds(time),
         .deviation = Seconds(robust_deviation(usual)),
         .count = static_cast<std::int64_t>(seconds.first.size() + seconds.later.size()),
         .note = note});
  }
  return passes;
}

std::vector<JobPasses> measure_block_passes(const std::vector<planner::Job>& jobs,
                                            const engine::GemmTable& table,
                                            const BlockBudget& budget, const std::string& note) {
  return BlockPasses(jobs, table).measure(budget, note);
}

}  // namespace sluice::profiler
