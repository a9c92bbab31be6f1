#include "engine/trainer.hpp"

#include <algorithm>
#include <chrono>

#include "engine/process_memory.hpp"

namespace sluice::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

double validation_loss(Session& session, WindowedText& text, std::int64_t most) {
  const std::int64_t windows = std::min(most, text.validation_windows());
  return session.evaluation().mean_loss(
      windows,
      [&text](std::int64_t first, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
        text.read_validation(first, inputs, targets);
      });
}

void raise_peaks(MemoryPeaks& peaks) {
  const ProcessMemory memory = process_memory();
  peaks.resident = std::max(peaks.resident, memory.resident);
  peaks.locked = std::max(peaks.locked, memory.locked);
}

}  // namespace

std::optional<Seconds> TrainingResult::median_step() const {
  std::vector<Seconds> times;
  for (std::size_t i = 0; i < step_times.size(); ++i) {
    if (undisturbed[i]) times.push_back(step_times[i]);
  }
  if (times.empty()) times = step_times;
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

TrainingResult train(Session& session, const planner::Job& job, WindowedText& text,
                     const TrainingOptions& options, MetricsFile& metrics,
                     const std::atomic<bool>& interrupted, const TrainingReports& reports) {
  TrainingResult result;
  result.peaks.device = session.touched(planner::Arena::device);
  result.peaks.host = session.touched(planner::Arena::host);
  result.step_times.reserve(static_cast<std::size_t>(options.steps));
  result.undisturbed.reserve(static_cast<std::size_t>(options.steps));

  const auto evaluate = [&](std::int64_t step) {
    result.validation.emplace_back(step,
                                   validation_loss(session, text, options.evaluation_windows));
    if (reports.validation) reports.validation(step, result.validation.back().second);
  };
  evaluate(session.steps_done());

  const std::int64_t every = options.evaluate_every > 0 ? options.evaluate_every
                                                        : std::max<std::int64_t>(1, options.steps);
  while (session.steps_done() < options.steps && !interrupted.load()) {
    const std::int64_t first = session.steps_done() + 1;
    const std::int64_t last = std::min(options.steps, (session.steps_done() / every + 1) * every);
    SteadyClock::time_point before = SteadyClock::now();
    const auto step_done = [&](std::int64_t step, const StepResult& done) {
      const Seconds time = done.end - before;
      before = done.end;
      result.step_times.push_back(time);
      // The first step of a chunk has no step before it to overlap with, and the second one's time
      // includes what the first left over.
      result.undisturbed.push_back(step > first + 1);
      result.loss = done.loss;
      const StepMetrics line{.step = step,
                             .loss = done.loss,
                             .grad_norm = done.grad_norm,
                             .lr = done.lr,
                             .step_time = time,
                             .predicted = options.predicted_step,
                             .tokens = job.tokens(),
                             .useful_tokens = job.tokens() - done.padding,
                             .target_tokens = done.targets};
      result.useful_tokens += line.useful_tokens;
      result.padding_tokens += done.padding;
      result.target_tokens += line.target_tokens;
      metrics.append(line);
      if (reports.step) reports.step(line);
      if (interrupted.load()) session.request_stop();
    };
    session.run_to(last, step_done);
    raise_peaks(result.peaks);
    if (!interrupted.load()) evaluate(session.steps_done());
  }
  metrics.flush();
  result.steps = session.steps_done();
  result.interrupted = interrupted.load() && result.steps < options.steps;
  return result;
}

}  // namespace sluice::engine
