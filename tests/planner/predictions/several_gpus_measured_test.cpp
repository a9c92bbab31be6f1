// Steps of two and four H100 that were measured, beside what the catalogue alone predicts of them.
#include <gtest/gtest.h>

#include <cmath>

#include "planner/catalogue/catalogue.hpp"
#include "planner/models/slices.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {
namespace {

/// A row of experiments/results/current/first-four-gpus: 1024 tokens a sequence, four groups,
/// blocks' inputs kept alone, three weight buffers, exchanges in pieces of 64 MiB.
struct Row {
  const char* model;
  std::int64_t ranks, sequences, micro_batch;
  /// Threads of each rank that update state on the host under the backward pass; 0 where state lies
  /// in HBM and gradients are clipped.
  std::int64_t threads;
  bool clips;
  double seconds;
};

constexpr Row kRows[] = {
    {"qwen2.5-7b", 4, 128, 4, 14, false, 3.198}, {"qwen2.5-7b", 4, 128, 4, 0, true, 3.110},
    {"qwen2.5-7b", 4, 32, 4, 0, true, 0.839},    {"qwen2.5-7b", 4, 32, 8, 0, true, 0.868},
    {"qwen2.5-7b", 2, 32, 4, 0, true, 1.622},    {"qwen2.5-7b", 2, 32, 4, 24, false, 1.877},
    {"qwen2.5-1.5b", 4, 32, 4, 0, false, 0.210}, {"qwen2.5-1.5b", 2, 32, 4, 0, false, 0.410},
    {"qwen2.5-1.5b", 4, 32, 4, 12, false, 0.348}};

double predicted(const Row& row) {
  Job job;
  job.model = find_model(row.model);
  job.seq_len = 1024;
  job.batch_size = row.sequences;
  job.micro_batch = row.micro_batch;
  job.groups = 4;
  if (!row.clips) job.optimizer.clip.reset();
  const bool on_host = row.threads > 0;
  const Tier tier = on_host ? Tier::host : Tier::hbm;
  Plan plan = uniform_plan(part_of_rank(job, row.ranks),
                           UnitPlan{.weights = tier,
                                    .gradients = tier,
                                    .state = tier,
                                    .executor = on_host ? Executor::cpu : Executor::gpu,
                                    .when = on_host ? When::backward : When::after},
                           1);
  plan.ranks = row.ranks;
  plan.threads = on_host ? row.threads : 4;
  plan.exchange_piece = Bytes(64ll << 20);
  plan.receive_buffers = 2;
  set_weight_buffers(plan, 3);
  ResolvedMachine machine;
  machine.profile = find_machine("4x-h100-sxm");
  machine.hbm = Bytes(static_cast<std::int64_t>(machine.profile.hbm.value));
  machine.host = Bytes(static_cast<std::int64_t>(machine.profile.host.value));
  return to_seconds(Predictor(job, machine, {}).predict(plan).prediction.step).count();
}

TEST(SeveralGpusMeasured, TheCatalogueErrsByFourPercentOnAverageAndTenAtWorst) {
  double sum = 0;
  for (const Row& row : kRows) {
    const double error = predicted(row) / row.seconds - 1;
    EXPECT_LT(std::abs(error), 0.10) << row.model << " on " << row.ranks;
    sum += std::abs(error);
  }
  EXPECT_LT(sum / std::size(kRows), 0.04);
}

}  // namespace
}  // namespace sluice::planner
