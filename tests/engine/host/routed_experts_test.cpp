// Passes of few tokens through mixtures of experts whose experts are loaded after routing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/forward/forward_session.hpp"
#include "engine/host/host_device.hpp"
#include "planner/graph/forward_graph.hpp"
#include "planner/layout/laid_out.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::engine {
namespace {

using planner::ComputeType;
using planner::ForwardGoal;
using planner::Tier;

constexpr std::int64_t kPart = 4;
constexpr std::byte kUnwritten{0xFF};

planner::Job routed_job(ComputeType compute) {
  planner::Job job = test::small_jobs().front().job;
  job.model.family = planner::Family::mixtral;
  job.model.names.experts = planner::kMixtralExperts;
  job.model.experts = planner::Experts{.count = 8, .active = 2, .intermediate = 24};
  job.model.intermediate = 48;
  job.batch_size = job.micro_batch = 1;
  job.sequence_chunk = kPart;
  job.compute = compute;
  return job;
}

/// Weights of arbitrary values that differ between elements.
class WavyWeights : public StateSource {
 public:
  void read(StatePart, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto element = static_cast<double>(tensor.offset + first) + static_cast<double>(i);
      out[i] = static_cast<float>(0.3 * std::sin(element * 1.7 + static_cast<double>(unit)));
    }
  }
};

/// Passes of `counts` tokens; records the logits of each.
class Passes : public PassWork {
 public:
  explicit Passes(std::vector<std::int64_t> counts) : counts_(std::move(counts)) {}
  void place_on(Device& device) { device_ = &device; }
  void fill(std::span<std::int32_t> tokens, std::int64_t pass) override {
    const std::int64_t count = counts_[static_cast<std::size_t>(pass - 1)];
    for (std::int64_t i = 0; i < count; ++i) {
      tokens[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((7 * (first_ + i) + 3) % 64);
    }
    device_->place({first_, count});
    first_ += count;
  }
  void finish(std::span<const std::byte> result, std::int64_t) override {
    logits.emplace_back(result.begin(), result.end());
  }
  [[nodiscard]] std::int64_t count() const { return std::ssize(counts_); }

  std::vector<std::vector<std::byte>> logits;

 private:
  std::vector<std::int64_t> counts_;
  Device* device_ = nullptr;
  std::int64_t first_ = 0;
};

/// A host device that counts the bytes of experts loaded for each unit.
class CountingDevice : public HostDevice {
 public:
  using HostDevice::HostDevice;
  void run(const BoundTask& task, const AdamWStep& update, Pace pace) override {
    if (task.kind == planner::TaskKind::load_experts) {
      loaded[task.unit] += task.access(planner::Role::destination).bytes;
    }
    HostDevice::run(task, update, pace);
  }
  std::map<int, Bytes> loaded;  ///< Bytes by unit; written by one lane's thread.
};

/// Runs the passes with all units in `tier`, in a poisoned device arena; returns the bytes of
/// experts loaded for each unit.
std::map<int, Bytes> run_passes(const planner::Job& job, Tier tier, Passes& passes) {
  planner::ForwardPlan plan;
  plan.weights.assign(planner::unit_count(job.model), tier);
  const planner::StepGraph graph =
      planner::build_forward_graph(job, ForwardGoal::next_token, plan, planner::test::RoundCosts());
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  const LinkPace fast{BytesPerSecond(1e10), Seconds(0)};
  auto owned = std::make_unique<CountingDevice>(
      job, HostDeviceSettings{.arenas = sizes, .capacity = sizes, .h2d = fast, .d2h = fast});
  CountingDevice& device = *owned;
  std::ranges::fill(device.arena(planner::Arena::device), kUnwritten);
  load_forward_weights(job, graph, device, WavyWeights(), {});
  passes.place_on(device);
  ForwardSession session(ForwardGoal::next_token, graph, std::move(owned), passes);
  session.run_to(passes.count());
  return device.loaded;
}

class RoutedExpertsRun : public ::testing::TestWithParam<ComputeType> {};

TEST_P(RoutedExpertsRun, GiveTheBitsOfResidentOnes) {
  const planner::Job job = routed_job(GetParam());
  Passes streamed({kPart, 3, 1, 0, 1}), resident({kPart, 3, 1, 0, 1});
  run_passes(job, Tier::host, streamed);
  run_passes(job, Tier::hbm, resident);
  ASSERT_EQ(streamed.logits.size(), 5U);
  EXPECT_EQ(streamed.logits, resident.logits);
  EXPECT_NE(streamed.logits[0], streamed.logits[1]);
}

TEST_P(RoutedExpertsRun, AreThoseThatTokensGoTo) {
  const planner::Job job = routed_job(GetParam());
  const Bytes expert = job.weight_element() * planner::expert_range(job.model).stride;
  Passes one({1}), none({0}), many({kPart});
  for (const auto& [unit, bytes] : run_passes(job, Tier::host, one)) {
    EXPECT_EQ(bytes, expert * job.model.experts->active) << unit;
  }
  EXPECT_TRUE(run_passes(job, Tier::host, none).empty());
  const auto loaded = run_passes(job, Tier::host, many);
  EXPECT_EQ(std::ssize(loaded), job.model.layers);
  for (const auto& [unit, bytes] : loaded) EXPECT_LE(bytes, expert * job.model.experts->count);
}

INSTANTIATE_TEST_SUITE_P(Compute, RoutedExpertsRun,
                         ::testing::Values(ComputeType::fp32, ComputeType::bf16),
                         [](const auto& info) {
                           return info.param == ComputeType::bf16 ? "bf16" : "fp32";
                         });

}  // namespace
}  // namespace sluice::engine
