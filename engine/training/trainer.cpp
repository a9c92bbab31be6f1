#include "engine/training/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/memory/process_memory.hpp"
#include "engine/training/divergence.hpp"

namespace sluice::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

void raise_peaks(MemoryPeaks& peaks) {
  const ProcessMemory memory = process_memory();
  peaks.resident = std::max(peaks.resident, memory.resident);
  peaks.locked = std::max(peaks.locked, memory.locked);
}

/// The first multiple of `every` after `step`.
std::int64_t multiple_after(std::int64_t every, std::int64_t step) {
  return every > 0 ? (step / every + 1) * every : std::numeric_limits<std::int64_t>::max();
}

bool is_multiple(std::int64_t every, std::int64_t step) { return every > 0 && step % every == 0; }

/// One call of `train`.
class Training {
 public:
  Training(Session& session, const planner::Job& job, WindowedText& text,
           const TrainingOptions& options, MetricsFile& metrics,
           const std::atomic<bool>& interrupted, const TrainingReports& reports)
      : session_(session),
        job_(job),
        text_(text),
        options_(options),
        metrics_(metrics),
        interrupted_(interrupted),
        reports_(reports) {
    result_.peaks.device = session.touched(planner::Arena::device);
    result_.peaks.host = session.touched(planner::Arena::host);
    result_.step_times.reserve(static_cast<std::size_t>(options.stops.steps));
    result_.undisturbed.reserve(static_cast<std::size_t>(options.stops.steps));
  }

  TrainingResult run() {
    const TrainingStops& stops = options_.stops;
    (void)evaluate();
    if (reports_.begins) reports_.begins();
    while (session_.steps_done() < stops.steps && !ends()) {
      run_chunk(stops.next(session_.steps_done()));
      raise_peaks(result_.peaks);
      result_.disk_failure = disk_failure();
      if (result_.disk_failure) {
        log_last(std::nullopt);
        break;
      }
      std::optional<double> loss;
      const bool ended = ends();
      if (!ended && stops.evaluates_at(session_.steps_done())) loss = evaluate();
      log_last(loss);
      if (!ended && !ends() && stops.saves_at(session_.steps_done())) save(loss);
    }
    result_.steps = session_.steps_done();
    const bool whole = result_.steps == stops.steps && result_.final_validation();
    result_.interrupted = ends() && !whole;
    return std::move(result_);
  }

 private:
  struct Stopped {};

  /// Whether the program of any rank is to stop; all ranks ask at the same places.
  bool ends() {
    if (options_.links.control == nullptr) return interrupted_.load();
    return !first_word(interrupted_.load() ? "stop" : "").empty();
  }

  /// The disk failure of the first rank that has one.
  std::optional<std::string> disk_failure() {
    auto own = session_.disk_failure();
    if (options_.links.control == nullptr) return own;
    std::string first = first_word(own.value_or(""));
    return first.empty() ? std::nullopt : std::optional(std::move(first));
  }

  /// Gathers a word of each rank and returns the first that is not empty.
  std::string first_word(const std::string& own) {
    const std::vector<std::string> words = options_.links.control->gather(own);
    const auto found = std::ranges::find_if_not(words, &std::string::empty);
    return found == words.end() ? "" : *found;
  }

  /// Evaluates; none if a signal came in between, or the windows have no target.
  std::optional<double> evaluate() {
    const std::int64_t windows = std::min(options_.evaluation_windows, text_.validation_windows());
    const auto read = [this](std::int64_t first, std::span<std::int32_t> inputs,
                             std::span<std::int32_t> targets) {
      if (interrupted_.load()) throw Stopped();
      text_.read_validation(first, inputs, targets);
    };
    try {
      const std::optional<double> loss = session_.evaluation().mean_loss(windows, read);
      if (!loss) return std::nullopt;
      result_.validation.emplace_back(session_.steps_done(), *loss);
    } catch (const Stopped&) {
      return std::nullopt;
    } catch (const EvaluationEnded&) {
      return std::nullopt;  // The process of another rank was interrupted.
    }
    const auto& [step, loss] = result_.validation.back();
    if (reports_.validation) reports_.validation(step, loss);
    return loss;
  }

