#include "engine/cuda/fabric/fabric_watch.hpp"

#include <condition_variable>
#include <utility>

namespace sluice::engine {
namespace {

std::string line_of_silence(std::chrono::milliseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  return "a collective between GPUs did not end for " + std::to_string(seconds.count()) +
         " s: see whether the process or the GPU of another rank hangs";
}

}  // namespace

FabricWatch::FabricWatch(WatchedFabric watched, WatchTimes times)
    : watched_(std::move(watched)),
      times_(times),
      changed_(std::chrono::steady_clock::now()),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

std::optional<RankFailure> FabricWatch::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void FabricWatch::give_up(const RankFailure& failure) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
  }
  watched_.give_up(failure.what());
}

void FabricWatch::watch(const std::stop_token& stop) {
  std::mutex waiting;
  std::condition_variable_any wake;
  std::unique_lock lock(waiting);
  while (!wake.wait_for(lock, stop, times_.between, [&] { return stop.stop_requested(); })) {
    if (!look()) return;
  }
}

bool FabricWatch::look() {
  const auto idle = without_progress();
  if (const auto told = watched_.told()) {
    if (!was_told_) changed_ = std::chrono::steady_clock::now();
    if (!std::exchange(was_told_, true) || idle <= times_.settling) return true;
    give_up(*told);
    return false;
  }
  was_told_ = false;
  auto error = watched_.error();
  if (!error && idle > times_.patience) error = line_of_silence(times_.patience);
  if (!error) return true;
  watched_.tell(*error);
  give_up(rank_failed(watched_.rank, *error));
  return false;
}

std::chrono::steady_clock::duration FabricWatch::without_progress() {
  const auto now = std::chrono::steady_clock::now();
  const std::int64_t ended = watched_.ended();
  if (ended != seen_ || watched_.enqueued() == ended) {
    seen_ = ended;
    changed_ = now;
  }
  return now - changed_;
}

}  // namespace sluice::engine
