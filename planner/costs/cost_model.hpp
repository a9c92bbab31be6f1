// Cost model made of a machine profile and its calibration.
#pragma once

#include <memory>
#include <string>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/costs/cost_switches.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Whether calibrated values of `key` are amounts per second instead of seconds: true for copies
/// and CPU updates whose key names no size ("copy/h2d" is bytes/s after the latency,
/// "update/cpu/t1" parameters/s; but "copy/h2d/4194304" is seconds). What the compute lane runs,
/// updates included, has seconds (ProfileCostModel::compute).
[[nodiscard]] bool is_rate(const CostKey& key);

/// Key under which calibration has the seconds between the end of a copy and the start of the next
/// one on its lane where nothing else delays that. Measured spans of copies do not include these
/// seconds, so they add to a copy's latency.
[[nodiscard]] CostKey hand_off_key(CopyDirection direction);

/// The cost of every task, in this order of evidence:
///
///   measured  the calibrated value of the task's own cost key;
///   fitted    passes over a block: planner/costs/sibling_costs.hpp, where a Predictor asks; copies
///             and updates: a line in size through the calibrated values of the same family (the
///             key without its size); everything else, and these without samples: the profile's
///             measured facts;
///   datasheet the profile's datasheet or estimated facts.
///
/// A calibrated value is the seconds of the task running alone; for a key that names a rate
/// (`is_rate`), amount per second.
///
/// From the profile, with S the sum over the task's work:
///
///   compute    S(flops / gemm rate(flops)) + S(flops / attention rate)
///              + S(expert_product_time) of experts on CUDA machines
///              or, where the profile has a kernel model, S(time of each by its shape)
///              (planner/costs/tabulated_kernels.hpp) for both
///              + streamed / hbm_bandwidth + parameters / device_update + kernels x kernel_overhead
///   copy       copy_latency + hand-off (hand_off_key, else copy_gap) + bytes / link rate
///   update     parameters / update rate(threads)
///   collective latency + bytes / rate(bytes)
///   launch     kernels x launch
///
/// Rates of products, attention and updates are those of planner/costs/profile_rates.hpp.
///
/// Links: pcie_h2d and pcie_d2h (a copy uses one unit a byte), dram (the profile's coefficients)
/// and cores; for plans that use the disk also disk_read, disk_write and, where the profile has the
/// rate of both together, disk; for plans of several ranks also fabric (a collective uses one unit
/// a byte that a rank receives; where its bytes take the PCIe links, one unit a byte of both, and
/// where they go through host memory, two of dram). On the host backend a compute task is a flow of
/// seconds that uses one core; everywhere an update uses threads / rate core-seconds a parameter.
/// On the host backend the weight of a flow that uses cores is one over its use, so that cores are
/// shared evenly. On CUDA machines a flow's weight is its rate without contention, so that all slow
/// down in proportion, times the profile's factor for copies (h2d_weight, d2h_weight), fitted by
/// `sluice probe`; 1 and 2 where the profile has none.
///
/// Boost (lane_boost.hpp): passes with products or attention are faster after the lane rested;
/// their times, calibrated ones too, are those of a lane that never rests.
class ProfileCostModel : public CostModel {
 public:
  ProfileCostModel(MachineProfile profile, Calibration calibration, CostSwitches switches = {});

  [[nodiscard]] std::optional<LaneBoost> boost() const override { return boost_; }
  [[nodiscard]] std::vector<LinkCapacity> links() const override;
  [[nodiscard]] std::vector<LinkCapacity> disk_links() const override;
  [[nodiscard]] std::vector<LinkCapacity> fabric_links() const override;
  [[nodiscard]] std::vector<LaneInterference> fabric_interference() const override;
  using CostModel::interference;
  [[nodiscard]] std::vector<LaneInterference> interference(std::int64_t threads) const override;
  [[nodiscard]] TaskCost compute(const CostKey& key, const Work& work) const override;
  [[nodiscard]] TaskCost copy(const CostKey& key, CopyDirection direction,
                              Bytes bytes) const override;
  [[nodiscard]] TaskCost collective(const CostKey& key, Collective operation,
                                    Bytes bytes) const override;
  [[nodiscard]] TaskCost cpu_update(const CostKey& key, const Work& work) const override;
  [[nodiscard]] TaskCost launch(const CostKey& key, const Work& work) const override;
  [[nodiscard]] TaskCost data(const CostKey& key, std::int64_t tokens) const override;
  [[nodiscard]] std::string hash() const override { return hash_; }
  [[nodiscard]] DeviceKind device() const override { return profile_.device; }

  [[nodiscard]] const MachineProfile& profile() const { return profile_; }
  [[nodiscard]] const CostSwitches& switches() const { return switches_; }
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }

 private:
  /// Cost of a task of `amount` units at the calibrated rate or time of `key` where there is one,
  /// else at the profile's `rate` in units per second.
  [[nodiscard]] TaskCost at_rate(const CostKey& key, double amount, const Fact& rate) const;
  [[nodiscard]] TaskCost disk_transfer(const CostKey& key, CopyDirection direction,
                                       Bytes bytes) const;
  [[nodiscard]] const CalibrationSample* sample(const CostKey& key) const;
  void share_cores(TaskCost& cost, double per_unit) const;
  void share_dram(TaskCost& cost, double per_unit) const;

  MachineProfile profile_;
  Calibration calibration_;
  CostSwitches switches_;
  std::optional<LaneBoost> boost_;
  std::string hash_;
};

}  // namespace sluice::planner
