// Groups of micro-batches: gradients are sums along the tree of docs/numerics.md, whatever the
// plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/host/host_device.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/tiny_model.hpp"
#include "tests/planner/disk_jobs.hpp"

namespace sluice::engine::test {
namespace {

constexpr std::int64_t kGroupedSteps = 2;
constexpr std::int64_t kMicroBatches = 8;

/// The small jobs with eight micro-batches in `groups` groups.
std::vector<NamedJob> grouped_jobs(std::int64_t groups) {
  std::vector<NamedJob> jobs = small_jobs();
  for (NamedJob& each : jobs) {
    each.job.batch_size = kMicroBatches * each.job.micro_batch;
    each.job.groups = groups;
    each.name += ", groups " + std::to_string(groups);
  }
  return jobs;
}

planner::Plan streamed_plan(const planner::Job& job) {
  return planner::uniform_plan(job, planner::UnitPlan{}, 1);
}

class Groups : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(Groups, RandomPlansGiveTheBitsOfThePlainPlan) {
  std::set<std::int64_t> rounds;
  std::uint64_t seed = static_cast<std::uint64_t>(GetParam()) * 1000;
  for (const auto& [name, job] : grouped_jobs(GetParam())) {
    const Outcome expected = run_plan(job, streamed_plan(job), kGroupedSteps);
    for (int i = 0; i < 4; ++i, ++seed) {
      const planner::Plan plan = planner::random_plan(job, seed);
      rounds.insert(plan.rounds);
      EXPECT_EQ(run_plan(job, plan, kGroupedSteps), expected)
          << name << ", seed " << seed << ": " << describe(plan);
    }
  }
  EXPECT_EQ(rounds, (std::set<std::int64_t>{1, 2, 4, 8}));
}

/// State of a tiny model, without moments.
class ModelWeights : public StateSource {
 public:
  explicit ModelWeights(const testing::TinyModel& model) : model_(model) {}
  void read(StatePart, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override {
    const auto begin = model_.weights[unit].begin() + tensor.offset + first;
    std::copy_n(begin, out.size(), out.begin());
  }

 private:
  const testing::TinyModel& model_;
};

class ModelTokens : public TokenSource {
 public:
  explicit ModelTokens(const testing::TinyModel& model) : model_(model) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override {
    const auto at =
        static_cast<std::ptrdiff_t>(position % model_.job.batch_size * model_.job.seq_len);
    std::copy_n(model_.tokens.begin() + at, inputs.size(), inputs.begin());
    std::copy_n(model_.targets.begin() + at, targets.size(), targets.begin());
  }

 private:
  const testing::TinyModel& model_;
};

/// Gradients of all units after the first step of a session whose gradients stay on the device.
testing::UnitVectors gradients_of_session(const testing::TinyModel& model, std::int64_t rounds) {
  const planner::Plan plan = planner::uniform_plan(model.job,
                                                   {.weights = planner::Tier::hbm,
                                                    .gradients = planner::Tier::hbm,
                                                    .state = planner::Tier::hbm,
                                                    .executor = planner::Executor::gpu,
                                                    .when = planner::When::after},
                                                   rounds);
  const planner::StepGraph graph = graph_of(model.job, plan);
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  const LinkPace fast{BytesPerSecond(1e10), Seconds(0)};
  ModelTokens tokens(model);
  const ModelWeights weights(model);
  Session session(
      model.job, graph,
      std::make_unique<HostDevice>(
          model.job,
          HostDeviceSettings{
              .arenas = sizes, .capacity = sizes, .h2d = fast, .d2h = fast, .threads = 1}),
      tokens, [](std::int64_t) { return 1e-3; },
      LoadedState{.source = weights, .moments = LoadedState::Moments::zero});
  session.run_to(1);
  testing::UnitVectors gradients(planner::unit_count(model.job.model));
  for (const BoundTask& task : session.program().tasks()) {
    if (task.kind != planner::TaskKind::norm) continue;
    const BoundAccess& gradient = task.access(planner::Role::gradient);
    const auto* begin = reinterpret_cast<const float*>(gradient.data);
    gradients[static_cast<std::size_t>(task.unit)].assign(begin,
                                                          begin + gradient.bytes.count() / 4);
  }
  return gradients;
}

TEST_P(Groups, GradientsAreThoseOfAPlainComputation) {
  for (auto [name, job] : grouped_jobs(GetParam())) {
    if (job.attention == planner::AttentionSpan::document) continue;  // Its tokens have marks.
    job.gradient_wire = planner::GradientWire::fp32;
    testing::TinyModel model = testing::tiny_model(job);
    model.targets[1] = model.targets[0];
    const testing::StepResult expected = testing::run_step(model, planner::Keep::all);
    for (const std::int64_t rounds : {1, 4}) {
      const testing::UnitVectors found = gradients_of_session(model, rounds);
      ASSERT_EQ(found.size(), expected.gradients.size());
      for (std::size_t unit = 0; unit < found.size(); ++unit) {
        EXPECT_EQ(found[unit], expected.gradients[unit])
            << name << ", unit " << unit << ", rounds " << rounds;
      }
    }
  }
}

TEST_P(Groups, StateOnTheDiskGivesTheBitsOfNone) {
  const ScratchFolder folder;
  int on_disk = 0;
  for (const std::size_t which : {0, 3}) {
    const auto [name, job] = grouped_jobs(GetParam())[which];
    const Outcome expected = run_plan(job, streamed_plan(job), kGroupedSteps);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const planner::Plan plan = planner::test::random_disk_plan(job, seed, ~0ull);
      if (!planner::is_valid(plan, job)) continue;  // Gradients cannot wait on the disk.
      on_disk += planner::uses_disk(plan) ? 1 : 0;
      EXPECT_EQ(run_plan(job, plan, kGroupedSteps, {.folder = folder.path()}), expected)
          << name << ", seed " << seed << ": " << describe(plan);
    }
  }
  EXPECT_GE(on_disk, 2);
}

INSTANTIATE_TEST_SUITE_P(OfEightMicroBatches, Groups, ::testing::Values(1, 2, 3, 4, 6, 8));

TEST(GroupsOfAJob, ChangeBitsWithTheirNumberAlone) {
  std::set<std::string> weights;
  for (const std::int64_t groups : {1, 2, 3, 4, 6, 8}) {
    const planner::Job job = grouped_jobs(groups)[0].job;
    weights.insert(run_plan(job, streamed_plan(job), kGroupedSteps).weights_sha256);
  }
  EXPECT_EQ(weights.size(), 6U);
}

}  // namespace
}  // namespace sluice::engine::test
