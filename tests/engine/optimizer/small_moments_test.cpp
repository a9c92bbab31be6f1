// Moments in bf16 and int8: what is stored, and that nothing but the job's numbers decides it.
#include "engine/optimizer/small_moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

using planner::kMomentBlock;
using planner::StateType;

constexpr std::uint64_t kSeed = 5;

/// A unit's state with small moments, whose elements begin at `first` of the unit.
struct SmallState {
  StateType type;
  std::int64_t elements;
  std::vector<std::uint16_t> high, low;
  std::vector<float> gradient;
  std::vector<std::byte> m, v;
  SmallMoments moments() { return {type, m.data(), v.data(), elements, 3}; }
  AdamWOperands operands(std::int64_t at = 0) {
    return {high.data() + at, low.data() + at, nullptr, nullptr, gradient.data() + at};
  }
  friend bool operator==(const SmallState&, const SmallState&) = default;
};

/// Random masters, gradients of many magnitudes, and moments of zero.
SmallState small_state(StateType type, std::int64_t n) {
  SmallState state{
      .type = type, .elements = n, .high = {}, .low = {}, .gradient = {}, .m = {}, .v = {}};
  std::mt19937 random(23);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-9, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const SplitMaster halves = split_master(normal(random));
    state.high.push_back(halves.high);
    state.low.push_back(halves.low);
    state.gradient.push_back(i % 13 == 0 ? 0 : normal(random) * std::pow(10.0F, exponent(random)));
  }
  const auto bytes = static_cast<std::size_t>(scales_behind(n) * 2);
  state.m.resize(bytes);
  state.v.resize(bytes);
  return state;
}

AdamWStep step_number(std::int64_t number) {
  AdamWStep step = adamw_step({}, 1e-3, number, 0.7F);
  step.rounding = rounding_stream(kSeed, number);
  return step;
}

std::vector<AdamWSpan> small_spans(std::int64_t n) {
  return {{0, n / 3, true}, {n / 3 + 5, n - 40, false}};
}

/// The same update one element at a time, as small_moments.hpp states it.
void reference_update(SmallState& state, std::span<const AdamWSpan> spans, const AdamWStep& step) {
  const auto n = static_cast<std::size_t>(state.elements);
  const std::size_t whole = static_cast<std::size_t>(scales_behind(state.elements));
  std::vector<float> m(whole), v(whole);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const MomentBlock block = moment_block(state.moments(), at / kMomentBlock * kMomentBlock);
    const std::size_t in_block = i % kMomentBlock;
    if (state.type == StateType::bf16) {
      m[i] = bf16_to_float(reinterpret_cast<const std::uint16_t*>(block.m)[in_block]);
      v[i] = bf16_to_float(reinterpret_cast<const std::uint16_t*>(block.v)[in_block]);
    } else {
      m[i] = kFirstMomentMap.value[std::to_integer<int>(block.m[in_block])] * *block.m_scale;
      v[i] = kSecondMomentMap.value[std::to_integer<int>(block.v[in_block])] * *block.v_scale;
    }
  }
  AdamWOperands operands = state.operands();
  operands.m = m.data();
  operands.v = v.data();
  for (const AdamWSpan& span : spans) {
    adamw_paths().back().update(operands, span.begin, span.end, span.decays, step);
  }
  const RoundingKey key = rounding_key(step.rounding, 3);
  for (std::size_t begin = 0; begin < n; begin += kMomentBlock) {
    const MomentBlock block = moment_block(state.moments(), static_cast<std::int64_t>(begin));
    if (state.type == StateType::bf16) {
      for (std::size_t i = begin; i < begin + static_cast<std::size_t>(block.count); ++i) {
        const std::uint32_t random = random_word(key, static_cast<std::uint32_t>(i));
        reinterpret_cast<std::uint16_t*>(block.m)[i - begin] =
            stochastic_bf16(m[i], random & 0xffffu);
        reinterpret_cast<std::uint16_t*>(block.v)[i - begin] = stochastic_bf16(v[i], random >> 16);
      }
      continue;
    }
    float m_most = 0, v_most = 0;
    for (std::size_t i = begin; i < begin + kMomentBlock; ++i) {
      m_most = std::max(m_most, std::fabs(m[i]));
      v_most = std::max(v_most, v[i]);
    }
    *block.m_scale = moment_scale(m_most);
    *block.v_scale = moment_scale(v_most);
    for (std::size_t i = begin; i < begin + kMomentBlock; ++i) {
      const float m_of = std::fabs(m[i]) * inverse_scale(*block.m_scale);
      const float v_of = v[i] * inverse_scale(*block.v_scale);
      const int sign = std::signbit(m[i]) ? 128 : 0;
      block.m[i - begin] = static_cast<std::byte>(moment_code(kFirstMomentMap, m_of) | sign);
      block.v[i - begin] = static_cast<std::byte>(moment_code(kSecondMomentMap, v_of));
    }
  }
}

