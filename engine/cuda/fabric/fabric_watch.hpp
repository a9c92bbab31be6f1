// Finds collectives that fail or do not end, while threads wait for their ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {

/// The functions by which a fabric watch sees a rank's collectives and ends them. It calls all of
/// them from its own thread.
struct WatchedFabric {
  int rank = 0;  ///< The rank that watches its collectives.
  /// An error that the communicators found, in one line; none if all is well.
  std::function<std::optional<std::string>()> error;
  /// A failure that ranks told each other; none if there is none.
  std::function<std::optional<RankFailure>()> told;
  std::function<std::int64_t()> enqueued;  ///< Number of collectives enqueued so far.
  std::function<std::int64_t()> ended;     ///< Number of those that have ended.
  /// Called with this rank's own failure, in one line.
  std::function<void(const std::string&)> tell;
  /// Called at last, with the failure in one line, if collectives were enqueued that will not end.
  std::function<void(const std::string&)> give_up;
};

/// Times of a fabric watch.
struct WatchTimes {
  std::chrono::milliseconds patience;     ///< Longest time in which no enqueued collective ends.
  std::chrono::milliseconds between{50};  ///< Time between two looks.
  /// Time after another rank's failure in which enqueued collectives must end. Ranks enqueue each
  /// on all of them or on none, so they do unless a GPU or a process is lost.
  std::chrono::milliseconds settling{10'000};
};

/// A thread that looks at a rank's collectives every now and then, and notices when one failed,
/// when none ended for too long, and when some do not end after another rank's failure.
class FabricWatch {
 public:
  FabricWatch(WatchedFabric watched, WatchTimes times);

  /// The failure for which the watch gave up; none if there is none.
  [[nodiscard]] std::optional<RankFailure> failure() const;

 private:
  void watch(const std::stop_token& stop);
  /// Looks once; returns whether there is more to look for.
  bool look();
  void give_up(const RankFailure& failure);
  /// Time since a collective ended while others were enqueued.
  [[nodiscard]] std::chrono::steady_clock::duration without_progress();

  WatchedFabric watched_;
  WatchTimes times_;
  std::int64_t seen_ = 0;  ///< Number of ended collectives at the last change.
  std::chrono::steady_clock::time_point changed_;
  bool was_told_ = false;     ///< Whether another rank's failure was known at the last look.
  mutable std::mutex mutex_;  ///< Guards failure_.
  std::optional<RankFailure> failure_;
  /// Declared last, because the thread uses all members above.
  std::jthread thread_;
};

}  // namespace sluice::engine
