// Every matrix product of a job on a CUDA device: with the library's first suggestion and with the
// fastest of its suggestions. Reads and writes no table.
//   gemm_cuda_bench [MODEL SEQ_LEN MICRO_BATCH LOSS_CHUNK]...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/products/gemm_race.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "sim/error.hpp"

namespace {

using namespace sluice;
using namespace sluice::engine;

struct Workload {
  std::string model;
  std::int64_t seq_len, micro_batch, loss_chunk;
};

double teraflops(Flops work, Seconds time) { return work.count() / time.count() / 1e12; }

/// How often a micro-batch makes the product, when gradients add onto a running sum.
double times_a_micro_batch(const GemmKey& key, const planner::Job& job) {
  if (key.product == GemmProduct::weight_gradient && !key.adds) return 0;
  if (key.out != job.model.vocab) return static_cast<double>(job.model.layers);
  const std::int64_t chunk = std::min(job.loss_chunk, job.micro_tokens());
  return key.tokens == chunk ? static_cast<double>(job.micro_tokens() / chunk) : 1;
}

void measure(const Workload& workload) {
  planner::Job job;
  job.model = planner::find_model(workload.model);
  job.seq_len = workload.seq_len;
  job.batch_size = job.micro_batch = workload.micro_batch;
  job.loss_chunk = workload.loss_chunk;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<GemmKey> keys = gemm_keys(job);
  GemmRace race(keys);
  std::printf("\n%s, micro-batch %lld x %lld, loss chunk %lld\n%-56s %8s %8s %7s  %s\n",
              workload.model.c_str(), static_cast<long long>(job.micro_batch),
              static_cast<long long>(job.seq_len), static_cast<long long>(job.loss_chunk),
              "product", "first", "tuned", "gain", "TFLOP/s; chosen suggestion");
  Seconds first{0}, tuned{0};
  Flops work{0};
  for (const GemmKey& key : keys) {
    const GemmEntry entry = race.run(key);
    const double times = times_a_micro_batch(key, job);
    first += entry.first_time * times;
    tuned += entry.time * times;
    work += key.work() * times;
    std::printf("%-56s %8.1f %8.1f %6.1f%%  %lld of %lld: %s\n", to_string(key).c_str(),
                teraflops(key.work(), entry.first_time), teraflops(key.work(), entry.time),
                100 * (entry.first_time / entry.time - 1), static_cast<long long>(entry.suggestion),
                static_cast<long long>(entry.suggestions), entry.configuration.c_str());
    std::fflush(stdout);
  }
  std::printf(
      "all products of a micro-batch: %.2f ms first, %.2f ms tuned; %.1f and %.1f TFLOP/s; "
      "%zu products tuned in %.1f s\n",
      1e3 * first.count(), 1e3 * tuned.count(), teraflops(work, first), teraflops(work, tuned),
      keys.size(), Seconds(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace

int main(int count, char** words) {
  try {
    require_usable_device();
    std::vector<Workload> workloads;
    for (int i = 1; i + 3 < count; i += 4) {
      workloads.push_back(
          {words[i], std::atoll(words[i + 1]), std::atoll(words[i + 2]), std::atoll(words[i + 3])});
    }
    if (workloads.empty()) {
      workloads = {{"qwen2.5-7b", 1024, 4, 2048},
                   {"qwen2.5-7b", 1024, 8, 2048},
                   {"qwen2.5-3b-untied", 1024, 8, 2048},
                   {"llama-3.1-8b", 8192, 1, 2048}};
    }
    for (const Workload& workload : workloads) measure(workload);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm_cuda_bench: %s\n", error.what());
    return 4;
  }
}
