#include "profiler/probe/cuda/fp8_bench.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/products/gemm.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using engine::GemmKey;
using engine::GemmProduct;
using engine::cuda::Quantized;

constexpr std::int64_t kBlock = 128;

/// A matrix [rows, cols] of a product, which sums over its columns.
struct Shape {
  std::int64_t rows = 0, cols = 0;
  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
  [[nodiscard]] std::int64_t scales() const {
    return engine::cuda::ceil_div(cols, kBlock) * engine::cuda::scale_stride(rows);
  }
};

/// The operands of a product in cuBLAS's order: a (the weight, or x of a weight gradient), then b.
struct Operands {
  Shape a, b;
  bool a_is_weight = false;
};

Operands operands_of(const GemmKey& key) {
  switch (key.product) {
    case GemmProduct::forward:
      return {.a = {key.out, key.in}, .b = {key.tokens, key.in}, .a_is_weight = true};
    case GemmProduct::input_gradient:
      return {.a = {key.in, key.out}, .b = {key.tokens, key.out}, .a_is_weight = true};
    case GemmProduct::weight_gradient:
      break;
  }
  return {.a = {key.in, key.tokens}, .b = {key.out, key.tokens}};
}

/// Products of one job in both types, with room for the largest.
class Bench {
 public:
  Bench(const std::vector<GemmKey>& keys, engine::GemmTable table) : gemm_(std::move(table)) {
    std::int64_t elements = 0, scales = 0, written = 0;
    for (const GemmKey& key : keys) {
      const Operands operands = operands_of(key);
      for (const Shape& each : {operands.a, operands.b}) {
        elements = std::max(elements, each.elements());
        scales = std::max(scales, each.scales());
      }
      const std::int64_t results = engine::elements_of(key).d;
      elements = std::max(elements, results);
      written = std::max(written, results * engine::output_element(key.product).count());
    }
    halves_[0] = random_bf16(elements);
    halves_[1] = random_bf16(elements);
    output_ = allocate_device(Bytes(written));
    workspace_ = allocate_device(planner::kGemmWorkspace);
    for (int i = 0; i < 2; ++i) {
      values_[i] = allocate_device(Bytes(elements));
      scales_[i] = allocate_device(Bytes(scales * static_cast<std::int64_t>(sizeof(float))));
    }
  }

  KernelTimer& timer() { return timer_; }

  /// Quantizes random numbers into both operands of `key`.
  void quantize(const GemmKey& key) {
    const Operands operands = operands_of(key);
    const cudaStream_t stream = timer_.stream();
    if (operands.a_is_weight) {
      engine::cuda::quantize_weight(stream, halves(0), operands.a.rows, operands.a.cols,
                                    {.along = operand(0)});
    } else {
      engine::cuda::quantize(stream, halves(0), operands.a.rows, operands.a.cols, operands.a.cols,
                             {.along = operand(0)});
    }
    engine::cuda::quantize(stream, halves(1), operands.b.rows, operands.b.cols, operands.b.cols,
                           {.along = operand(1)});
  }

  void run_fp8(const GemmKey& key, cudaStream_t stream) {
    const engine::CudaGemm::Size size{key.tokens, key.in, key.out};
    const Quantized a = operand(0), b = operand(1);
    switch (key.product) {
      case GemmProduct::forward:
        gemm_.forward_fp8(stream, size, b, a, addend(key), output_.get(), workspace_.get());
        return;
      case GemmProduct::input_gradient:
        gemm_.input_gradient_fp8(stream, size, b, a, output_.get(), workspace_.get());
        return;
      case GemmProduct::weight_gradient:
        gemm_.weight_gradient_fp8(stream, size, b, a, static_cast<float*>(output_.get()), !key.adds,
                                  workspace_.get());
        return;
    }
  }

