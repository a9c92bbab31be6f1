#include "planner/explanation/free_sizes.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "planner/requests/run_step.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kMicroBatch = "micro_batch";
constexpr const char* kLossChunk = "loss_chunk";
constexpr std::int64_t kLeastChunk = 256;
/// Smallest gain, as a share of the step, for which a job's bits are changed.
constexpr double kWorth = 0.005;

class Trials {
 public:
  Trials(const Request& run, const SizesProgress& progress, const Deadline& deadline)
      : run_(run), best_(run.config), progress_(progress), deadline_(deadline) {}

  [[nodiscard]] const RunConfig& best() const { return best_; }
  [[nodiscard]] std::vector<SizeTrial> take() { return std::move(trials_); }
  [[nodiscard]] bool cut_short() const { return cut_short_; }

  void attempt(std::int64_t micro_batch, std::int64_t loss_chunk) {
    if (!seen_.emplace(micro_batch, loss_chunk).second) return;
    // The run's own sizes come first and are always tried.
    cut_short_ = cut_short_ || (!trials_.empty() && deadline_.is_late());
    if (cut_short_) return;
    RunConfig config = best_;
    config.micro_batch = micro_batch;
    config.loss_chunk = loss_chunk;
    SizeTrial trial{.micro_batch = micro_batch, .loss_chunk = loss_chunk, .step = {}};
    if (could_win(config)) {
      if (progress_) {
        progress_(std::string(kMicroBatch) + " " + std::to_string(micro_batch) + ", " + kLossChunk +
                  " " + std::to_string(loss_chunk));
      }
      const auto step = trials_.empty() ? step_of(run_.with(config), kCompareEffort, deadline_)
                                        : step_of_changed(run_, config, deadline_);
      if (step) {
        trial.step = step->prediction.step;
      }
    }
    trials_.push_back(trial);
    if (!trial.step || (least_ && to_seconds(*trial.step) > (1 - kWorth) * to_seconds(*least_))) {
      return;
    }
    least_ = trial.step;
    best_ = config;
  }

 private:
  /// Whether some plan of `config` may beat the best step so far, by its bound.
  [[nodiscard]] bool could_win(const RunConfig& config) const {
    if (!least_) return true;
    return run_.with(config).predictor.bound().time < to_seconds(*least_);
  }

  const Request& run_;
  RunConfig best_;
  const SizesProgress& progress_;
  const Deadline& deadline_;
  bool cut_short_ = false;
  std::optional<Duration> least_;
  std::set<std::pair<std::int64_t, std::int64_t>> seen_;
  std::vector<SizeTrial> trials_;
};

void try_micro_batches(Trials& trials) {
  const std::int64_t batch = trials.best().batch_size;
  const std::int64_t chunk = trials.best().loss_chunk;
  for (std::int64_t micro = 1; micro <= batch; ++micro) {
    const bool whole = batch % micro == 0 && batch / micro >= trials.best().groups;
    if (whole) trials.attempt(micro, chunk);
  }
}

void try_loss_chunks(Trials& trials) {
  const std::int64_t micro = trials.best().micro_batch;
  const std::int64_t tokens = micro * trials.best().seq_len;
  for (std::int64_t chunk = std::min(kLeastChunk, tokens); chunk < 2 * tokens; chunk *= 2) {
    trials.attempt(micro, std::min(chunk, tokens));
  }
}

}  // namespace

FreeSizes parse_free_sizes(const std::string& text) {
  FreeSizes free;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == kMicroBatch) {
      free.micro_batch = true;
    } else if (name == kLossChunk) {
      free.loss_chunk = true;
    } else {
      throw BadRequest("--free: \"" + name + "\" is not one of " + kMicroBatch + ", " + kLossChunk +
                       sim::did_you_mean(name, {kMicroBatch, kLossChunk}));
    }
  }
  if (!free.micro_batch && !free.loss_chunk) {
    throw BadRequest(std::string("--free: names no size; write ") + kMicroBatch + "," + kLossChunk);
  }
  return free;
}

ChosenSizes choose_sizes(const Request& run, const FreeSizes& free, const SizesProgress& progress,
                         const Deadline& deadline) {
  const RunConfig& config = run.config;
  const Job& asked = run.job();
  if (config.policy &&
      (asked.micro_batch != config.micro_batch || asked.loss_chunk != config.loss_chunk)) {
    throw BadRequest("--free: policy " + *config.policy + " states micro_batch or loss_chunk");
  }
  Trials trials(run, progress, deadline);
  trials.attempt(config.micro_batch, config.loss_chunk);
  if (free.micro_batch) try_micro_batches(trials);
  if (free.loss_chunk) try_loss_chunks(trials);
  // Another micro-batch may fit with the new chunks.
  if (free.micro_batch && free.loss_chunk) try_micro_batches(trials);
  ChosenSizes chosen{.config = trials.best(), .trials = {}, .cut_short = trials.cut_short()};
  chosen.trials = trials.take();
  return chosen;
}

std::string describe_choice(const RunConfig& before, const RunConfig& after) {
  std::string text;
  const auto say = [&text](const char* name, std::int64_t was, std::int64_t is) {
    if (was == is) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(is) +
            " instead of " + std::to_string(was);
  };
  say(kMicroBatch, before.micro_batch, after.micro_batch);
  say(kLossChunk, before.loss_chunk, after.loss_chunk);
  if (text.empty()) {
    return std::string(kMicroBatch) + " " + std::to_string(after.micro_batch) + " and " +
           kLossChunk + " " + std::to_string(after.loss_chunk) + " as they were";
  }
  return text + " (another job: its bits differ)";
}

}  // namespace sluice::planner
