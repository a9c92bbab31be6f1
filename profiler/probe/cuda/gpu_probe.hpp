// The parts of the probe of a machine with a GPU, in the order in which they run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/probe/cuda/company_bench.hpp"
#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/cuda/product_bench.hpp"
#include "profiler/probe/disk_bench.hpp"
#include "profiler/probe/probe_cuda.hpp"

namespace sluice::profiler {

/// How long each part takes.
struct ProbeBudget {
  Seconds copy_size;        ///< A size of copy, each way.
  Seconds product, settle;  ///< A product; until clocks are those of a long run.
  Seconds kernel;           ///< Any other kernel.
  Seconds window;           ///< A company in a round.
  CompanyRounds grid;       ///< How often companies of copies and the optimizer are measured,
  CompanyRounds products;   ///< and those with products.
  std::int64_t parameters;  ///< Of the CPU optimizer.
  Bytes dram;               ///< An array of the triad.
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
  void copies_in_company();
  void memory();
  void products();
  void layers();
  void company();
  void optimizer_alone();
  void fit();
  void staged();
  void disk();
  void peak();

  ProbeDepth depth_;
  ProbeBudget budget_;
  ProbeProgress progress_;
  CudaProbe result_;
  std::string gpu_, bus_id_;  ///< As the CUDA runtime names them.
  std::int64_t cores_ = 1;
  DeviceRoom first_room_{};
  double best_product_ = 0;
  std::vector<std::int64_t> threads_;
  std::optional<ProbeMemory> memory_;  ///< Before what takes of it.
  std::unique_ptr<LinkBench> link_;
  std::unique_ptr<ProductBench> product_bench_;
  std::unique_ptr<UpdateBench> update_;
};

}  // namespace sluice::profiler
