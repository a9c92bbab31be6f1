// Where the threads that are ranks of one process wait for each other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {

/// First failure of any rank of a process, which everything that its ranks wait at throws.
class SharedFailure {
 public:
  /// Records that `rank` failed, unless a failure is recorded already.
  void record(const RankFailure& failure);
  [[nodiscard]] std::optional<RankFailure> found() const;
  void forget();

 private:
  mutable std::mutex mutex_;
  std::optional<RankFailure> failure_;
};

/// A point at which as many threads as there are ranks wait for each other, again and again.
class Meeting {
 public:
  /// `failure` must outlive the meeting.
  Meeting(int ranks, std::chrono::milliseconds patience, SharedFailure& failure);

  /// Returns once every rank has come since the last time that all were there; `rank` is the
  /// caller's. Throws RankFailure if a rank failed, or stays away for longer than the patience,
  /// which is then recorded as its failure.
  void come(int rank);
  /// Lets all ranks come anew after a failure; nobody may wait here.
  void begin_again();
  /// Wakes everybody who waits here, after a failure was recorded.
  void wake();

 private:
  void throw_failure() const;

  std::chrono::milliseconds patience_;
  SharedFailure& failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> here_;
  std::size_t waiting_ = 0;
  std::uint64_t round_ = 0;  ///< How often all were there.
};

}  // namespace sluice::engine
