// Measurement of matrix products of transformer layers, each by the algorithm that training uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/products/gemm.hpp"
#include "planner/models/job.hpp"
#include "profiler/probe/cuda/kernel_timer.hpp"
#include "profiler/probe/curves.hpp"

namespace sluice::profiler {

class ProductBench {
 public:
  /// Products of `jobs` (not empty) by the algorithms of `table`, which must have them all. Throws
  /// EnvironmentError where memory fails.
  ProductBench(const std::vector<planner::Job>& jobs, engine::GemmTable table);

  struct Product {
    engine::GemmKey key;
    planner::Fact rate;  ///< FLOP/s that the product reached.
  };
  /// Measures all products for `budget_each` each, after the largest has run until clocks settled
  /// (at most `settle`).
  [[nodiscard]] std::vector<Product> sustained(Seconds budget_each, Seconds settle);
  /// FLOP/s of the largest product in the first milliseconds after a pause.
  [[nodiscard]] planner::Fact burst();

  /// Enqueues a large product of a layer, which takes about a millisecond. Only one stream may use
  /// it at a time.
  void run_large(cudaStream_t stream);
  [[nodiscard]] Flops large_work() const { return large_.work(); }

 private:
  void run(const engine::GemmKey& key, cudaStream_t stream);

  std::vector<engine::GemmKey> keys_;
  engine::GemmKey large_;
  std::unique_ptr<engine::CudaGemm> gemm_;
  DeviceMemory operands_, output_, workspace_;
  KernelTimer timer_;
};

/// Jobs that probe_jobs() returns, by their model's billions of parameters: `small` 0.5 and 1.5,
/// `few` 0.5 and 7, `all` these three and 8 at many tokens, so that layers have the sizes that
/// training meets.
enum class JobChoice { small, few, all };  ///< `small` is for devices with a few GB of memory.
[[nodiscard]] std::vector<planner::Job> probe_jobs(JobChoice choice);

}  // namespace sluice::profiler
