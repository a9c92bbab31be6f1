// Updates of matrices by Muon on the host against torch.optim.Muon
// (tests/fixtures/make_muon_fixture.py), and of a block's vectors against AdamW.
#include "engine/host/muon_update.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/optimizer/master_weights.hpp"
#include "tests/engine/safetensors.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

constexpr double kLr = 0.02;
constexpr std::int64_t kSteps = 3;

/// The fixture's weight (step 0) or gradient of a step.
float element(std::int64_t i, std::int64_t rows, std::int64_t step) {
  const auto at = static_cast<double>(i);
  return static_cast<float>(
      std::sin(0.7 * at * static_cast<double>(step + 1) + static_cast<double>(rows)) *
      std::exp(-0.05 * at));
}

planner::Job muon_job(const planner::MuonSettings& settings, planner::ComputeType compute) {
  planner::Job job = tiny_model("llama").job;
  job.compute = compute;
  job.optimizer.kind = planner::OptimizerKind::muon;
  job.optimizer.weight_decay = 0.1;
  job.optimizer.muon = settings;
  return job;
}

/// State of one unit, and the scratch of its update.
struct State {
  explicit State(std::int64_t elements, std::int64_t second, const planner::Job& job)
      : high(static_cast<std::size_t>(elements)),
        low(high.size()),
        m(high.size()),
        v(static_cast<std::size_t>(second)),
        gradient(high.size()),
        scratch(static_cast<std::size_t>(
            planner::muon_workspace(job, planner::kHostMuonElement).total.count())) {}

  [[nodiscard]] AdamWOperands operands() {
    return {.high = high.data(),
            .low = low.data(),
            .m = m.data(),
            .v = v.data(),
            .gradient = gradient.data()};
  }
  void set(std::size_t i, float weight) {
    const SplitMaster halves = split_master(weight);
    high[i] = halves.high;
    low[i] = halves.low;
  }
  [[nodiscard]] float weight(std::size_t i) const { return join_master({high[i], low[i]}); }

  std::vector<std::uint16_t> high, low;
  std::vector<float> m, v, gradient;
  std::vector<std::byte> scratch;
};

/// Weights of a matrix after the fixture's steps.
std::vector<double> trained(const planner::Job& job, std::int64_t rows, std::int64_t cols) {
  planner::UnitTensors tensors;
  tensors.tensors.push_back({.name = "matrix",
                             .rows = rows,
                             .cols = cols,
                             .offset = 0,
                             .decays = true,
                             .role = planner::TensorRole::up});
  const MuonUnit unit = muon_unit(job.optimizer.muon, tensors);
  EXPECT_EQ(unit.matrices.size(), 1U);
  const planner::MuonWorkspace space = planner::muon_workspace(job, planner::kHostMuonElement);
  EXPECT_GE(space.next - space.x, planner::kHostMuonElement * (rows * cols));
  State state(rows * cols, planner::kTensorAlign, job);
  for (std::size_t i = 0; i < state.high.size(); ++i) {
    state.set(i, element(static_cast<std::int64_t>(i), rows, 0));
  }
  ThreadPool pool(1);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    for (std::size_t i = 0; i < state.gradient.size(); ++i) {
      state.gradient[i] = element(static_cast<std::int64_t>(i), rows, step);
    }
    muon_update(job, state.operands(), unit, adamw_step(job.optimizer, kLr, step, 1),
                state.scratch.data(), pool);
  }
  std::vector<double> weights;
  for (std::size_t i = 0; i < state.high.size(); ++i) weights.push_back(state.weight(i));
  return weights;
}

