// Gates that hold up a stream of copies until a schedule opens them; independent of any GPU.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "engine/cuda/copies/link_schedule.hpp"
#include "engine/execution/device_queues.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Slows the copies on a stream down to a rate: behind each piece of a copy is a gate, which is
/// opened when the rate allows. The stream counts its progress in one word (the beginning of each
/// copy, and the gate behind each piece of it) and passes a gate once another word has reached the
/// gate's number. Gates are opened when due whether or not the stream is there yet: the opening
/// thread need only wake up once per piece, and a late wake-up opens every gate that is due by
/// then.
class LinkGates {
 public:
  /// Bytes between two gates of a copy: little compared with the copy of a layer, enough that gates
  /// cost nothing.
  static constexpr std::int64_t kPiece = std::int64_t{16} << 20;
  /// Number of pieces by which a stream may lag behind the rate and still catch up at the link's
  /// own speed.
  static constexpr std::int32_t kCaughtUp = 8;
  /// Time between two checks of the word in which the stream counts its progress.
  static constexpr std::chrono::microseconds kLook{20};
  /// Largest number of checks between the end of a copy and the beginning of the next one with
  /// which the next counts as following at once: it then begins, for the rate, where the first
  /// ended.
  static constexpr int kFollows = 5;

  /// `reached`: word in which the stream counts its progress; `opened`: word with the number of the
  /// last gate that the stream may pass. Both must outlive this object.
  LinkGates(BytesPerSecond rate, const EndFlag* reached, EndFlag* opened)
      : schedule_(rate), reached_(reached), opened_(opened) {}

  [[nodiscard]] static std::int64_t pieces(Bytes bytes) {
    return (bytes.count() + kPiece - 1) / kPiece;
  }
  /// Announces a copy of `bytes`; call it before the copy is enqueued. Returns the number that the
  /// stream must write at the copy's beginning; the numbers of the copy's gates follow.
  [[nodiscard]] std::int32_t add(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    copies_.push_back(bytes);
    const std::int32_t beginning = added_ + 1;
    added_ += 1 + static_cast<std::int32_t>(pieces(bytes));
    return beginning;
  }

  /// Opens the gates of all announced copies when they are due, until `time.stopped()`; `time` is
  /// the clock, which must also have now() and sleep_until().
  template <class Time>
  void open(Time& time) {
    for (std::optional<Instant> before;;) {
      const auto seen = wait_for(next_++, time);
      if (!seen) return;
      const bool follows = before && seen->looks <= kFollows;
      schedule_.begin(follows ? *before : time.now());
      before = open_copy(take(), time);
      if (!before) return;
    }
  }

 private:
  using Instant = LinkSchedule::Instant;
  struct Seen {
    std::int64_t looks = 0;
    Instant::duration overslept{};  ///< How late this thread woke up before the last check.
  };
  /// Sleeps until the stream's progress has reached `number`; returns how often it looked, or none
  /// once stopped. Yielding instead would leave the core to computing threads for a time slice of
  /// milliseconds.
  template <class Time>
  [[nodiscard]] std::optional<Seen> wait_for(std::int32_t number, Time& time) const {
    for (Seen seen;; ++seen.looks) {
      if (time.stopped()) return std::nullopt;
      if (is_at(number)) return seen;
      const Instant asked = time.now() + kLook;
      time.sleep_until(asked);
      seen.overslept = time.now() - asked;
    }
  }
  /// Opens the gates of one copy of `left` bytes. Returns when the copy would have ended if this
  /// thread had never been late; none once stopped.
  template <class Time>
  [[nodiscard]] std::optional<Instant> open_copy(Bytes left, Time& time) {
    Instant::duration late{};
    for (; left > Bytes(0); ++next_) {
      const Bytes piece = std::min(left, Bytes(kPiece));
      left -= piece;
      const Instant due = schedule_.end_of(piece);
      time.sleep_until(due);
      const auto seen = wait_for(next_ - kCaughtUp, time);
      if (!seen) return std::nullopt;
      const Instant now = time.now();
      if (seen->looks > 0) schedule_.begin(now);  // A longer lag is not caught up.
      if (is_at(next_)) late = std::max(late, now - due);
      opened_->store(next_, std::memory_order_release);
    }
    const auto ended = wait_for(next_ - 1, time);
    if (!ended) return std::nullopt;
    return time.now() - late - ended->overslept;
  }
  [[nodiscard]] bool is_at(std::int32_t number) const {
    return reached_->load(std::memory_order_acquire) >= number;
  }
  [[nodiscard]] Bytes take() {
    const std::lock_guard lock(mutex_);
    const Bytes bytes = copies_.front();
    copies_.pop_front();
    return bytes;
  }

  LinkSchedule schedule_;
  /// Number that the stream reaches next, that of a copy's beginning or of a gate; used by the
  /// opening thread.
  std::int32_t next_ = 1;
  const EndFlag* reached_;
  EndFlag* opened_;
  std::mutex mutex_;
  std::deque<Bytes> copies_;  ///< Sizes of the announced copies that have not begun yet.
  /// Last number given to a copy or gate; used by the thread that announces copies.
  std::int32_t added_ = 0;
};

}  // namespace sluice::engine
