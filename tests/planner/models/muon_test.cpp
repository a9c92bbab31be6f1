// What Muon updates of a model, what that costs, and which settings and plans go with it.
#include "planner/models/muon.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "planner/costs/cost.hpp"
#include "planner/models/unit_size.hpp"
#include "planner/plans/plan.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/small_config.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

Job muon_job() {
  Job job = test::tiny_job();
  job.optimizer.kind = OptimizerKind::muon;
  return job;
}

TEST(Muon, TakesFiveTimesFourM2NAndTwoM3FlopsOfAMatrix) {
  const Job job = muon_job();
  double expected = 0;
  for (const TensorSpec& tensor : unit_tensors(job.model, 1).tensors) {
    if (tensor.rows == 1) continue;
    const auto m = static_cast<double>(std::min(tensor.rows, tensor.cols));
    const auto n = static_cast<double>(std::max(tensor.rows, tensor.cols));
    expected += 5 * (4 * m * m * n + 2 * m * m * m);
  }
  EXPECT_DOUBLE_EQ(work_of(job, Pass::block_update, 1).flops().count(), expected);
}

TEST(Muon, HasTheMatricesOfBlocksAloneAndTheirVectorsKeepSecondMoments) {
  const char* experts = R"("moe_intermediate_size": 24, "num_experts": 6,
      "num_experts_per_tok": 2, "num_local_experts": 6)";
  for (const char* family : {"llama", "qwen2", "qwen3_moe"}) {
    Job job = muon_job();
    const bool routed = std::string_view(family).find("moe") != std::string_view::npos;
    job.model = test::read(family, routed ? experts : "");
    EXPECT_FALSE(muon_updates(job, 0));
    EXPECT_FALSE(muon_updates(job, unit_count(job.model) - 1));
    for (std::size_t unit = 1; unit + 1 < unit_count(job.model); ++unit) {
      const UnitTensors tensors = unit_tensors(job.model, unit);
      const SecondMoments second = muon_second_moments(tensors);
      std::int64_t elements = 0, matrices = 0;
      for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
        const TensorSpec& tensor = tensors.tensors[i];
        EXPECT_EQ(second.begin[i].has_value(), tensor.rows == 1) << tensor.name;
        if (!second.begin[i]) matrices += tensor.size();
      }
      for (const auto& [side, other, count] : muon_matrices(job, unit)) {
        elements += side * other * count;
      }
      EXPECT_EQ(elements, matrices) << family;
      const UnitSize size = unit_size(job, unit);
      EXPECT_EQ(size.second, second.elements) << family;
      EXPECT_LT(state_bytes(job, size), Bytes(9 * size.parameters)) << family;
    }
    EXPECT_EQ(unit_size(job, 0).second, unit_size(job, 0).parameters);
  }
}

TEST(Muon, IsPartOfTheJobsHash) {
  const Job job = muon_job();
  const auto differs = [&](const auto& change) {
    Job other = job;
    change(other.optimizer);
    return job_hash(other) != job_hash(job);
  };
  EXPECT_TRUE(differs([](AdamWSettings& to) { to.kind = OptimizerKind::adamw; }));
  EXPECT_TRUE(differs([](AdamWSettings& to) { to.muon.momentum = 0.9; }));
  EXPECT_TRUE(differs([](AdamWSettings& to) { to.muon.nesterov = false; }));
  EXPECT_TRUE(differs([](AdamWSettings& to) { to.muon.ns_steps = 6; }));
  EXPECT_TRUE(differs([](AdamWSettings& to) { to.muon.adjust_lr_fn = MuonRate::original; }));
}

TEST(Muon, RefusesSettingsByName) {
  Job job = muon_job();
  job.optimizer.state = StateType::bf16;
  EXPECT_REFUSED(validate(job), "optimizer.state: bf16 does not go with optimizer.kind muon");
  job = muon_job();
  job.optimizer.muon.momentum = 1;
  EXPECT_REFUSED(validate(job), "optimizer.momentum: must be at least 0");
  job = muon_job();
  job.optimizer.muon.ns_steps = 100;
  EXPECT_REFUSED(validate(job), "optimizer.ns_steps: 100 must be between 1 and 99");
  job = muon_job();
  job.optimizer.muon.nesterov = false;
  job.optimizer.kind = OptimizerKind::adamw;
  EXPECT_REFUSED(validate(job), "optimizer.nesterov: is a setting of Muon");
}

TEST(Muon, UpdatesBlocksOnTheDeviceOfOneRankAlone) {
  const Job job = muon_job();
  Plan plan = uniform_plan(job, {.executor = Executor::gpu, .when = When::after}, 1);
  plan.units.front() = plan.units.back() = {};
  EXPECT_NO_THROW(validate(plan, job));
  plan.units[2] = {};
  EXPECT_REFUSED(validate(plan, job), "layers[2].executor: cpu does not go with optimizer.kind");
  Job shared = job;
  shared.groups = 2;
  Plan two = uniform_plan(shared, {.executor = Executor::gpu, .when = When::after}, 1);
  two.ranks = 2;
  EXPECT_REFUSED(validate(two, shared), "set optimizer.kind to adamw");
}

}  // namespace
}  // namespace sluice::planner
