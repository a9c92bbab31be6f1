// Program that trains a model of the catalogue for a few steps on several GPUs, a thread each, and
// prints losses, norms, step times and hashes of the state, by which numbers of GPUs are compared.
//
//   train_ranks MODEL [--ranks N] [--groups N] [--batch SEQUENCES] [--seq TOKENS]
//     [--micro SEQUENCES] [--rounds N] [--steps N] [--state hbm|host] [--weights hbm|host]
//     [--gradients hbm|host] [--executor gpu|cpu] [--when backward|forward|after]
//     [--threads N] [--piece MIB] [--receive N] [--random SEED] [--clip X] [--no-hash]
//
// --threads are a rank's; --random draws the plan instead. Without --clip nothing is clipped.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#include "engine/cuda/backend/backend.hpp"
#include "engine/training/session.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/random_plan.hpp"
#include "sim/units_text.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::engine {
namespace {

using Words = std::map<std::string, std::string>;

Words words_of(int count, char** words) {
  Words found{{"--ranks", "1"},       {"--groups", "4"},     {"--batch", "32"},
              {"--seq", "1024"},      {"--micro", "4"},      {"--rounds", "1"},
              {"--steps", "3"},       {"--state", "hbm"},    {"--weights", "hbm"},
              {"--gradients", "hbm"}, {"--executor", "gpu"}, {"--when", "after"},
              {"--threads", "4"},     {"--piece", "64"},     {"--receive", "2"},
              {"--random", ""},       {"--clip", ""},        {"--no-hash", ""}};
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (!found.contains(word)) throw BadRequest(word + ": no such option");
    if (word == "--no-hash") {
      found[word] = "yes";
    } else if (++i == count) {
      throw BadRequest(word + ": a value must follow");
    } else {
      found[word] = words[i];
    }
  }
  return found;
}

planner::Tier tier_of(const std::string& word) {
  return word == "hbm" ? planner::Tier::hbm : planner::Tier::host;
}

planner::Job job_of(const std::string& model, const Words& words) {
  planner::Job job;
  job.model = planner::find_model(model);
  job.seq_len = std::stoll(words.at("--seq"));
  job.batch_size = std::stoll(words.at("--batch"));
  job.micro_batch = std::stoll(words.at("--micro"));
  job.groups = std::stoll(words.at("--groups"));
  job.optimizer.lr = 1e-5;
  job.optimizer.clip.reset();
  if (!words.at("--clip").empty()) job.optimizer.clip = std::stod(words.at("--clip"));
  return job;
}

planner::Plan plan_of(const planner::Job& job, const Words& words) {
  const std::int64_t ranks = std::stoll(words.at("--ranks"));
  if (!words.at("--random").empty()) {
    return planner::random_plan(job, std::stoull(words.at("--random")), ranks);
  }
  const std::string& when = words.at("--when");
  const planner::UnitPlan unit{
      .weights = tier_of(words.at("--weights")),
      .gradients = tier_of(words.at("--gradients")),
      .state = tier_of(words.at("--state")),
      .executor = words.at("--executor") == "gpu" ? planner::Executor::gpu : planner::Executor::cpu,
      .when = when == "backward"  ? planner::When::backward
              : when == "forward" ? planner::When::forward
                                  : planner::When::after};
  planner::Plan plan = planner::uniform_plan(planner::part_of_rank(job, ranks), unit,
                                             std::stoll(words.at("--rounds")));
  plan.ranks = ranks;
  plan.threads = std::stoll(words.at("--threads"));
  plan.exchange_piece = Bytes(std::stoll(words.at("--piece")) << 20);
  plan.receive_buffers = std::stoll(words.at("--receive"));
  planner::set_weight_buffers(plan, 3);
  return plan;
}

void train(const std::string& model, const Words& words) {
  const planner::Job job = job_of(model, words);
  const planner::Plan plan = plan_of(job, words);
  planner::validate(job);
  planner::validate(plan, job);
  const planner::StepGraph graph = planner::build_step_graph(
      job, plan, planner::test::RoundCosts(1e9, planner::DeviceKind::cuda));
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  std::printf("%s on %lld GPUs: %s of each, %s of host memory for each\n", model.c_str(),
              static_cast<long long>(plan.ranks), planner::format_bytes(sizes.device).c_str(),
              planner::format_bytes(sizes.host).c_str());
  SessionRanks ranks;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const World world{rank, static_cast<int>(plan.ranks)};
    ranks.devices.push_back(cuda::make_device(job, sizes, sizes, static_cast<int>(plan.threads),
                                              /*staged=*/false, std::nullopt, world, world));
  }
  constexpr std::uint64_t kSeed = 11;
  SyntheticTokens tokens(job.model.vocab, kSeed);
  Session session(
      job, graph, std::move(ranks), tokens, [&](std::int64_t) { return job.optimizer.lr; },
      InitialWeights(kSeed, /*repeated=*/true));
  std::printf("the state is there\n");
  std::fflush(stdout);
  auto before = std::chrono::steady_clock::now();
  session.run_to(std::stoll(words.at("--steps")), [&](std::int64_t step, const StepResult& result) {
    const std::chrono::duration<double> seconds = result.end - before;
    before = result.end;
    std::printf("step %lld loss %.17g norm %.17g seconds %.3f tokens/s %.0f\n",
                static_cast<long long>(step), result.loss, result.grad_norm, seconds.count(),
                static_cast<double>(job.tokens()) / seconds.count());
    std::fflush(stdout);
  });
  if (words.at("--no-hash") == "yes") return;
  const StateHashes hashes = session.state().hashes();
  std::printf("weights %s\nmoments %s\n", hashes.weights.c_str(), hashes.moments.c_str());
}

}  // namespace
}  // namespace sluice::engine

int main(int count, char** words) {
  try {
    if (count < 2) throw sluice::BadRequest("train_ranks: the first word must be a model's name");
    sluice::engine::train(words[1], sluice::engine::words_of(count, words));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_ranks: %s\n", error.what());
    return 2;
  }
}