class SmallMomentsTest : public ::testing::TestWithParam<StateType> {};

TEST_P(SmallMomentsTest, FollowTheDocumentedOperationsBitForBit) {
  const std::int64_t n = 5 * kMomentBlock + 96;
  SmallState state = small_state(GetParam(), n), expected = state;
  ThreadPool pool(1);
  for (std::int64_t number = 1; number <= 4; ++number) {
    adamw_update(state.operands(), state.moments(), small_spans(n), step_number(number), pool, 1);
    reference_update(expected, small_spans(n), step_number(number));
    ASSERT_TRUE(state == expected) << number;
  }
  EXPECT_FALSE(state.m == small_state(GetParam(), n).m);
}

TEST_P(SmallMomentsTest, ThreadsAndPartsChangeNoBit) {
  const std::int64_t n = 2 * kUpdateBlock + 4096 + 160, cut = kUpdateBlock + 4096;
  SmallState whole = small_state(GetParam(), n), threaded = whole;
  ThreadPool pool(3);
  // Each part has moments of its own, as slices and pieces on the disk do.
  SmallState part = whole;
  SmallState first = small_state(GetParam(), cut), second = small_state(GetParam(), n - cut);
  for (std::int64_t number = 1; number <= 2; ++number) {
    const AdamWStep step = step_number(number);
    adamw_update(whole.operands(), whole.moments(), small_spans(n), step, pool, 1);
    adamw_update(threaded.operands(), threaded.moments(), small_spans(n), step, pool, 3);
    adamw_update(part.operands(), first.moments(), small_spans(n), step, pool, 2);
    adamw_update(part.operands(cut), second.moments(), small_spans(n), step, pool, 2, cut);
  }
  EXPECT_TRUE(whole == threaded);
  EXPECT_EQ(whole.high, part.high);
  EXPECT_EQ(whole.low, part.low);
  for (std::int64_t at = 0; at < n; at += kMomentBlock) {
    const bool in_first = at < cut;
    const MomentBlock found =
        moment_block(in_first ? first.moments() : second.moments(), in_first ? at : at - cut);
    const MomentBlock expected = moment_block(whole.moments(), at);
    const auto bytes =
        static_cast<std::size_t>(expected.count * moment_code_size(GetParam()).bytes);
    ASSERT_EQ(std::memcmp(found.m, expected.m, bytes), 0) << at;
    ASSERT_EQ(std::memcmp(found.v, expected.v, bytes), 0) << at;
    if (found.m_scale == nullptr) continue;
    ASSERT_EQ(*found.v_scale, *expected.v_scale);
  }
}

