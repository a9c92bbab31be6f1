// Gates of copies on a link that is held to a rate, with a simulated stream and threads that wake
// late.
#include "engine/cuda/copies/link_gates.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "engine/execution/poll.hpp"

namespace sluice::engine::test {
namespace {

using Instant = LinkSchedule::Instant;
using Nanoseconds = std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr std::int64_t kPiece = LinkGates::kPiece;
constexpr double kLimit = 26e9, kLink = 55e9;
constexpr Bytes kLayer{466'000'000};

/// Number of pieces over which the limit is kept, except for what is caught up with and a piece at
/// each end.
constexpr std::size_t kWindow = 40;
constexpr double kKept = 1.0 * kWindow / (kWindow - LinkGates::kCaughtUp - 2);

/// Time in seconds that `bytes` take at the limit.
double limited(Bytes bytes) { return static_cast<double>(bytes.count()) / kLimit; }

/// A copy that the stream may begin at `ready`, but not before the previous one has ended.
struct TestCopy {
  Bytes bytes;
  Instant ready{};
};

/// Simulated time of a thread that wakes late, and of the stream that goes on meanwhile.
class TestStream {
 public:
  struct Moved {
    Instant begin, end;
    Bytes bytes;
  };

  TestStream(std::vector<TestCopy> copies, std::function<Nanoseconds()> late)
      : copies_(std::move(copies)), late_(std::move(late)) {
    opened_at_.push_back({});
    for (const TestCopy& copy : copies_) numbers_.push_back(gates_.add(copy.bytes));
  }

  /// Rate of the link itself from an instant on, in bytes per second.
  std::function<double(Instant)> link = [](Instant) { return kLink; };

  void run() { gates_.open(*this); }
  [[nodiscard]] const std::vector<Moved>& pieces() const { return pieces_; }
  /// Duration of copy i, from its first byte to the gate behind its last.
  [[nodiscard]] double seconds(std::size_t i) const {
    return std::chrono::duration<double>(ends_.at(i) - begins_.at(i)).count();
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(ends_.back() - begins_.front()).count();
  }
  /// Rate, in units of the limit, of the fastest `pieces` successive pieces.
  [[nodiscard]] double fastest(std::size_t pieces) const {
    double most = 0;
    for (std::size_t i = 0; i + pieces <= pieces_.size(); ++i) {
      Bytes sum{0};
      for (std::size_t j = i; j < i + pieces; ++j) sum += pieces_[j].bytes;
      const auto took = pieces_[i + pieces - 1].end - pieces_[i].begin;
      most = std::max(most, limited(sum) / std::chrono::duration<double>(took).count());
    }
    return most;
  }
  [[nodiscard]] int wakes() const { return wakes_; }

  // Interface that LinkGates needs.
  [[nodiscard]] bool stopped() const { return copy_ == copies_.size(); }
  [[nodiscard]] Instant now() const { return now_; }
  void sleep_until(Instant instant) {
    while (std::ssize(opened_at_) <= opened_) opened_at_.push_back(now_);
    if (instant <= now_) return;
    ++wakes_;
    now_ = instant + late_();
    advance();
  }

 private:
  /// Does everything that the stream would have done until now.
  void advance() {
    while (copy_ < copies_.size()) {
      const TestCopy& copy = copies_[copy_];
      if (gate_ == 0) {
        at_ = std::max(at_, copy.ready);
        if (at_ > now_) return;
        begins_.push_back(at_);
        reached_ = numbers_[copy_];
        gate_ = 1;
        moving_ = true;
      }
      if (gate_ > LinkGates::pieces(copy.bytes)) {
        ends_.push_back(at_);
        ++copy_;
        gate_ = 0;
        continue;
      }
      if (moving_) {
        const Bytes piece = std::min(Bytes(kPiece), copy.bytes - Bytes((gate_ - 1) * kPiece));
        const Seconds takes(static_cast<double>(piece.count()) / link(at_));
        const Instant end = at_ + std::chrono::duration_cast<Nanoseconds>(takes);
        if (end > now_) return;
        pieces_.push_back({at_, end, piece});
        at_ = end;
        reached_ = numbers_[copy_] + static_cast<std::int32_t>(gate_);
        moving_ = false;
      }
      const auto number = static_cast<std::size_t>(numbers_[copy_] + gate_);
      if (number >= opened_at_.size()) return;
      at_ = std::max(at_, opened_at_[number]);
      ++gate_;
      moving_ = true;
    }
  }

