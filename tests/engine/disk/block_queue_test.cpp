// Transfers of blocks between memory and a file: each block is visited once, at the right time,
// whatever is in flight.
#include "engine/disk/block_queue.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kBlock = 4096;
constexpr std::int64_t kBlocks = 37;
constexpr std::int64_t kBytes = kBlocks * kBlock - 512;  // The last block is shorter.

class Scratch {
 public:
  Scratch() : descriptor_(mkostemp(name_.data(), O_CLOEXEC)) { unlink(name_.c_str()); }
  ~Scratch() { close(descriptor_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string name_ = testing::TempDir() + "block_queue_XXXXXX";
  int descriptor_;
};

/// Adds one to every byte of a block that it visits, so that a visit too early, too late, twice or
/// never is detected.
class AddOne : public BlockWork {
 public:
  void visit(std::int64_t number, std::span<std::byte> block) override {
    for (std::byte& each : block) each = std::byte(std::to_integer<unsigned>(each) + 1);
    const std::lock_guard lock(mutex_);
    seen_.push_back(number);
    if (number == fails_at) throw EnvironmentError("seen enough");
  }
  bool refused(std::int64_t, std::span<std::byte>, const std::string&) override { return false; }

  std::vector<std::int64_t> in_order() {
    std::ranges::sort(seen_);
    return seen_;
  }
  std::int64_t fails_at = -1;

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> seen_;
};

std::vector<std::int64_t> all_blocks() {
  std::vector<std::int64_t> numbers(kBlocks);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return numbers;
}

std::vector<std::byte> pattern(unsigned more) {
  std::vector<std::byte> bytes(kBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte(static_cast<unsigned char>(i * 7 + i / kBlock + more));
  }
  return bytes;
}

struct Kind {
  DiskIo io;
  unsigned depth;

  [[nodiscard]] std::string name() const {
    return (io == DiskIo::best ? "best" : "threads") + std::to_string(depth);
  }
  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name(); }
};

class BlockQueueTest : public testing::TestWithParam<Kind> {
 protected:
  BlockQueueTest()
      : queue_(open_block_queue(GetParam().io, file_.descriptor(), {}, GetParam().depth)) {}

  void move(Direction direction, std::vector<std::byte>& memory, BlockWork& work) {
    queue_->move(direction,
                 {.offset = kBlock, .memory = memory.data(), .bytes = kBytes, .block = kBlock},
                 work);
  }
  [[nodiscard]] std::vector<std::byte> on_disk() const {
    std::vector<std::byte> bytes(kBytes);
    move_whole(Direction::read, file_.descriptor(), kBlock, bytes);
    return bytes;
  }

  Scratch file_;
  std::unique_ptr<BlockQueue> queue_;
};

TEST_P(BlockQueueTest, WritesBlocksAsTheyAreOnceVisited) {
  std::vector<std::byte> memory = pattern(0);
  AddOne work;
  move(Direction::write, memory, work);
  EXPECT_EQ(work.in_order(), all_blocks());
  EXPECT_EQ(on_disk(), pattern(1));
}

TEST_P(BlockQueueTest, VisitsBlocksOnceTheyAreRead) {
  std::vector<std::byte> memory = pattern(5);
  move_whole(Direction::write, file_.descriptor(), kBlock, memory);
  std::ranges::fill(memory, std::byte{0});
  AddOne work;
  move(Direction::read, memory, work);
  EXPECT_EQ(work.in_order(), all_blocks());
  EXPECT_EQ(memory, pattern(6));
}

TEST_P(BlockQueueTest, GoesOnAfterAMoveThatFailed) {
  for (const Direction direction : {Direction::write, Direction::read}) {
    std::vector<std::byte> memory = pattern(0);
    AddOne stops;
    stops.fails_at = 11;
    EXPECT_THROW(move(direction, memory, stops), EnvironmentError);
    memory = pattern(0);
    AddOne work;
    move(Direction::write, memory, work);
    EXPECT_EQ(work.in_order(), all_blocks());
    EXPECT_EQ(on_disk(), pattern(1));
  }
}

TEST_P(BlockQueueTest, WhatTheFileDoesNotHoldIsSaid) {
  std::vector<std::byte> memory = pattern(0);
  AddOne work;
  EXPECT_THROW(move(Direction::read, memory, work), EnvironmentError);
}

INSTANTIATE_TEST_SUITE_P(Queues, BlockQueueTest,
                         testing::Values(Kind{DiskIo::best, 1}, Kind{DiskIo::best, 2},
                                         Kind{DiskIo::best, 4}, Kind{DiskIo::best, 64},
                                         Kind{DiskIo::threads, 4}),
                         [](const auto& each) { return each.param.name(); });

}  // namespace
}  // namespace sluice::engine