TEST_P(SmallMomentsTest, EveryPathReadsAndStoresTheSameBits) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-140, 120);
  const std::int64_t position = (std::int64_t{1} << 33) - kMomentBlock;
  for (int round = 0; round < 50; ++round) {
    alignas(64) float m[kMomentBlock], v[kMomentBlock];
    for (int i = 0; i < kMomentBlock; ++i) {
      // Narrow magnitudes in even rounds, so that all codes occur.
      const int power = round % 2 == 0 ? exponent(random) % 20 : exponent(random);
      m[i] = std::ldexp(mantissa(random), power);
      v[i] = std::fabs(std::ldexp(mantissa(random), power));
    }
    if (round == 10) m[7] = v[9] = std::numeric_limits<float>::infinity();
    if (round == 12) m[7] = v[9] = std::bit_cast<float>(0x7fffffffu);
    std::vector<SmallState> stored;
    std::vector<std::vector<std::uint32_t>> read;
    for (const MomentPath& path : moment_paths()) {
      if (!path.supported) continue;
      SmallState state = small_state(GetParam(), kMomentBlock);
      const MomentBlock block = moment_block(state.moments(), 0);
      path.store(GetParam(), block, m, v, rounding_key(9, round), position);
      float m_back[kMomentBlock], v_back[kMomentBlock];
      path.read(GetParam(), block, m_back, v_back);
      std::vector<std::uint32_t> bits;
      for (const float value : m_back)
        bits.push_back(std::isnan(value) ? 1u : std::bit_cast<std::uint32_t>(value));
      for (const float value : v_back)
        bits.push_back(std::isnan(value) ? 1u : std::bit_cast<std::uint32_t>(value));
      stored.push_back(state);
      read.push_back(bits);
      EXPECT_TRUE(stored.front() == state) << path.name;
      EXPECT_EQ(read.front(), bits) << path.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SmallMomentsTest,
                         ::testing::Values(StateType::bf16, StateType::int8),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(StochasticRounding, IsTheValueOnAverageAndLeavesWhatBf16Has) {
  const float value = 1 + 0x1p-10F;  // A quarter of the way from 1 to the next bf16.
  const RoundingKey key = rounding_key(rounding_stream(1, 1), 0);
  int up = 0;
  constexpr int kTries = 1 << 16;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    const float rounded = bf16_to_float(stochastic_bf16(value, random_word(key, i) & 0xffffu));
    EXPECT_TRUE(rounded == 1 || rounded == 1 + 0x1p-7F);
    up += rounded > 1 ? 1 : 0;
    EXPECT_EQ(stochastic_bf16(-1.5F, random_word(key, i) >> 16), float_to_bf16(-1.5F));
  }
  // Three deviations of a binomial distribution with p = 1/8.
  EXPECT_NEAR(up, kTries / 8, 3 * std::sqrt(kTries * 7.0 / 64));
  EXPECT_EQ(stochastic_bf16(std::numeric_limits<float>::infinity(), 0xffff), 0x7f80);
  EXPECT_EQ(stochastic_bf16(std::bit_cast<float>(0x7fffffffu), 0xffff), 0x7fc0);
}

TEST(StochasticRounding, KeysOfOtherSeedsStepsUnitsAndRunsOfElementsGiveOtherBits) {
  const auto word = [](std::uint64_t seed, std::int64_t step, std::int64_t unit,
                       std::int64_t position) {
    const RoundingKey key = rounding_key(rounding_stream(seed, step), unit);
    return random_word(key_at(key, position), static_cast<std::uint32_t>(position));
  };
  const std::uint32_t usual = word(1, 1, 1, 1);
  EXPECT_EQ(word(1, 1, 1, 1), usual);
  EXPECT_NE(word(2, 1, 1, 1), usual);
  EXPECT_NE(word(1, 2, 1, 1), usual);
  EXPECT_NE(word(1, 1, 2, 1), usual);
  EXPECT_NE(word(1, 1, 1, 2), usual);
  EXPECT_NE(word(1, 1, 1, 1 + (std::int64_t{1} << 32)), usual);
}

TEST(MomentMap, CodesEveryValueAsItselfAndEveryMagnitudeAsTheNearest) {
  for (const MomentMap* map : {&kFirstMomentMap, &kSecondMomentMap}) {
    for (int code = 0; code <= map->one; ++code) {
      EXPECT_TRUE(code == 0 || map->value[code] > map->value[code - 1]);
      // Decoding rounds, and so does dividing by the scale again.
      for (const float scale : {1.0F, 3.14159e-7F, 0x1p-100F, 2.7e38F}) {
        const float back = map->value[code] * scale * inverse_scale(scale);
        EXPECT_EQ(moment_code(*map, back), code) << scale;
      }
    }
    for (float x = 1e-8F; x <= 1; x *= 1.0007F) {
      const int code = moment_code(*map, x);
      float least = 2;
      for (int each = 0; each <= map->one; ++each) {
        least = std::min(least, std::fabs(map->value[each] - x));
      }
      EXPECT_LE(std::fabs(map->value[code] - x), least + 2e-6F * x) << x;
    }
  }
  EXPECT_EQ(kFirstMomentMap.value[127], 1);
  EXPECT_EQ(kFirstMomentMap.value[255], -1);
  EXPECT_EQ(kSecondMomentMap.value[255], 1);
  // Middles of the two cells of the lowest decades, from 0.1 to 1 of its end.
  EXPECT_FLOAT_EQ(kFirstMomentMap.value[1], 0.325e-5F);
  EXPECT_FLOAT_EQ(kSecondMomentMap.value[1], 0.325e-6F);
  EXPECT_FLOAT_EQ(kSecondMomentMap.value[254], 1 - 0.45F / 128);
}

}  // namespace
}  // namespace sluice::engine
