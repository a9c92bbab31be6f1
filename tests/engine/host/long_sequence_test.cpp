// Long sequences in chunks of tokens, for MLPs and the loss, against the same computation without
// chunks and against a forward pass that takes the sequence in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tests/engine/piece_by_piece.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;
using planner::Keep;

constexpr std::array kKeeps{Keep::all, Keep::selective, Keep::input};

/// Largest |a - b| / |b| of a unit's gradients.
double worst_unit(const UnitVectors& a, const UnitVectors& b) {
  double worst = 0;
  for (std::size_t unit = 0; unit < a.size(); ++unit) {
    const std::vector<double> expected(b[unit].begin(), b[unit].end());
    worst = std::max(worst, relative_error(a[unit].data(), expected.data(),
                                           static_cast<std::int64_t>(expected.size())));
  }
  return worst;
}

/// What rounding does to a model's gradients: their largest relative change when every weight
/// moves to a neighbouring float, one up and the next down.
double effect_of_rounding(TinyModel model, const StepResult& exact) {
  for (auto& unit : model.weights) {
    for (std::size_t i = 0; i < unit.size(); ++i) {
      if (unit[i] != 0) unit[i] = std::nextafter(unit[i], i % 2 == 0 ? 1e9F : -1e9F);
    }
  }
  return worst_unit(run_step(model, Keep::all).gradients, exact.gradients);
}

bool same_bits(const UnitVectors& a, const UnitVectors& b) {
  for (std::size_t unit = 0; unit < a.size(); ++unit) {
    if (std::memcmp(a[unit].data(), b[unit].data(), a[unit].size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

/// A model with one sequence of `length` tokens.
TinyModel long_model(const std::string& name, std::int64_t length) {
  planner::Job job = tiny_model(name).job;
  job.seq_len = length;
  job.batch_size = 1;
  return tiny_model(job);
}

class LongSequence : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Templates, LongSequence, ::testing::ValuesIn(tiny_model_names()),
                         [](const auto& info) { return info.param; });

TEST_P(LongSequence, AnMlpInChunksGivesTheGradientsOfTheWholeToRounding) {
  TinyModel model = long_model(GetParam(), 20);
  const StepResult whole = run_step(model, Keep::all);
  const double rounding = effect_of_rounding(model, whole);
  ASSERT_LT(rounding, 1e-5);
  for (const std::int64_t chunk : {1, 7, 19}) {
    model.job.mlp_chunk = chunk;
    const StepResult chunks = run_step(model, Keep::all);
    EXPECT_TRUE(chunks.guards_intact) << chunk;
    EXPECT_NEAR(chunks.loss, whole.loss, 1e-6 * whole.loss) << chunk;
    const double apart = worst_unit(chunks.gradients, whole.gradients);
    EXPECT_LT(apart, rounding) << chunk;
  }
}

TEST_P(LongSequence, WhatIsKeptOfChunkedBlocksChangesNoBit) {
  for (const ComputeType compute : {ComputeType::fp32, ComputeType::bf16}) {
    TinyModel model = long_model(GetParam(), 20);
    model.job.compute = compute;
    model.job.mlp_chunk = 7;
    const StepResult all = run_step(model, Keep::all);
    for (const Keep keep : kKeeps) {
      const StepResult other = run_step(model, keep);
      EXPECT_TRUE(other.guards_intact) << to_string(keep);
      EXPECT_EQ(other.loss, all.loss) << to_string(keep);
      EXPECT_TRUE(same_bits(other.gradients, all.gradients)) << to_string(keep);
    }
  }
}

TEST(LongSequenceTiles, ChunksOfWholeTilesGiveTheBitsOfTheWhole) {
  // The host adds weight gradients up 512 tokens at a time, in chunks or not.
  TinyModel model = long_model("qwen2", 1100);
  const StepResult whole = run_step(model, Keep::input);
  model.job.mlp_chunk = 1024;
  const StepResult chunks = run_step(model, Keep::input);
  EXPECT_EQ(chunks.loss, whole.loss);
  EXPECT_TRUE(same_bits(chunks.gradients, whole.gradients));
}

TEST_P(LongSequence, LossEqualsAReferenceComputedInPieces) {
  TinyModel model = long_model(GetParam(), 800);
  model.job.mlp_chunk = 300;
  model.job.loss_chunk = 130;
  const double loss = run_step(model, Keep::input).loss * static_cast<double>(model.job.tokens());
  EXPECT_NEAR(PieceByPiece(model, 80).loss(), loss, 1e-6 * loss);
  EXPECT_NEAR(PieceByPiece(model, 1).loss(), loss, 1e-6 * loss);
}

}  // namespace
}  // namespace sluice::engine::testing
