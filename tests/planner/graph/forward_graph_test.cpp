// Tests of the graph of forward passes alone, and of the plan that fits.
#include "planner/graph/forward_graph.hpp"

#include <gtest/gtest.h>

#include "planner/layout/layout.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/forward_search.hpp"

namespace sluice::planner {
namespace {

RunConfig small_run() {
  RunConfig config;
  config.model = "bytes-2m";
  config.seq_len = 32;
  config.batch_size = 4;
  config.machine = "h200";
  return config;
}

Bytes bytes_of_part(const Memory& memory, Tier tier, const std::string& name) {
  for (const auto& [part, bytes] : at(memory, tier).parts) {
    if (part == name) return bytes;
  }
  return Bytes(0);
}

struct ForwardCase {
  Request planning;
  Job job;
  ForwardGoal goal;
  [[nodiscard]] ForwardRequest request() const {
    return {job, goal, planning.predictor.machine(), planning.predictor.costs()};
  }
};

ForwardCase small_case(ForwardGoal goal) {
  Request planning = resolve(small_run());
  Job job = planning.predictor.job();
  if (goal == ForwardGoal::next_token) {
    job.batch_size = 1;
    job.sequence_chunk = 8;
  }
  return {std::move(planning), job, goal};
}

TEST(ForwardGraph, HoldsEachWeightOnceAndNothingOfTheOptimizer) {
  for (const ForwardGoal goal : {ForwardGoal::loss, ForwardGoal::next_token}) {
    const ForwardCase each = small_case(goal);
    for (const Tier tier : {Tier::hbm, Tier::host}) {
      ForwardPlan plan;
      plan.weights.assign(unit_count(each.job.model), tier);
      const ForwardPrediction found = predict_forward(each.request(), plan);
      EXPECT_FALSE(find_layout_fault(found.graph, found.graph.layout));
      Bytes weights{0};
      for (const StepTensor& tensor : found.graph.tensors) {
        EXPECT_NE(tensor.part, "state");
        EXPECT_NE(tensor.part, "gradients");
        if (tensor.persistent && tensor.part == "weights") weights += tensor.bytes;
      }
      // 2 bytes a parameter in bf16, padding aside.
      EXPECT_GE(weights, Bytes(2 * parameter_count(each.job.model)));
      EXPECT_LT(weights, Bytes(2 * parameter_count(each.job.model) + 100'000));
      EXPECT_EQ(found.streamed, tier == Tier::host ? weights : Bytes(0));
    }
  }
}

TEST(ForwardSearch, KeepsWhatFitsAndRefusesWhatDoesNot) {
  ForwardCase each = small_case(ForwardGoal::loss);
  const auto whole = search_forward(each.request());
  ASSERT_TRUE(std::holds_alternative<ForwardPrediction>(whole));
  const auto& all = std::get<ForwardPrediction>(whole);
  EXPECT_EQ(all.plan.resident(), std::ssize(all.plan.weights));

  ResolvedMachine machine = each.planning.predictor.machine();
  const Bytes needed = at(all.memory, Tier::hbm).peak;
  machine.hbm = needed - Bytes(1);
  const ForwardRequest less{each.job, each.goal, machine, each.planning.predictor.costs()};
  const auto streamed = search_forward(less);
  ASSERT_TRUE(std::holds_alternative<ForwardPrediction>(streamed));
  EXPECT_LT(std::get<ForwardPrediction>(streamed).plan.resident(), all.plan.resident());
  EXPECT_LE(at(std::get<ForwardPrediction>(streamed).memory, Tier::hbm).peak, machine.hbm);

  machine.hbm = needed - bytes_of_part(all.memory, Tier::hbm, "weights");
  const auto refused = search_forward(less);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(refused));
  EXPECT_EQ(std::get<Infeasible>(refused).tier, Tier::hbm);
  EXPECT_GT(std::get<Infeasible>(refused).short_by, Bytes(0));
}

TEST(ForwardGraph, ANextTokensPassWaitsForTheOneBefore) {
  const ForwardCase each = small_case(ForwardGoal::next_token);
  ForwardPlan plan;
  plan.weights.assign(unit_count(each.job.model), Tier::host);
  const ForwardPrediction found = predict_forward(each.request(), plan);
  const auto tasks = found.graph.graph.tasks();
  const std::size_t pass = found.graph.tasks_per_step;
  ASSERT_EQ(found.graph.tasks[pass].kind, TaskKind::data);
  bool waits = false;
  for (const sim::TaskId before : tasks[pass].after) {
    waits = waits || found.graph.tasks[sim::index(before)].kind == TaskKind::grads;
  }
  EXPECT_TRUE(waits);
}

}  // namespace
}  // namespace sluice::planner
