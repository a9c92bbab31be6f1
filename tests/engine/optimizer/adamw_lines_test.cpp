// Begin and end of an update, and alignment of its arrays, change no bit: whole cache lines are
// streamed, the rest is not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kCount = 200;

struct Placement {
  std::string name;
  std::size_t high, low, m, v, gradient;  ///< Offsets in bytes from the start of a line.
};

const std::vector<Placement>& placements() {
  static const std::vector<Placement> all = {
      {"aligned", 0, 0, 0, 0, 0},
      {"gradient anywhere", 0, 0, 0, 0, 12},
      {"lines begin together at element 27", 10, 10, 20, 20, 4},
      {"high apart", 2, 0, 0, 0, 0},
      {"low apart", 0, 2, 0, 0, 0},
      {"m apart", 0, 0, 4, 0, 0},
      {"v half a line apart", 0, 0, 0, 32, 0},
  };
  return all;
}

struct alignas(64) Line {
  unsigned char bytes[64];
  friend bool operator==(const Line& a, const Line& b) {
    return std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
  }
};

/// An array that begins `past` bytes after the start of a line, with at least a line of guard bytes
/// on both sides. Copies have the same alignment.
class Array {
 public:
  Array(std::size_t bytes, std::size_t past) : past_(past), lines_((past + bytes) / 64 + 3) {
    for (Line& line : lines_) std::memset(line.bytes, 0xa5, sizeof line.bytes);
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(lines_[1].bytes + past_);
  }
  friend bool operator==(const Array&, const Array&) = default;  ///< Guard bytes are compared, too.

 private:
  std::size_t past_;
  std::vector<Line> lines_;
};

struct State {
  Array high, low, m, v, gradient;
  planner::GradientWire wire;
  State(const Placement& at, planner::GradientWire wire)
      : high(2 * kCount, at.high),
        low(2 * kCount, at.low),
        m(4 * kCount, at.m),
        v(4 * kCount, at.v),
        gradient(4 * kCount, at.gradient),
        wire(wire) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1);
    std::uniform_int_distribution<int> exponent(-140, 20);
    // Magnitudes over the whole range of fp32, denormals included.
    const auto wild = [&] { return std::ldexp(normal(random), exponent(random)); };
    for (std::int64_t i = 0; i < kCount; ++i) {
      const SplitMaster halves = split_master(wild());
      high.as<std::uint16_t>()[i] = halves.high;
      low.as<std::uint16_t>()[i] = halves.low;
      m.as<float>()[i] = wild();
      v.as<float>()[i] = std::abs(wild());
      const float g = wild();
      if (wire == planner::GradientWire::fp32) {
        gradient.as<float>()[i] = g;
      } else {
        gradient.as<std::uint16_t>()[i] = float_to_bf16(g);
      }
    }
  }
  AdamWOperands operands() {
    return {high.as<std::uint16_t>(),
            low.as<std::uint16_t>(),
            m.as<float>(),
            v.as<float>(),
            gradient.as<void>(),
            wire};
  }
  friend bool operator==(const State&, const State&) = default;
};

TEST(AdamWLines, EveryBeginEndAndPlacementGivesThePortableBitsAndWritesNothingElse) {
  planner::AdamWSettings settings;
  settings.weight_decay = 0.1;
  const AdamWStep step = adamw_step(settings, 1e-2, 4, 0.5f);
  const AdamWPath& portable = adamw_paths().back();
  for (const Placement& placement : placements()) {
    for (const auto wire : {planner::GradientWire::fp32, planner::GradientWire::bf16}) {
      const State start(placement, wire);
      for (const std::int64_t begin : {0, 1, 27, 31, 32, 33, 64}) {
        for (const std::int64_t end : {64, 65, 91, 96, 127, 128, 160, 199, 200}) {
          State expected = start;
          portable.update(expected.operands(), begin, end, true, step);
          EXPECT_TRUE(begin >= end || !(expected == start));
          for (const AdamWPath& path : adamw_paths()) {
            if (!path.supported) continue;
            State state = start;
            path.update(state.operands(), begin, end, true, step);
            EXPECT_TRUE(state == expected)
                << path.name << ", " << placement.name << ", [" << begin << ", " << end << ")";
          }
        }
      }
    }
  }
}

TEST(AdamWLines, ManyLinesAreUpdatedOnceEach) {
  // Longer than the prefetch distance, so that the end of prefetching is tested.
  const std::int64_t n = 5000;
  const AdamWStep step = adamw_step({}, 1e-2, 1, 1.0f);
  for (const AdamWPath& path : adamw_paths()) {
    if (!path.supported) continue;
    const auto size = static_cast<std::size_t>(n);
    Array high(2 * size, 0), low(2 * size, 0), m(4 * size, 0), v(4 * size, 0), g(4 * size, 0);
    const AdamWOperands operands{high.as<std::uint16_t>(), low.as<std::uint16_t>(), m.as<float>(),
                                 v.as<float>(), g.as<float>()};
    for (const auto& [array, bytes] : {std::pair{&high, 2}, {&low, 2}, {&m, 4}, {&v, 4}}) {
      std::memset(array->as<void>(), 0, size * static_cast<std::size_t>(bytes));
    }
    for (std::size_t i = 0; i < size; ++i) g.as<float>()[i] = static_cast<float>(i + 1);
    path.update(operands, 0, n, false, step);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(operands.m[i], step.one_minus_beta1 * g.as<float>()[i]) << path.name << " " << i;
      ASSERT_LT(join_master({operands.high[i], operands.low[i]}), 0.0f) << path.name << " " << i;
    }
  }
}

}  // namespace
}  // namespace sluice::engine
