#include "engine/optimizer/adamw.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

struct AdamWState {
  std::vector<std::uint16_t> high, low;
  std::vector<float> m, v, gradient;
  std::vector<std::uint16_t> wire;
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(high.size()); }
  AdamWOperands operands() {
    return {high.data(), low.data(), m.data(), v.data(), gradient.data()};
  }
  AdamWOperands wired() {
    return {high.data(), low.data(), m.data(), v.data(), wire.data(), planner::GradientWire::bf16};
  }
  friend bool operator==(const AdamWState& a, const AdamWState& b) {
    const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
      return std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
    };
    return a.high == b.high && a.low == b.low && same(a.m, b.m) && same(a.v, b.v);
  }
};

/// State of magnitudes over the whole range of fp32, denormals and zeros included.
AdamWState wild_state(std::int64_t n) {
  AdamWState state;
  std::mt19937 random(11);
  std::uniform_real_distribution<float> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-140, 20);
  const auto wild = [&] { return std::ldexp(mantissa(random), exponent(random)); };
  for (std::int64_t i = 0; i < n; ++i) {
    const SplitMaster halves = split_master(i % 17 == 0 ? 0.0f : wild());
    state.high.push_back(halves.high);
    state.low.push_back(halves.low);
    state.m.push_back(wild());
    state.v.push_back(std::abs(wild()));
    state.gradient.push_back(i % 13 == 0 ? 0.0f : wild());
    state.wire.push_back(float_to_bf16(state.gradient.back()));
  }
  return state;
}

planner::AdamWSettings settings() {
  planner::AdamWSettings result;
  result.weight_decay = 0.1;
  return result;
}

/// A span with decay and one without, with a gap between them as padding leaves.
std::vector<AdamWSpan> spans_of(std::int64_t n) {
  return {{0, n / 3, true}, {n / 3 + 5, n, false}};
}

TEST(AdamW, AStepThatChangesNothingTouchesNoElement) {
  AdamWState state = wild_state(1003);
  const AdamWState start = state;
  AdamWStep step = adamw_step(settings(), 1e-3, 3, 0.7f);
  ThreadPool pool(1);
  step.changes_nothing = true;
  adamw_update(state.operands(), spans_of(state.size()), step, pool, 1);
  EXPECT_TRUE(state == start);
  step.changes_nothing = false;
  adamw_update(state.operands(), spans_of(state.size()), step, pool, 1);
  EXPECT_FALSE(state == start);
}

TEST(AdamW, EveryPathGivesTheSameBits) {
  const AdamWState start = wild_state(1003);
  const AdamWStep step = adamw_step(settings(), 1e-3, 3, 0.7f);
  for (const bool wired : {false, true}) {
    for (const bool decays : {false, true}) {
      std::vector<AdamWState> results;
      for (const AdamWPath& path : adamw_paths()) {
        if (!path.supported) continue;
        AdamWState state = start;
        path.update(wired ? state.wired() : state.operands(), 0, state.size(), decays, step);
        results.push_back(state);
        EXPECT_TRUE(results.front() == state) << path.name;
      }
      EXPECT_FALSE(results.front() == start);
    }
  }
}

TEST(AdamW, ThreadsAndBlocksChangeNoBit) {
  const std::int64_t n = 3 * kUpdateBlock + 77;
  const AdamWState start = wild_state(n);
  const AdamWStep step = adamw_step(settings(), 1e-3, 1, 1.0f);
  ThreadPool pool(3);
  const auto spans = spans_of(n);
  std::vector<AdamWState> results;
  for (const int threads : {1, 2, 3}) {
    AdamWState state = start;
    adamw_update(state.operands(), spans, step, pool, threads);
    results.push_back(state);
    EXPECT_TRUE(results.front() == state) << threads;
  }
  // The gap stays as it was.
  for (std::int64_t i = n / 3; i < n / 3 + 5; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(results[0].m[at], start.m[at]);
    EXPECT_EQ(results[0].high[at], start.high[at]);
  }
}

