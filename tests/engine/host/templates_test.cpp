#include "engine/host/templates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "engine/optimizer/master_weights.hpp"
#include "planner/graph/record.hpp"
#include "sim/error.hpp"
#include "tests/engine/reference_model.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;
using planner::Keep;

/// Largest relative error of a tensor's gradient, with the tensor's name.
struct WorstTensor {
  double error = 0;
  std::string name;
};

WorstTensor compare(const TinyModel& model, const UnitVectors& gradients,
                    const UnitDoubles& expected) {
  WorstTensor worst;
  for (std::size_t unit = 0; unit < gradients.size(); ++unit) {
    for (const auto& tensor : planner::unit_tensors(model.job.model, unit).tensors) {
      const double error = relative_error(gradients[unit].data() + tensor.offset,
                                          expected[unit].data() + tensor.offset, tensor.size());
      if (!(error <= worst.error)) worst = {error, tensor.name};
    }
  }
  return worst;
}

class Families : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Templates, Families, ::testing::ValuesIn(tiny_model_names()),
                         [](const auto& info) { return info.param; });

TEST_P(Families, LossAndEveryGradientAgreeWithDoublePrecisionFiniteDifferences) {
  const TinyModel model = tiny_model(GetParam());
  const StepResult step = run_step(model, Keep::all);
  EXPECT_NEAR(step.loss, reference_loss(model, to_double(model.weights)), 1e-6 * step.loss);
  EXPECT_NEAR(step.balance_loss, reference_balance_loss(model, to_double(model.weights)),
              1e-6 * step.balance_loss);
  EXPECT_EQ(step.balance_loss > 0, model.job.router_aux_loss_coef.has_value());
  const WorstTensor worst = compare(model, step.gradients, reference_gradients(model));
  EXPECT_LT(worst.error, 1e-5) << worst.name;
}

TEST_P(Families, WhatIsKeptChangesNoBit) {
  for (const ComputeType compute : {ComputeType::fp32, ComputeType::bf16}) {
    TinyModel model = tiny_model(GetParam());
    model.job.compute = compute;
    const StepResult all = run_step(model, Keep::all);
    for (const Keep keep : {Keep::input, Keep::selective}) {
      const StepResult other = run_step(model, keep);
      EXPECT_EQ(all.loss, other.loss);
      for (std::size_t unit = 0; unit < all.gradients.size(); ++unit) {
        EXPECT_EQ(0, std::memcmp(all.gradients[unit].data(), other.gradients[unit].data(),
                                 all.gradients[unit].size() * sizeof(float)))
            << to_string(keep) << " unit " << unit;
      }
    }
  }
}

