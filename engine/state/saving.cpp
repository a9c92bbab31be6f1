#include "engine/state/saving.hpp"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <utility>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Exception that ends the writing of a save that a newer one replaces.
struct SaveGivenUp {};

/// Blocks signals in threads started from here, because signals belong to the thread that runs the
/// program's main loop.
void leave_signals_to_others() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

Seconds since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::steady_clock::now() - begin;
}

}  // namespace

Saving::Saving(const RunFolder& folder, const planner::ModelShape& shape,
               const TrainingState& state, SavingOptions options)
    : folder_(folder), shape_(shape), options_(std::move(options)) {
  if (options_.background || options_.links.control != nullptr) {
    using Keeps = StateSnapshot::Keeps;
    snapshot_ =
        std::make_unique<StateSnapshot>(shape, state, writes() ? Keeps::all : Keeps::nothing);
  }
}

Saving::~Saving() { finish(); }

void Saving::finish() {
  if (writer_.joinable()) writer_.join();
}

void Saving::save(CheckpointFacts facts, const TrainingState& state) {
  Task task{.facts = std::move(facts), .begin = Clock::now()};
  finish();
  if (!snapshot_) return write(task, state);
  take(state);
  if (!writes()) return;
  if (!options_.background) return write(task, *snapshot_);
  task.background = true;
  task.threads = options_.background_threads;
  task.stall = since(task.begin);
  given_up_ = false;
  writer_ = std::thread([this, task = std::move(task)] {
    pthread_setname_np(pthread_self(), "checkpoint");
    leave_signals_to_others();
    write(task, *snapshot_);
  });
}

void Saving::save_now(CheckpointFacts facts, const TrainingState& state, Older older) {
  const Task task{.facts = std::move(facts), .begin = Clock::now()};
  given_up_ = older == Older::given_up;
  finish();
  given_up_ = false;
  if (options_.links.control == nullptr) {
    if (last_step() != task.facts.step) write(task, state);
    return;
  }
  take(state);
  if (writes() && last_step() != task.facts.step) write(task, *snapshot_);
}

StateHashes Saving::gathered_hashes(const TrainingState& state) {
  finish();
  take(state);
  return writes() ? snapshot_->hashes() : StateHashes{};
}

void Saving::take(const TrainingState& state) {
  if (options_.links.control == nullptr) return snapshot_->take(state);
  snapshot_->take(state, options_.links);
}

void Saving::write(const Task& task, const StateSource& source) {
  SaveReport report{.step = task.facts.step, .stall = task.stall};
  const std::int64_t all = 3 * planner::parameter_count(shape_);
  std::atomic<std::int64_t> done{0};
  const auto progress = [&](std::int64_t elements) {
    const std::int64_t now = done.fetch_add(elements) + elements;
    if (!task.background && options_.progress) options_.progress(task.facts.step, now, all);
    if (task.background && given_up_.load()) throw SaveGivenUp();
  };
  try {
    folder_.require_there();
    report.folder = write_checkpoint(folder_.checkpoints(), task.facts, options_.config, source,
                                     progress, task.threads);
    report.written = since(task.begin);
    drop_checkpoints(folder_.checkpoints(), options_.kept, task.facts.step);
  } catch (const SaveGivenUp&) {
    return;
  } catch (const std::exception& error) {
    (report.folder ? report.warning : report.failure) = error.what();
  }
  if (!task.background) report.stall = since(task.begin);
  const std::lock_guard lock(mutex_);
  if (report.folder) last_step_ = report.step;
  ended_.push_back(std::move(report));
}

std::vector<SaveReport> Saving::ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

std::optional<std::int64_t> Saving::last_step() const {
  const std::lock_guard lock(mutex_);
  return last_step_;
}

}  // namespace sluice::engine