TEST(AdamW, FollowsTheDocumentedOperationsBitForBit) {
  const AdamWState start = wild_state(500);
  const AdamWStep step = adamw_step(settings(), 2e-3, 7, 0.25f);
  for (const bool decays : {false, true}) {
    AdamWState state = start;
    adamw_paths().back().update(state.operands(), 0, state.size(), decays, step);
    for (std::size_t i = 0; i < start.high.size(); ++i) {
      volatile float product = start.gradient[i] * step.clip_scale;
      const float g = product;
      product = step.beta1 * start.m[i];
      const float m = std::fma(step.one_minus_beta1, g, product);
      product = step.beta2 * start.v[i];
      const float kept = product;
      product = g * g;
      const float v = std::fma(step.one_minus_beta2, product, kept);
      const float d = std::fma(std::sqrt(v), step.inverse_root_correction2, step.eps);
      float p = join_master({start.high[i], start.low[i]});
      if (decays) p = std::fma(step.minus_decay, p, p);
      product = m / d;
      p = std::fma(step.minus_step_size, product, p);
      EXPECT_EQ(state.m[i], m);
      EXPECT_EQ(state.v[i], v);
      EXPECT_TRUE((SplitMaster{state.high[i], state.low[i]}) == split_master(p));
    }
  }
}

TEST(AdamW, DenormalsAreNotFlushed) {
  AdamWState state = wild_state(64);
  const float tiny = std::numeric_limits<float>::denorm_min() * 1000;
  for (auto& m : state.m) m = tiny;
  for (auto& g : state.gradient) g = 0;
  const AdamWStep step = adamw_step(settings(), 1e-3, 1, 1.0f);
  for (const AdamWPath& path : adamw_paths()) {
    if (!path.supported) continue;
    AdamWState copy = state;
    path.update(copy.operands(), 0, copy.size(), true, step);
    for (const float m : copy.m) EXPECT_EQ(m, 0.9f * tiny) << path.name;
  }
}

TEST(AdamW, WireGradientIsTheRoundedGradient) {
  AdamWState wired = wild_state(100);
  AdamWState plain = wired;
  for (std::size_t i = 0; i < plain.wire.size(); ++i) {
    plain.gradient[i] = bf16_to_float(plain.wire[i]);
  }
  const AdamWStep step = adamw_step(settings(), 1e-3, 2, 1.0f);
  ThreadPool pool(1);
  const auto spans = spans_of(100);
  adamw_update(wired.wired(), spans, step, pool, 1);
  adamw_update(plain.operands(), spans, step, pool, 1);
  EXPECT_TRUE(wired == plain);
}

TEST(AdamW, FirstStepMovesByTheLearningRateAgainstTheGradient) {
  // m / sqrt(v) with bias corrections is sign(g) at step 1; no decay.
  planner::AdamWSettings plain;
  plain.weight_decay = 0;
  AdamWState state;
  for (const float g : {3.0f, -0.001f}) {
    const SplitMaster halves = split_master(0.5f);
    state.high.push_back(halves.high);
    state.low.push_back(halves.low);
    state.m.push_back(0);
    state.v.push_back(0);
    state.gradient.push_back(g);
  }
  ThreadPool pool(1);
  const AdamWSpan span{0, 2, true};
  adamw_update(state.operands(), {&span, 1}, adamw_step(plain, 0.01, 1, 1.0f), pool, 1);
  EXPECT_NEAR(join_master({state.high[0], state.low[0]}), 0.49, 1e-6);
  EXPECT_NEAR(join_master({state.high[1], state.low[1]}), 0.51, 1e-6);
}

TEST(AdamW, ClipScaleBringsTheNormToTheClip) {
  planner::AdamWSettings clipped;
  clipped.clip = 2.0;
  EXPECT_EQ(clip_scale(clipped, 1.0), 1.0f);
  EXPECT_NEAR(clip_scale(clipped, 8.0), 0.25, 1e-6);
  EXPECT_EQ(clip_scale(clipped, 0.0), 1.0f);
  clipped.clip.reset();
  EXPECT_EQ(clip_scale(clipped, 1e9), 1.0f);
}

TEST(AdamW, SpansFollowTheTensorsAndLeavePaddingOut) {
  planner::UnitTensors unit;
  unit.tensors = {{"a.weight", 4, 8, 0, true},
                  {"b.weight", 4, 8, 32, true},   // Adjacent tensors with the same decay: one span.
                  {"c.weight", 1, 8, 64, false},  // Padding follows.
                  {"d.weight", 2, 16, 96, true}};
  unit.padded_size = 128;
  const auto spans = adamw_spans(unit);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].end, 64);
  EXPECT_EQ(spans[1].end, 72);
  EXPECT_FALSE(spans[1].decays);
  EXPECT_EQ(spans[2].begin, 96);
}

}  // namespace
}  // namespace sluice::engine
