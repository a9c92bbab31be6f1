// Sums of groups of micro-batches in step graphs and layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/layout/memory.hpp"
#include "planner/layout/memory_range.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::RoundCosts;

Job grouped_job(std::int64_t groups, bool tied = false) {
  Job job = test::tiny_job(tied);
  job.batch_size = 8;
  job.groups = groups;
  return job;
}

StepGraph graph_of_groups(const Job& job, const Plan& plan) {
  return build_step_graph(job, plan, RoundCosts());
}

/// What the tensors of a graph hold, as the terms in the order of addition: "((m0 m1)+(m2 m3))".
class Replay {
 public:
  explicit Replay(const StepGraph& graph) : graph_(graph) {}

  /// Runs the tasks of step 2 in order; returns the text of every unit's gradient as its norm reads
  /// it, and of the tied head's as it is combined.
  std::map<std::string, std::string> run() {
    std::map<std::string, std::string> norms;
    for (const StepTask& task : graph_.tasks) {
      if (task.step != 2) continue;
      const auto at = [&](Role role) -> std::string* {
        const auto found = std::ranges::find(task.accesses, role, &Access::role);
        return found == task.accesses.end() ? nullptr : &text(*found);
      };
      switch (task.kind) {
        case TaskKind::loss:
          if (std::string* tied = at(Role::tied_gradient)) add(*tied, task);
          [[fallthrough]];
        case TaskKind::backward:
          add(*at(Role::gradient), task);
          break;
        case TaskKind::sum_groups:
          *at(Role::gradient) = "(" + *at(Role::gradient) + "+" + *at(Role::later_gradient) + ")";
          break;
        case TaskKind::combine:
          norms["tied"] = *at(Role::tied_gradient);
          break;
        case TaskKind::norm:
          norms[std::to_string(task.unit)] = *at(Role::gradient);
          break;
        case TaskKind::store_gradient:
        case TaskKind::load_gradient:
          // The last chunk of a copy brings the rest.
          *at(Role::destination) = *at(Role::source);
          break;
        default:
          break;
      }
    }
    return norms;
  }

 private:
  std::string& text(const Access& access) { return texts_[access.tensor]; }
  static void add(std::string& sum, const StepTask& task) {
    sum = (task.first ? "" : sum + " ") + "m" + std::to_string(task.micro_batch);
  }

  const StepGraph& graph_;
  std::map<TensorIndex, std::string> texts_;
};

std::string folded(std::int64_t all, std::int64_t groups, std::int64_t first, std::int64_t count) {
  if (count > 1) {
    const std::int64_t left = left_of_tree(count);
    return "(" + folded(all, groups, first, left) + "+" +
           folded(all, groups, first + left, count - left) + ")";
  }
  std::string text;
  for (std::int64_t m = first_of_group(all, groups, first);
       m < first_of_group(all, groups, first + 1); ++m) {
    text += (text.empty() ? "m" : " m") + std::to_string(m);
  }
  return text;
}

TEST(GroupSums, EveryPlanAddsEachUnitsGradientAlongTheTree) {
  for (const std::int64_t groups : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const bool tied : {false, true}) {
      Job job = grouped_job(groups, tied);
      if (groups % 2 == 0) job.optimizer.clip.reset();
      const std::string expected = folded(8, groups, 0, groups);
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Plan plan = random_plan(job, seed);
        const auto norms = Replay(graph_of_groups(job, plan)).run();
        ASSERT_EQ(norms.size(), plan.units.size() + (tied ? 1 : 0));
        for (const auto& [unit, sum] : norms) {
          EXPECT_EQ(sum, expected) << groups << " groups, unit " << unit << ", seed " << seed
                                   << ", rounds " << plan.rounds;
        }
      }
    }
  }
}

TEST(GroupSums, OneGroupAddsNoTensorAndNoTask) {
  const Job job = grouped_job(1, true);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const StepGraph graph = graph_of_groups(job, random_plan(job, seed));
    for (const StepTensor& tensor : graph.tensors) {
      EXPECT_EQ(tensor.name.find("/sum"), std::string::npos) << tensor.name;
    }
    EXPECT_EQ(std::ranges::count(graph.tasks, TaskKind::sum_groups, &StepTask::kind), 0);
  }
}

TEST(GroupSums, LayoutsOfRandomPlansAreSoundAndWithinTheirRange) {
  for (const std::int64_t groups : {2, 3, 4, 8}) {
    for (const bool tied : {false, true}) {
      const Job job = grouped_job(groups, tied);
      const Predictor predictor(job, test::round_machine(), {});
      const MemoryRanges ranges(predictor.job(), predictor.machine());
      for (std::uint64_t seed = 0; seed < 25; ++seed) {
        const Plan plan = random_plan(job, seed);
        const StepGraph graph = build_step_graph(job, plan, predictor.costs());
        const auto fault = find_layout_fault(graph, graph.layout);
        EXPECT_FALSE(fault) << *fault;
        const Memory memory = memory_of(graph, predictor.machine());
        const Bytes workspace = workspace_bytes(job, predictor.machine().profile.device);
        const MemoryRange range = ranges.of(plan);
        EXPECT_LE(range.hbm_at_least, at(memory, Tier::hbm).peak + workspace) << seed;
        EXPECT_LE(range.host_at_least, at(memory, Tier::host).peak) << seed;
      }
    }
  }
}

