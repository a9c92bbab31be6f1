#include "engine/memory/even_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/memory/memory_latency.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::vector<Seconds> latencies(std::initializer_list<double> nanoseconds) {
  std::vector<Seconds> all;
  for (const double each : nanoseconds) all.emplace_back(each * 1e-9);
  return all;
}

TEST(MemoryKinds, TwoNodesAreTwoKinds) {
  const auto kinds = kinds_of(latencies({126, 125, 310, 134, 162, 325, 441, 122}));
  ASSERT_TRUE(kinds);
  EXPECT_EQ(kinds->is_slow,
            (std::vector<bool>{false, false, true, false, false, true, true, false}));
  EXPECT_NEAR(kinds->slow_share, 3.0 / 8, 1e-12);
  EXPECT_NEAR(kinds->quick.count(), 133.8e-9, 1e-12);
  EXPECT_NEAR(kinds->slow.count(), 358.7e-9, 1e-10);
}

TEST(MemoryKinds, NoiseIsOneKind) {
  EXPECT_FALSE(kinds_of(latencies({126, 125, 130, 134, 145, 128, 122, 150})));
  EXPECT_FALSE(kinds_of(latencies({126})));
  EXPECT_FALSE(kinds_of({}));
}

TEST(MemoryKinds, AFewSlowPiecesAreNoKind) {
  std::vector<Seconds> all(99, Seconds(100e-9));
  all.emplace_back(900e-9);
  EXPECT_FALSE(kinds_of(all));
}

TEST(MemoryKinds, LatencyIsOfLoads) {
  const std::vector<std::byte> memory(8 * kMiB);
  const double nanoseconds = 1e9 * load_latency(memory).count();
  EXPECT_GT(nanoseconds, 0.5);  // No core does a dependent load in less.
  EXPECT_LT(nanoseconds, 1e5);
  EXPECT_EQ(load_latency({}), Seconds(0));
}

TEST(EvenOrder, EveryStretchHasTheShareOfAll) {
  for (const std::size_t slow : {1, 3, 24, 44, 79}) {
    std::vector<bool> is_slow(80, false);
    std::fill_n(is_slow.begin(), slow, true);
    const auto order = even_order(is_slow);
    ASSERT_EQ(order.size(), 80u);
    std::vector<std::size_t> sorted = order;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
    for (std::size_t begin = 0; begin < 80; ++begin) {
      double count = 0;
      for (std::size_t end = begin; end < 80; ++end) {
        count += is_slow[order[end]] ? 1 : 0;
        const double share = static_cast<double>((end - begin + 1) * slow) / 80;
        EXPECT_NEAR(count, share, 1.0 + 1e-9) << slow << " slow, " << begin << " to " << end;
      }
    }
  }
}

TEST(EvenMemory, IsZeroAndHasItsSize) {
  const EvenMemory memory(40 * kMiB + 5, "test");
  ASSERT_GE(memory.bytes().size(), 40 * kMiB + 5);
  EXPECT_LT(memory.bytes().size(), 41 * kMiB);
  EXPECT_TRUE(std::ranges::all_of(memory.bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

/// Each piece's number is written to it when its latency is measured; the second half of the pieces
/// is slow.
TEST(EvenMemory, SlowPiecesAreSpread) {
  constexpr std::size_t kPieces = 20, kTail = 3 * kMiB;
  constexpr std::size_t kPiece = 16 * kMiB;
  std::size_t piece = 0;
  EvenMemory memory(kPieces * kPiece + kTail, "test", [&](std::span<const std::byte> at) {
    auto* const first = const_cast<std::byte*>(at.data());
    const std::size_t number = ++piece;
    std::memcpy(first, &number, sizeof number);
    std::memcpy(first + at.size() - sizeof number, &number, sizeof number);
    return Seconds(number > kPieces / 2 ? 300e-9 : 120e-9);
  });
  ASSERT_EQ(piece, kPieces);
  ASSERT_EQ(memory.piece(), kPiece);
  ASSERT_TRUE(memory.kinds());
  EXPECT_EQ(memory.kinds()->slow_share, 0.5);
  std::vector<std::size_t> found;
  for (std::size_t place = 0; place < kPieces; ++place) {
    std::size_t first = 0, last = 0;
    const std::byte* const at = memory.bytes().data() + place * kPiece;
    std::memcpy(&first, at, sizeof first);
    std::memcpy(&last, at + kPiece - sizeof last, sizeof last);
    EXPECT_EQ(first, last);
    found.push_back(first);
  }
  // Every two pieces are one of each kind, and each kind keeps its order.
  for (std::size_t place = 0; place + 1 < kPieces; place += 2) {
    EXPECT_NE(found[place] > kPieces / 2, found[place + 1] > kPieces / 2);
  }
  std::ranges::sort(found);
  std::vector<std::size_t> all(kPieces);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(found, all);
  std::memset(memory.bytes().data(), 1, memory.bytes().size());  // The tail is present, too.
  memory.keep(5 * kPiece + 1);
  EXPECT_LT(memory.bytes().size(), 6 * kPiece);
  std::memset(memory.bytes().data(), 2, memory.bytes().size());
}

TEST(EvenMemory, MemoryOfOneKindStaysAsItIs) {
  std::vector<const std::byte*> asked;
  const EvenMemory memory(18 * 16 * kMiB, "test", [&](std::span<const std::byte> at) {
    asked.push_back(at.data());
    return Seconds(130e-9);
  });
  EXPECT_FALSE(memory.kinds());
  ASSERT_EQ(asked.size(), 18u);
  EXPECT_EQ(asked.front(), memory.bytes().data());
}

}  // namespace
}  // namespace sluice::engine