  std::vector<TestCopy> copies_;
  std::function<Nanoseconds()> late_;
  EndFlag reached_{0}, opened_{0};
  LinkGates gates_{BytesPerSecond(kLimit), &reached_, &opened_};
  std::vector<std::int32_t> numbers_;  ///< Numbers of the copies' beginnings.
  /// Time at which each number was reached; beginnings count with the gate behind them.
  std::vector<Instant> opened_at_;
  Instant now_{}, at_{};
  std::size_t copy_ = 0;
  std::int64_t gate_ = 0;  ///< Next gate of the current copy; 0 if it has not begun.
  bool moving_ = false;
  int wakes_ = 0;
  std::vector<Moved> pieces_;
  std::vector<Instant> begins_, ends_;
};

std::vector<TestCopy> layers(int count) { return std::vector<TestCopy>(count, {kLayer, {}}); }
Nanoseconds never() { return 0ns; }
/// Wake-up delays on busy cores: every third sleep ends up to 3 ms late.
std::function<Nanoseconds()> on_busy_cores() {
  return [random = std::mt19937_64(1)]() mutable {
    return random() % 3 == 0 ? Nanoseconds(static_cast<std::int64_t>(random() % 3'000'000)) : 0ns;
  };
}

TEST(LinkGates, ACopyTakesItsBytesOverTheRate) {
  TestStream stream(layers(1), never);
  stream.run();
  EXPECT_GE(stream.seconds(), limited(kLayer));
  EXPECT_LE(stream.seconds(),
            limited(kLayer) + 21e-6);  // The beginning is seen within one check; ns are rounded up.
}

TEST(LinkGates, CopiesThatFollowEachOtherTakeTheRateTogether) {
  TestStream stream(layers(50), never);
  stream.run();
  const double exact = limited(Bytes(50 * kLayer.count()));
  EXPECT_GE(stream.seconds(), exact);
  EXPECT_LE(stream.seconds(), exact + 21e-6);
}

TEST(LinkGates, LateWakeUpsDoNotAddUp) {
  TestStream stream(layers(50), on_busy_cores());
  stream.run();
  const double exact = limited(Bytes(50 * kLayer.count()));
  EXPECT_GE(stream.seconds(), exact);
  EXPECT_LE(stream.seconds(), 1.01 * exact);
}

TEST(LinkGates, OverSomePiecesTheRateIsKeptWhateverTheThreadDoes) {
  TestStream stream(layers(50), on_busy_cores());
  stream.run();
  EXPECT_LE(stream.fastest(kWindow), kKept);
}

TEST(LinkGates, WakesOnceAPiece) {
  TestStream stream(layers(10), never);
  stream.run();
  EXPECT_LE(stream.wakes(), 10 * (LinkGates::pieces(kLayer) + 2));
}

TEST(LinkGates, AfterIdleTimeACopyHasNothingToCatchUpWith) {
  std::vector<TestCopy> copies = layers(2);
  copies[1].ready = Instant(1s);
  TestStream stream(copies, on_busy_cores());
  stream.run();
  EXPECT_GE(stream.seconds(1), limited(kLayer));
}

TEST(LinkGates, WhatASlowerLinkLostIsCaughtUpWithForSomePiecesOnly) {
  const Bytes all(128 * kPiece);
  TestStream stream({{all}}, never);
  // For 20 ms the link is slower than the limit: the time of 25 pieces is lost.
  stream.link = [](Instant at) {
    const auto since = at.time_since_epoch();
    return since > 20ms && since < 40ms ? 5e9 : kLink;
  };
  stream.run();
  EXPECT_LE(stream.fastest(kWindow), kKept);
  EXPECT_GE(stream.seconds(), limited(all) + limited(Bytes(15 * kPiece)));
}

TEST(LinkGates, WhatASlowerLinkLostInACopyIsLostForTheNext) {
  TestStream stream(layers(2), never);
  stream.link = [&stream](Instant) { return stream.pieces().size() < 28 ? 20e9 : kLink; };
  stream.run();
  EXPECT_NEAR(stream.seconds(0), static_cast<double>(kLayer.count()) / 20e9, 1e-3);
  EXPECT_GE(stream.seconds(1), limited(kLayer));
}

TEST(LinkGates, OneWakeUpThatComesFarTooLateIsLostButForSomePieces) {
  const Bytes all(128 * kPiece);
  int sleeps = 0;
  TestStream stream({{all}}, [&sleeps] { return Nanoseconds(++sleeps == 10 ? 50ms : 0ms); });
  stream.run();
  EXPECT_LE(stream.fastest(kWindow), kKept);
  EXPECT_GE(stream.seconds(), limited(all) + 50e-3 - limited(Bytes(9 * kPiece)));
}

TEST(LinkGates, AnEmptyCopyHasNoGates) {
  TestStream stream({{Bytes(0)}, {Bytes(1)}, {Bytes(0)}, {Bytes(kPiece)}}, never);
  stream.run();
  EXPECT_GE(stream.seconds(), limited(Bytes(kPiece + 1)));
}

TEST(WakeFirst, SaysWhatTheThreadGot) {
  Wakes wakes{};
  int policy = -1;
  std::thread([&] {
    wakes = wake_first();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(wakes == Wakes::at_once, policy == SCHED_FIFO);
}

}  // namespace
}  // namespace sluice::engine::test