/// Bytes of device memory of a plan whose gradients all wait there.
Bytes device_bytes(std::int64_t groups, std::int64_t rounds) {
  const Job job = grouped_job(groups);
  const UnitPlan unit{.weights = Tier::hbm,
                      .gradients = Tier::hbm,
                      .state = Tier::hbm,
                      .executor = Executor::gpu,
                      .when = When::after};
  return graph_of_groups(job, uniform_plan(job, unit, rounds)).layout.device_bytes;
}

TEST(GroupSums, InOneRoundAStackIsThereWhileItsUnitIsAtWork) {
  const Job job = grouped_job(1);
  const Bytes block(4 * unit_padded_size(job.model, 1));
  Bytes all{0};
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    all += Bytes(4 * unit_padded_size(job.model, unit));
  }
  EXPECT_LE(device_bytes(4, 1), device_bytes(1, 1) + block * 2 + Bytes(4096));
  // In four rounds one sum of all units waits beside the gradients, and another unit's is at work.
  EXPECT_GE(device_bytes(4, 4), device_bytes(1, 4) + all);
  EXPECT_EQ(sums_between_rounds(8, 4, 2), 0);
  EXPECT_LT(device_bytes(4, 2), device_bytes(1, 2) + all);
}

/// Bytes of gradients that cross the link in a step in `direction`.
Bytes crossing(const StepGraph& graph, TaskKind direction) {
  Bytes sum{0};
  for (const StepTask& task : graph.tasks) {
    if (task.step == 2 && task.kind == direction) sum += task.bytes;
  }
  return sum;
}

TEST(GroupSums, BetweenRoundsEverySumOfTheStackCrossesTheLink) {
  Bytes all{0};
  const Job one = grouped_job(1);
  for (std::size_t unit = 0; unit < unit_count(one.model); ++unit) {
    all += Bytes(4 * unit_padded_size(one.model, unit));
  }
  for (const std::int64_t groups : {1, 2, 3, 4, 8}) {
    const Job job = grouped_job(groups);
    for (const std::int64_t rounds : {1, 2, 4, 8}) {
      const StepGraph graph = graph_of_groups(job, uniform_plan(job, UnitPlan{}, rounds));
      std::int64_t sums = 0;
      for (std::int64_t round = 1; round < rounds; ++round) {
        sums += sums_after(8, groups, round * (8 / rounds));
      }
      EXPECT_EQ(crossing(graph, TaskKind::load_gradient), all * sums) << groups << ", " << rounds;
      EXPECT_EQ(crossing(graph, TaskKind::store_gradient), all * (sums + 1));
    }
  }
}

TEST(GroupSums, APlanThatCannotKeepThemIsRefusedByTheFieldsName) {
  const Job job = grouped_job(4);
  Plan plan = uniform_plan(job, UnitPlan{}, 4);
  for (UnitPlan& unit : plan.units) unit.state = Tier::disk;
  EXPECT_NO_THROW(validate(plan, job));
  plan.units[2].gradients = Tier::disk;
  EXPECT_REFUSED((validate(plan, job), 0), "plan: layers[2].gradients: disk does not go with");
  EXPECT_FALSE(is_valid(plan, job));
  // In two rounds one sum is left between them, as without groups.
  plan.rounds = 2;
  plan.micro_batches_per_round = 4;
  EXPECT_NO_THROW(validate(plan, job));
  Plan slots = uniform_plan(job, UnitPlan{}, 1);
  slots.saved_records.assign(31, Keep::all);
  slots.activation_buffers = 1;
  EXPECT_REFUSED((validate(slots, job), 0), "plan: saved_records: does not go with groups above 1");
  EXPECT_NO_THROW(validate(slots, grouped_job(1)));
}

TEST(GroupSums, AreCountedByTheBoundAsTwelveBytesAParameterEach) {
  const ResolvedMachine machine = test::round_machine(DeviceKind::cuda);
  for (const bool tied : {false, true}) {
    const auto compute = [&](std::int64_t groups) {
      const Job job = grouped_job(groups, tied);
      return pass_times(job, ProfileCostModel(machine.profile, {})).group_sums.count();
    };
    std::int64_t parameters = 0;
    const Job job = grouped_job(1, tied);
    for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
      parameters += unit_padded_size(job.model, unit);
    }
    if (tied) parameters += unit_padded_size(job.model, 0);
    const std::int64_t units = static_cast<std::int64_t>(unit_count(job.model)) + (tied ? 1 : 0);
    const double overhead =
        machine.profile.kernel_overhead.value.count() * static_cast<double>(units);
    const double each =
        12 * static_cast<double>(parameters) / machine.profile.hbm_bandwidth.value.count();
    EXPECT_EQ(compute(1), 0);
    EXPECT_NEAR(compute(2), each + overhead, 1e-9);
    EXPECT_NEAR(compute(8), 7 * (each + overhead), 7e-9);
  }
}

}  // namespace
}  // namespace sluice::planner
