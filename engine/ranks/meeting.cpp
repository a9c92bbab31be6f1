#include "engine/ranks/meeting.hpp"

#include <algorithm>

namespace sluice::engine {

void SharedFailure::record(const RankFailure& failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = failure;
}

std::optional<RankFailure> SharedFailure::found() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void SharedFailure::forget() {
  const std::lock_guard lock(mutex_);
  failure_.reset();
}

Meeting::Meeting(int ranks, std::chrono::milliseconds patience, SharedFailure& failure)
    : patience_(patience), failure_(failure), here_(static_cast<std::size_t>(ranks)) {}

void Meeting::come(int rank) {
  std::unique_lock lock(mutex_);
  throw_failure();
  here_[static_cast<std::size_t>(rank)] = true;
  if (++waiting_ == here_.size()) {
    here_.assign(here_.size(), false);
    waiting_ = 0;
    ++round_;
    changed_.notify_all();
    return;
  }
  const std::uint64_t round = round_;
  const auto over = [&] { return round_ != round || failure_.found().has_value(); };
  if (!changed_.wait_for(lock, patience_, over)) {
    const auto missing = std::find(here_.begin(), here_.end(), false);
    failure_.record(rank_silent(static_cast<int>(missing - here_.begin()), patience_));
    changed_.notify_all();
  }
  // Whoever was met before a failure goes on, and finds it at the next meeting.
  if (round_ == round) throw_failure();
}

void Meeting::begin_again() {
  const std::lock_guard lock(mutex_);
  here_.assign(here_.size(), false);
  waiting_ = 0;
}

void Meeting::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Meeting::throw_failure() const {
  if (const auto failure = failure_.found()) throw RankFailure(*failure);
}

}  // namespace sluice::engine
