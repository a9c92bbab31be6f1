// Parts of the probe of a machine with a GPU, in the order in which they run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/products/gemm_table.hpp"
#include "profiler/probe/cuda/block_passes.hpp"
#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/cuda/load_mix_bench.hpp"
#include "profiler/probe/cuda/product_bench.hpp"
#include "profiler/probe/disk_bench.hpp"
#include "profiler/probe/probe_cuda.hpp"

namespace sluice::profiler {

/// Times and sizes that the probe's parts use.
struct ProbeBudget {
  Seconds copy_size;  ///< Time to spend on copies of one size in one direction.
  /// Time for one matrix product, and longest time to wait until clocks are those of a long run.
  Seconds product, settle;
  Seconds kernel;             ///< Time for one kernel that is no matrix product.
  BlockBudget blocks;         ///< Times for passes of real blocks.
  Seconds window;             ///< Time for one load mix in one repetition.
  RepetitionCounts grid;      ///< Repetitions of load mixes of copies and the optimizer.
  RepetitionCounts products;  ///< Repetitions of load mixes with products.
  std::int64_t parameters;    ///< Number of parameters that the CPU optimizer updates.
  Bytes dram;                 ///< Bytes of each of the three arrays of DramBench.
  DiskBenchOptions disk;
};

class GpuProbe {
 public:
  GpuProbe(ProbeDepth depth, const ProbeProgress& progress, const ProbedDisk& disk);
  CudaProbe run();

 private:
  void say(const std::string& part, const std::string& result) const {
    if (progress_) progress_(part, result);
  }
  void name_machine();
  void capacities();
  void host_memory();
  [[nodiscard]] Bytes copy_buffer() const;
  [[nodiscard]] Bytes dram_array() const;
  [[nodiscard]] std::int64_t updated_parameters() const;
  void copies();
  void copies_beside_loads();
  void memory();
  void products();
  [[nodiscard]] engine::GemmTable product_table(const std::vector<planner::Job>& jobs) const;
  void fp8_products();
  void layers();
  void blocks();
  void keep(const JobPasses& measured);
  void load_mixes();
  void optimizer_alone();
  void fit();
  void staged();
  void disk();
  void peak();
  /// Runs a part of the probe and notes how long it takes.
  void part(const char* name, void (GpuProbe::*measure)());

  ProbeDepth depth_;
  ProbeBudget budget_;
  ProbeProgress progress_;
  CudaProbe result_;
  std::string gpu_, bus_id_;  ///< The GPU's name and PCI bus id, from the CUDA runtime.
  std::int64_t cores_ = 1;
  DeviceRoom first_room_{};
  double best_product_ = 0;
  std::vector<std::int64_t> threads_;
  Bytes blocks_code_{0};  ///< Device memory of kernels that stay loaded after the blocks ran.
  std::string times_;     ///< Seconds of each part so far, as text.
  /// Supply of host memory; declared before the members that take memory from it.
  std::optional<ProbeMemory> memory_;
  std::unique_ptr<LinkBench> link_;
  std::unique_ptr<ProductBench> product_bench_;
  std::unique_ptr<UpdateBench> update_;
};

}  // namespace sluice::profiler
