#include "profiler/probe/cuda/product_bench.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "planner/catalogue/catalogue.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using engine::GemmKey;
using engine::GemmProduct;

constexpr double kLoad = 2e12;  ///< Largest FLOPs of the product that serves as a load.

std::int64_t rounded_up(std::int64_t elements) { return (elements + 127) / 128 * 128; }

/// Offsets of a product's bf16 operands, which follow each other.
struct Places {
  std::int64_t b, bias, addend, end;
};
Places places_of(const GemmKey& key) {
  const engine::GemmElements elements = engine::elements_of(key);
  Places places{};
  places.b = rounded_up(elements.a);
  places.bias = places.b + rounded_up(elements.b);
  places.addend = places.bias + rounded_up(key.out);
  places.end = places.addend + rounded_up(elements.d);
  return places;
}

planner::Job job_of(const char* model, std::int64_t seq_len, std::int64_t sequences) {
  planner::Job job;
  job.model = planner::find_model(model);
  job.seq_len = seq_len;
  job.batch_size = sequences;
  job.micro_batch = sequences;
  job.loss_chunk = std::min<std::int64_t>(2048, seq_len * sequences);
  job.compute = planner::ComputeType::bf16;
  return job;
}

}  // namespace

std::vector<planner::Job> probe_jobs(JobChoice choice) {
  std::vector<planner::Job> jobs = {job_of("qwen2.5-0.5b", 1024, 1)};
  if (choice != JobChoice::few) jobs.push_back(job_of("qwen2.5-1.5b", 1024, 4));
  if (choice != JobChoice::small) jobs.push_back(job_of("qwen2.5-7b", 1024, 4));
  if (choice == JobChoice::all) jobs.push_back(job_of("llama-3.1-8b", 8192, 2));
  return jobs;
}

ProductBench::ProductBench(const std::vector<planner::Job>& jobs, engine::GemmTable table) {
  check(!jobs.empty(), "products of some job");
  std::set<GemmKey> keys;
  for (const planner::Job& job : jobs) {
    for (const GemmKey& key : engine::gemm_keys(job)) keys.insert(key);
  }
  keys_.assign(keys.begin(), keys.end());
  std::int64_t read = 0, written = 0;
  for (const GemmKey& key : keys_) {
    read = std::max(read, places_of(key).end);
    written =
        std::max(written, engine::elements_of(key).d * engine::output_element(key.product).count());
    const bool fits = key.product == GemmProduct::forward && key.work().count() <= kLoad;
    if (fits && (large_.tokens == 0 || key.work() > large_.work())) large_ = key;
  }
  check(large_.tokens > 0, "a product that is not too large for a load");
  gemm_ = std::make_unique<engine::CudaGemm>(std::move(table));
  operands_ = random_bf16(read);
  output_ = allocate_device(Bytes(written));
  workspace_ = allocate_device(planner::kGemmWorkspace);
}

void ProductBench::run(const GemmKey& key, cudaStream_t stream) {
  const Places places = places_of(key);
  const auto* halves = static_cast<const std::uint16_t*>(operands_.get());
  const engine::CudaGemm::Size size{key.tokens, key.in, key.out};
  switch (key.product) {
    case GemmProduct::forward:
      gemm_->forward(stream, size, halves + places.b, halves,
                     key.bias ? halves + places.bias : nullptr,
                     key.adds ? halves + places.addend : nullptr, output_.get(), workspace_.get());
      return;
    case GemmProduct::input_gradient:
      gemm_->input_gradient(stream, size, halves + places.b, halves, output_.get(),
                            workspace_.get());
      return;
    case GemmProduct::weight_gradient:
      gemm_->weight_gradient(stream, size, halves + places.b, halves,
                             static_cast<float*>(output_.get()), !key.adds, workspace_.get());
      return;
  }
}

void ProductBench::run_large(cudaStream_t stream) { run(large_, stream); }

std::vector<ProductBench::Product> ProductBench::sustained(Seconds budget_each, Seconds settle) {
  const auto large = [this](cudaStream_t stream) { run_large(stream); };
  timer_.settle(large, settle);
  std::vector<Product> products;
  for (const GemmKey& key : keys_) {
    const Samples samples =
        timer_.samples([&](cudaStream_t stream) { run(key, stream); }, budget_each);
    products.push_back({key, measured_rate(key.work().count(), samples, to_string(key))});
    (void)timer_.row(large, 5);  // Small products alone would let clocks rise.
  }
  return products;
}

planner::Fact ProductBench::burst() {
  Samples samples;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    samples.push_back(timer_.row([this](cudaStream_t stream) { run_large(stream); }, 4).count());
  }
  return measured_rate(large_.work().count(), samples, to_string(large_) + ", after a pause");
}

}  // namespace sluice::profiler