  /// Runs a chunk of steps. The line of its last step is kept back, because an evaluation may add
  /// to it.
  void run_chunk(std::int64_t last) {
    first_ = session_.steps_done() + 1;
    before_ = SteadyClock::now();
    try {
      session_.run_to(last, [&](std::int64_t step, const StepResult& done) {
        const StepMetrics line = line_of(step, done);
        if (step == last) {
          last_line_ = line;
        } else {
          log(line);
        }
        if (interrupted_.load() || session_.disk_failure()) session_.request_stop();
      });
    } catch (const Diverged& error) {
      log_last(std::nullopt);
      // Where ranks are processes the others have ended, and no pass can look for the layer.
      if (options_.links.control != nullptr) throw;
      throw located(error, session_, job_, text_);
    }
  }

  StepMetrics line_of(std::int64_t step, const StepResult& done) {
    const Seconds time = done.end - before_;
    before_ = done.end;
    result_.step_times.push_back(time);
    // The first step of a chunk has no step before it to overlap with, and the second one's time
    // includes work left over from the first.
    result_.undisturbed.push_back(step > first_ + 1);
    const bool skipped = done.targets == 0;
    if (!skipped) {
      result_.loss = done.loss;
      result_.balance_loss = done.balance_loss;
    }
    result_.skipped_steps += skipped ? 1 : 0;
    StepMetrics line{.step = step,
                     .loss = done.loss,
                     .balance_loss = done.balance_loss,
                     .grad_norm = done.grad_norm,
                     .lr = done.lr,
                     .step_time = time,
                     .predicted = options_.predicted_step,
                     .tokens = job_.tokens(),
                     .useful_tokens = job_.tokens() - done.padding,
                     .target_tokens = done.targets,
                     .skipped = skipped};
    result_.useful_tokens += line.useful_tokens;
    result_.padding_tokens += done.padding;
    result_.target_tokens += line.target_tokens;
    if (reports_.measure) reports_.measure(line);
    if (reports_.step) reports_.step(line);
    return line;
  }

  void log(const StepMetrics& line) {
    metrics_.append(line);
    if (reports_.logged) reports_.logged(line);
  }

  void log_last(std::optional<double> loss) {
    if (!last_line_) return;
    last_line_->val_loss = loss;
    log(*last_line_);
    last_line_.reset();
  }

  void save(std::optional<double> loss) {
    if (!reports_.save) return;
    try {
      metrics_.flush();
    } catch (const EnvironmentError&) {
      // The line that follows, or the end of the run, reports it.
    }
    reports_.save(session_.steps_done(), loss);
  }

  Session& session_;
  const planner::Job& job_;
  WindowedText& text_;
  const TrainingOptions& options_;
  MetricsFile& metrics_;
  const std::atomic<bool>& interrupted_;
  const TrainingReports& reports_;
  TrainingResult result_;
  std::int64_t first_ = 1;  ///< First step of the chunk.
  SteadyClock::time_point before_;
  std::optional<StepMetrics> last_line_;
};

}  // namespace

std::int64_t TrainingStops::next(std::int64_t step) const {
  return std::min({steps, multiple_after(evaluate_every, step), multiple_after(save_every, step)});
}

bool TrainingStops::evaluates_at(std::int64_t step) const {
  return step == steps || is_multiple(evaluate_every, step) || (evaluate_saves && saves_at(step));
}

bool TrainingStops::saves_at(std::int64_t step) const {
  return step < steps && is_multiple(save_every, step);
}

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

std::optional<double> TrainingResult::final_validation() const {
  if (validation.empty() || validation.back().first != steps) return std::nullopt;
  return validation.back().second;
}

TrainingResult train(Session& session, const planner::Job& job, WindowedText& text,
                     const TrainingOptions& options, MetricsFile& metrics,
                     const std::atomic<bool>& interrupted, const TrainingReports& reports) {
  return Training(session, job, text, options, metrics, interrupted, reports).run();
}

}  // namespace sluice::engine
