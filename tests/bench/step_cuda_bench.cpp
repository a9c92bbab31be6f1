// Runs whole steps of a job on a CUDA device under the planner's plan and prints prediction and
// measurement:
//   step_cuda_bench MODEL SEQUENCES SEQ_LEN MICRO_BATCH auto|host [STEPS] [HOST_MEMORY_GIB]
// Synthetic tokens, random weights; the median of the steps after the third.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "engine/backend.hpp"
#include "engine/session.hpp"
#include "planner/run_arguments.hpp"
#include "planner/run_planning.hpp"
#include "planner/stalls.hpp"
#include "profiler/recorder.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"

namespace {

using namespace sluice;

void run(int count, char** words) {
  const auto word = [&](int i, const char* otherwise) {
    return std::string(i < count ? words[i] : otherwise);
  };
  std::vector<std::string> arguments{
      "--model",       word(1, "qwen2.5-7b"), "--machine",   "h200",          "--backend",
      "cuda",          "--batch-size",        word(2, "32"), "--seq-len",     word(3, "1024"),
      "--micro-batch", word(4, "4"),          "--residency", word(5, "auto"), "--loss-chunk",
      "2048"};
  const std::int64_t steps = std::atoll(word(6, "8").c_str());
  if (count > 7) arguments.insert(arguments.end(), {"--host", std::string(words[7]) + " GiB"});
  for (int i = 8; i < count; ++i) arguments.push_back(words[i]);
  const planner::RunArguments request = planner::parse_run(arguments, {});
  const planner::RunPlanning planning = planner::planning_of(request.config);
  const auto found = planner::search(planning.predictor, planning.search);
  if (std::holds_alternative<planner::Infeasible>(found)) throw BadRequest("no plan fits");
  const planner::PredictedStep& step = std::get<planner::Planned>(found).best;
  const planner::Job& job = planning.predictor.job();
  const planner::Prediction& p = step.prediction;
  std::printf(
      "predicted %.3f s, %.0f tokens/s; %lld rounds of %lld, %lld weight buffers, %lld threads\n",
      to_seconds(p.step).count(), static_cast<double>(job.tokens()) / to_seconds(p.step).count(),
      static_cast<long long>(p.plan.rounds), static_cast<long long>(p.plan.micro_batches_per_round),
      static_cast<long long>(p.plan.weight_buffers), static_cast<long long>(p.plan.threads));
  for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, p.plan.units.size() / 2,
                                 p.plan.units.size() - 2, p.plan.units.size() - 1}) {
    const planner::UnitPlan& u = p.plan.units[unit];
    std::printf("  unit %zu: weights %s, gradients %s, state %s, keep %s in %s, %s, %s\n", unit,
                to_string(u.weights), to_string(u.gradients), to_string(u.state), to_string(u.keep),
                to_string(u.keep_tier), to_string(u.executor), to_string(u.when));
  }
  std::printf("  arenas: device %.2f GiB, host %.2f GiB\n",
              static_cast<double>(step.graph.layout.device_bytes.count()) / (1 << 30),
              static_cast<double>(step.graph.layout.host_bytes.count()) / (1 << 30));
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  engine::SyntheticTokens tokens(job.model.vocab, 1);
  engine::Session session(
      job, step.graph,
      engine::make_device(job, planning.predictor.machine(), step.graph.layout, p.plan.threads),
      tokens, [](std::int64_t) { return 1e-5; }, 1);
  std::printf("ready after %.1f s\n", Seconds(std::chrono::steady_clock::now() - begin).count());
  std::fflush(stdout);
  profiler::Recorder recorder(step.graph,
                              {.first = std::max<std::int64_t>(1, steps - 3), .count = 3});
  session.observe(&recorder);
  std::vector<std::chrono::steady_clock::time_point> ends;
  std::vector<double> losses;
  session.run_to(steps, [&](std::int64_t, const engine::StepResult& result) {
    ends.push_back(result.end);
    losses.push_back(result.loss);
  });
  std::vector<double> times;
  for (std::size_t i = 3; i < ends.size(); ++i)
    times.push_back(Seconds(ends[i] - ends[i - 1]).count());
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  std::printf("measured %.3f s (%.3f to %.3f), %.0f tokens/s; loss %.4f to %.4f\n", median,
              times.front(), times.back(), static_cast<double>(job.tokens()) / median,
              losses.front(), losses.back());
  const auto spans =
      profiler::three_steps(step.graph, recorder, std::max<std::int64_t>(1, steps - 3));
  const planner::StallTimes measured = planner::stall_times_of(step.graph, spans);
  const planner::StallTimes predicted =
      planner::stall_times_of(step.graph, sim::simulate(step.graph.graph).spans);
  const auto print = [](const char* name, const planner::StallTimes& stalls) {
    std::printf("  %s: compute %.3f s", name, to_seconds(stalls.compute).count());
    for (std::size_t i = 0; i < planner::kStalls; ++i) {
      const auto stall = static_cast<planner::Stall>(i);
      std::printf(", %s %.3f s", to_string(stall), to_seconds(stalls.at(stall)).count());
    }
    std::printf("\n");
  };
  print("predicted", predicted);
  print("measured", measured);
}

}  // namespace

int main(int count, char** words) {
  try {
    run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
