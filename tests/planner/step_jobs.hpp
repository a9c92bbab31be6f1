// Small jobs and a machine of round numbers for tests of the step graph.
#pragma once

#include "planner/costs/cost.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner::test {

/// Cost model of round numbers: every compute task takes 1 ms, copies and collectives run at 1
/// GB/s, CPU updates at 1e8 parameters/s a thread.
class RoundCosts : public CostModel {
 public:
  /// `link` is the rate of copies in each direction in bytes per second.
  explicit RoundCosts(double link = 1e9, DeviceKind device = DeviceKind::host)
      : link_(link), device_(device) {}
  DeviceKind device() const override { return device_; }
  std::vector<LinkCapacity> links() const override {
    return {{"pcie_h2d", Rate(link_)}, {"pcie_d2h", Rate(link_)}, {"cores", Rate(2)}};
  }
  std::vector<LinkCapacity> fabric_links() const override { return {{"fabric", Rate(link_)}}; }
  std::vector<LaneInterference> interference(std::int64_t) const override { return {}; }
  TaskCost compute(const CostKey&, const Work&) const override {
    return {.amount = Amount(1e-3), .cap = Rate(1), .uses = {{"cores", 1}}};
  }
  TaskCost copy(const CostKey&, CopyDirection direction, Bytes bytes) const override {
    return {.amount = Amount(static_cast<double>(bytes.count())),
            .cap = Rate(link_),
            .uses = {{direction == CopyDirection::h2d ? "pcie_h2d" : "pcie_d2h", 1}}};
  }
  TaskCost collective(const CostKey&, Collective, Bytes bytes) const override {
    return {.amount = Amount(static_cast<double>(bytes.count())),
            .cap = Rate(link_),
            .uses = {{"fabric", 1}}};
  }
  TaskCost cpu_update(const CostKey&, const Work& work) const override {
    const double rate = 1e8 * static_cast<double>(work.threads);
    return {.amount = Amount(static_cast<double>(work.parameters)),
            .cap = Rate(rate),
            .uses = {{"cores", static_cast<double>(work.threads) / rate}}};
  }
  TaskCost launch(const CostKey&, const Work&) const override {
    return {.latency = Seconds(1e-6), .uses = {}};
  }
  TaskCost data(const CostKey&, std::int64_t) const override {
    return {.latency = Seconds(1e-6), .uses = {}};
  }
  std::string hash() const override { return "round"; }

 private:
  double link_;
  DeviceKind device_;
};

inline ModelShape tiny_shape(bool tied = false) {
  ModelShape shape;
  shape.name = "tiny";
  shape.layers = 4;
  shape.hidden = 64;
  shape.intermediate = 128;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 16;
  shape.vocab = 256;
  shape.tied_head = tied;
  return shape;
}

inline Job tiny_job(bool tied = false) {
  Job job;
  job.model = tiny_shape(tied);
  job.seq_len = 32;
  job.batch_size = 4;
  job.micro_batch = 1;
  job.loss_chunk = 32;
  return job;
}

}  // namespace sluice::planner::test