  void run_bf16(const GemmKey& key, cudaStream_t stream) {
    const engine::CudaGemm::Size size{key.tokens, key.in, key.out};
    switch (key.product) {
      case GemmProduct::forward:
        gemm_.forward(stream, size, halves(1), halves(0), nullptr, addend(key), output_.get(),
                      workspace_.get());
        return;
      case GemmProduct::input_gradient:
        gemm_.input_gradient(stream, size, halves(1), halves(0), output_.get(), workspace_.get());
        return;
      case GemmProduct::weight_gradient:
        gemm_.weight_gradient(stream, size, halves(1), halves(0),
                              static_cast<float*>(output_.get()), !key.adds, workspace_.get());
        return;
    }
  }

 private:
  [[nodiscard]] std::uint16_t* halves(int which) const {
    return static_cast<std::uint16_t*>(halves_[which].get());
  }
  [[nodiscard]] const void* addend(const GemmKey& key) const {
    return key.adds ? halves_[1].get() : nullptr;
  }
  [[nodiscard]] Quantized operand(int which) const {
    return {static_cast<std::uint8_t*>(values_[which].get()),
            static_cast<float*>(scales_[which].get())};
  }

  engine::CudaGemm gemm_;
  DeviceMemory halves_[2], values_[2], scales_[2], output_, workspace_;
  KernelTimer timer_;
};

std::vector<GemmKey> fp8_keys(const planner::Job& job) {
  std::vector<GemmKey> keys = engine::gemm_keys(job);
  std::erase_if(keys, [](const GemmKey& key) { return !key.fp8; });
  return keys;
}

/// Sum of times of products, and of the squares of what each may be off.
struct Total {
  double seconds = 0, variance = 0, work = 0;
  void add(const Samples& samples, Flops flops) {
    const planner::Fact time = measured_rate(1, samples, "");  // 1 over the seconds.
    const double each = 1 / time.value;
    seconds += each;
    work += flops.count();
    variance += std::pow(each * time.deviation / time.value, 2);
  }
  [[nodiscard]] FlopsPerSecond rate() const { return FlopsPerSecond(work / seconds); }
};

planner::Fact ratio(const Total& bf16, const Total& fp8, const char* what) {
  const double value = bf16.seconds / fp8.seconds;
  const double relative =
      std::hypot(std::sqrt(bf16.variance) / bf16.seconds, std::sqrt(fp8.variance) / fp8.seconds);
  return {.value = value,
          .deviation = value * relative,
          .count = 1,
          .source = planner::Source::measured,
          .note = what};
}

}  // namespace

planner::Job fp8_probe_job() {
  planner::Job job;
  job.model = planner::find_model("llama-3.1-8b");
  job.seq_len = 1024;
  job.batch_size = job.micro_batch = 4;
  job.loss_chunk = 2048;
  job.compute = planner::ComputeType::fp8;
  return job;
}

Fp8Speedups measure_fp8(const planner::Job& job, engine::GemmTable table, Seconds budget,
                        Seconds settle) {
  const std::vector<GemmKey> keys = fp8_keys(job);
  check(!keys.empty(), "products in FP8 of some job");
  Bench bench(keys, std::move(table));
  const auto largest = std::ranges::max_element(keys, {}, [](const GemmKey& key) {
    return key.product == GemmProduct::forward ? key.work().count() : 0;
  });
  bench.quantize(*largest);
  bench.timer().settle([&](cudaStream_t stream) { bench.run_fp8(*largest, stream); }, settle);
  Total bf16[2], fp8[2];
  for (GemmKey key : keys) {
    const int of = key.product == GemmProduct::weight_gradient ? 1 : 0;
    bench.quantize(key);
    fp8[of].add(
        bench.timer().samples([&](cudaStream_t stream) { bench.run_fp8(key, stream); }, budget),
        key.work());
    key.fp8 = false;
    bf16[of].add(
        bench.timer().samples([&](cudaStream_t stream) { bench.run_bf16(key, stream); }, budget),
        key.work());
  }
  return {.products = ratio(bf16[0], fp8[0], "forward products and input gradients of a layer"),
          .gradients = ratio(bf16[1], fp8[1], "weight gradients of a layer"),
          .products_fp8 = fp8[0].rate(),
          .products_bf16 = bf16[0].rate(),
          .gradients_fp8 = fp8[1].rate(),
          .gradients_bf16 = bf16[1].rate()};
}

}  // namespace sluice::profiler