TEST_P(Families, TasksStayWithinTheirWorkspaceAndRecords) {
  for (const ComputeType compute : {ComputeType::fp32, ComputeType::bf16}) {
    for (const Keep keep : {Keep::input, Keep::selective, Keep::all}) {
      TinyModel model = tiny_model(GetParam());
      model.job.compute = compute;
      const StepResult step = run_step(model, keep);
      EXPECT_TRUE(step.guards_intact);
      // The workspace and the records start as NaN, which must not reach a result.
      EXPECT_TRUE(std::isfinite(step.loss));
      for (const auto& unit : step.gradients) {
        for (const float value : unit) EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST_P(Families, ForwardOnlyLossIsTheTrainingLoss) {
  const StepResult step = run_step(tiny_model(GetParam()), Keep::input);
  EXPECT_EQ(step.loss, step.loss_only);
}

// bf16 has 8 significant bits: each rounding is off by at most 2^-9 = 0.2 %, and a gradient of this
// two-layer model passes about fifty of them (fourteen per layer in forward, as many in backward).
// If all had one sign they would add up to 50 x 2^-9 = 9.8 %, the limit for one tensor. Over many
// tensors signs vary: sqrt(50) x 2^-9 = 1.4 % is usual, and the limit of 4 % is about three times
// that.
TEST_P(Families, Bf16StaysNearDoubleWithTheSameWeights) {
  TinyModel model = tiny_model(GetParam());
  model.job.compute = ComputeType::bf16;
  for (auto& unit : model.weights) {
    for (float& weight : unit) weight = bf16_to_float(split_master(weight).high);
  }
  const StepResult step = run_step(model, Keep::all);
  EXPECT_NEAR(step.loss, reference_loss(model, to_double(model.weights)), 0.005 * step.loss);
  const UnitDoubles expected = reference_gradients(model);
  const WorstTensor worst = compare(model, step.gradients, expected);
  EXPECT_LT(worst.error, 0.1) << worst.name;
  EXPECT_GT(worst.error, 1e-4) << "bf16 compute did not round";
  double difference = 0;
  double size = 0;
  for (std::size_t unit = 0; unit < expected.size(); ++unit) {
    for (std::size_t i = 0; i < expected[unit].size(); ++i) {
      const double delta = double{step.gradients[unit][i]} - expected[unit][i];
      difference += delta * delta;
      size += expected[unit][i] * expected[unit][i];
    }
  }
  const double whole = std::sqrt(difference / size);
  EXPECT_LT(whole, 0.04);
  RecordProperty("gradient_error", std::to_string(whole));
  RecordProperty("loss_error",
                 std::to_string(step.loss / reference_loss(model, to_double(model.weights)) - 1));
}

// More tokens than a token tile, more queries than a query tile, a window that begins inside one.
TEST(Templates, ManyTilesGiveTheGradientOfOne) {
  for (const bool window : {false, true}) {
    planner::Job job = tiny_model("qwen3").job;
    job.seq_len = 150;
    job.micro_batch = 4;
    job.batch_size = 4;
    job.loss_chunk = 256;
    if (window) job.model.kinds.front().window = 70;
    const TinyModel model = tiny_model(job);
    const StepResult step = run_step(model, Keep::selective);
    EXPECT_TRUE(step.guards_intact);
    UnitDoubles weights = to_double(model.weights);
    EXPECT_NEAR(step.loss, reference_loss(model, weights), 1e-6 * step.loss);
    // Along its own gradient g, each tensor must change the loss at the rate |g|.
    for (std::size_t unit = 0; unit < weights.size(); ++unit) {
      for (const auto& tensor : planner::unit_tensors(job.model, unit).tensors) {
        const float* g = step.gradients[unit].data() + tensor.offset;
        double size = 0;
        for (std::int64_t i = 0; i < tensor.size(); ++i) size += double{g[i]} * g[i];
        size = std::sqrt(size);
        const auto loss_at = [&](double distance) {
          UnitDoubles moved = weights;
          for (std::int64_t i = 0; i < tensor.size(); ++i) {
            moved[unit][static_cast<std::size_t>(tensor.offset + i)] += distance * g[i] / size;
          }
          return reference_loss(model, moved);
        };
        const double rate = (loss_at(1e-4) - loss_at(-1e-4)) / 2e-4;
        EXPECT_NEAR(rate / size, 1.0, 1e-4) << tensor.name;
      }
    }
  }
}

TEST(Templates, FirstOverwritesPaddingIncluded) {
  const TinyModel model = tiny_model("qwen2");  // Biases of 12 elements leave padding.
  const StepResult step = run_step(model, Keep::all);
  const auto unit = planner::unit_tensors(model.job.model, 1);
  ASSERT_LT(unit.parameters(), unit.padded_size);
  double outside = 0;
  for (const float value : step.gradients[1]) outside += std::abs(value);
  for (const auto& tensor : unit.tensors) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      outside -= std::abs(step.gradients[1][static_cast<std::size_t>(tensor.offset + i)]);
    }
  }
  EXPECT_NEAR(outside, 0, 1e-9);
}

TEST(Templates, AllTargetsIgnoredGiveZeroLossAndGradient) {
  TinyModel model = tiny_model("llama");
  for (auto& target : model.targets) target = -1;
  const StepResult step = run_step(model, Keep::input);
  EXPECT_EQ(step.loss, 0);
  for (const auto& unit : step.gradients) {
    for (const float value : unit) EXPECT_EQ(value, 0);
  }
}

TEST(Norm, BlocksAreSumsOfSquaresInDouble) {
  std::vector<float> gradient(2 * kNormBlock + 5);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 7);
  std::vector<double> blocks(3);
  norm_blocks(gradient.data(), static_cast<std::int64_t>(gradient.size()), blocks.data());
  ASSERT_EQ(norm_block_count(static_cast<std::int64_t>(gradient.size())), 3);
  for (std::size_t block = 0; block < 3; ++block) {
    double expected = 0;
    for (std::size_t i = block * kNormBlock;
         i < std::min(gradient.size(), (block + 1) * kNormBlock); ++i) {
      expected += double{gradient[i]} * gradient[i];
    }
    EXPECT_EQ(blocks[block], expected);  // Integers: exact in any order.
  }
}

TEST(GradientWire, RoundsInPlaceToNearestEven) {
  std::vector<float> gradient;
  for (int i = 0; i < 1000; ++i) gradient.push_back(std::ldexp(1.0f + i / 997.0f, i % 60 - 30));
  const std::vector<float> before = gradient;
  auto* wire = reinterpret_cast<std::uint16_t*>(gradient.data());
  round_gradient(gradient.data(), 1000, wire);
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, reinterpret_cast<std::byte*>(gradient.data()) + 2 * i, 2);
    EXPECT_EQ(bits, float_to_bf16(before[i]));
  }
}

}  // namespace
}  // namespace sluice::engine::testing