/// Torch's weights of the fixture's case `name`.
std::vector<double> of_torch(const std::string& name, std::int64_t rows, std::int64_t cols) {
  static const Fixture fixture =
      read_fixture(SLUICE_SOURCE_DIR "/tests/fixtures/muon/muon.safetensors");
  return fixture.tensor(name + "/" + std::to_string(rows) + "x" + std::to_string(cols)).values;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

constexpr std::int64_t kShapes[][2] = {{6, 10}, {10, 6}, {8, 8}};

TEST(MuonUpdate, GivesTheWeightsOfTorchOptimMuon) {
  using planner::MuonRate;
  const planner::MuonSettings nesterov{.adjust_lr_fn = MuonRate::original};
  const planner::MuonSettings plain{.momentum = 0.9, .nesterov = false, .ns_steps = 4};
  const auto fp32 = planner::ComputeType::fp32;
  for (const auto& [rows, cols] : kShapes) {
    const auto with = [&, rows = rows, cols = cols](const planner::MuonSettings& settings) {
      return trained(muon_job(settings, fp32), rows, cols);
    };
    EXPECT_LT(largest_difference(with(nesterov), of_torch("nesterov/fp32", rows, cols)), 1e-5);
    EXPECT_LT(largest_difference(with(plain), of_torch("plain/fp32", rows, cols)), 1e-5);
  }
}

TEST(MuonUpdate, WithProductsInBf16IsAsFarFromFp32AsTorchIs) {
  const planner::MuonSettings nesterov{.adjust_lr_fn = planner::MuonRate::original};
  for (const auto& [rows, cols] : kShapes) {
    const auto exact = of_torch("nesterov/fp32", rows, cols);
    const double usual = distance(of_torch("nesterov/bf16", rows, cols), exact);
    const auto found = trained(muon_job(nesterov, planner::ComputeType::bf16), rows, cols);
    EXPECT_LT(distance(found, exact), 1.5 * usual) << rows << " x " << cols;
    EXPECT_GT(distance(found, exact), 0.2 * usual) << rows << " x " << cols;
  }
}

TEST(MuonUpdate, OfABlockLeavesItsVectorsToAdamW) {
  const planner::Job job = muon_job({}, planner::ComputeType::fp32);
  const planner::UnitTensors tensors = planner::unit_tensors(job.model, 1);
  const planner::SecondMoments second = planner::muon_second_moments(tensors);
  EXPECT_EQ(second.elements, planner::muon_second_size(job, 1));
  State state(tensors.padded_size, second.elements, job);
  State by_adamw(tensors.padded_size, tensors.padded_size, job);
  for (std::size_t i = 0; i < state.high.size(); ++i) {
    const float weight = element(static_cast<std::int64_t>(i), 3, 0);
    state.set(i, weight);
    by_adamw.set(i, weight);
    state.gradient[i] = by_adamw.gradient[i] = element(static_cast<std::int64_t>(i), 3, 1);
  }
  ThreadPool pool(1);
  const AdamWStep step = adamw_step(job.optimizer, kLr, 1, 0.5F);
  muon_update(job, state.operands(), muon_unit(job.optimizer.muon, tensors), step,
              state.scratch.data(), pool);
  adamw_update(by_adamw.operands(), adamw_spans(tensors), step, pool, 1);
  std::size_t vectors = 0;
  for (std::size_t t = 0; t < tensors.tensors.size(); ++t) {
    const planner::TensorSpec& tensor = tensors.tensors[t];
    const auto begin = static_cast<std::size_t>(tensor.offset);
    for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i) {
      const bool equal = state.weight(begin + i) == by_adamw.weight(begin + i);
      if (!second.begin[t]) {
        EXPECT_FALSE(equal) << tensor.name;
        break;
      }
      EXPECT_TRUE(equal) << tensor.name << " " << i;
      EXPECT_EQ(state.v[static_cast<std::size_t>(*second.begin[t]) + i], by_adamw.v[begin + i]);
    }
    vectors += second.begin[t] ? 1 : 0;
  }
  EXPECT_EQ(vectors, 2U) << "the norms before attention and before the MLP";
}

TEST(MuonUpdate, OfAStepWithoutTargetsChangesNothing) {
  const planner::Job job = muon_job({}, planner::ComputeType::fp32);
  const planner::UnitTensors tensors = planner::unit_tensors(job.model, 1);
  State state(tensors.padded_size, planner::muon_second_size(job, 1), job);
  std::ranges::fill(state.gradient, 1.0F);
  AdamWStep step = adamw_step(job.optimizer, kLr, 1, 1);
  step.changes_nothing = true;
  ThreadPool pool(1);
  muon_update(job, state.operands(), muon_unit(job.optimizer.muon, tensors), step,
              state.scratch.data(), pool);
  EXPECT_EQ(std::ranges::count(state.m, 0.0F), std::ssize(state.m));
  EXPECT_EQ(std::ranges::count(state.high, 0), std::ssize(state.high));
}

}  // namespace
}  // namespace sluice::engine::testing
