// What a task is (work), what it is called by calibration (cost key), and how long it takes (cost
// model).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// A matrix product of [m, k] by [k, n], `count` times.
struct Gemm {
  /// Of products of experts, one for each of `count`: what the rows are that a router deals out, m
  /// forward and of the input's gradient (rows_back), k of the weights'.
  enum class Dealt { nothing, rows, rows_back, terms };
  std::int64_t m, n, k;
  std::int64_t count = 1;
  Dealt dealt = Dealt::nothing;
};

/// Causal attention of `sequences` sequences of `length` tokens.
struct AttentionWork {
  std::int64_t sequences = 0, length = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool backward = false;
  std::int64_t prior = 0;  ///< Keys before the first query, of earlier chunks of the sequences.
  std::optional<std::int64_t> window = std::nullopt;  ///< Keys a query sees, itself included.
  /// What a CUDA device reads and writes to add up gradients of keys and values over runs
  /// (planner/scratch/attention_shape.hpp).
  Bytes sums{0};
  std::int64_t narrow_keys = 0;  ///< Keys that runs of one head read (narrow_run_time).
};

/// FLOPs that the arithmetic needs (planner/costs/work.cpp has the equations).
[[nodiscard]] Flops flops(const Gemm& gemm);
[[nodiscard]] Flops flops(const AttentionWork& attention);

/// Work of one compute task or update; all quantities exact.
struct Work {
  std::vector<Gemm> gemms;
  std::vector<AttentionWork> attention;
  Bytes streamed{0};            ///< Bytes that element-wise kernels read and write.
  std::int64_t kernels = 0;     ///< Launches.
  std::int64_t parameters = 0;  ///< Of an optimizer update.
  std::int64_t threads = 1;     ///< Threads of a CPU update.
  [[nodiscard]] Flops flops() const;
};

/// The pieces of a step that have a compute cost.
enum class Pass {
  embed_forward,
  block_forward,
  block_route,    ///< Of a mixture of experts: block_forward up to the router.
  block_experts,  ///< The rest of it.
  loss,
  head_forward,  ///< Final norm, head and loss; of a split sequence, its last token alone.
  block_recompute_input,
  block_recompute_selective,
  block_recompute_attention,  ///< From x, k, v and the attention output.
  block_recompute_kv,         ///< From x, k and v.
  block_backward,
  embed_backward,
  combine,
  norm
};

/// Work of `pass` for one micro-batch (for combine and norm: of `unit`, once).
/// `position`: which chunk of its sequence the micro-batch is, where sequences are split.
[[nodiscard]] Work work_of(const Job& job, Pass pass, std::size_t unit, std::int64_t position = 0);

/// Experts that `tokens` tokens go to on average, of a router that favours none:
/// E (1 - (1 - k / E)^T), to the nearest, at least k.
[[nodiscard]] std::int64_t expected_experts(const Experts& experts, std::int64_t tokens);

/// Tasks of one key have one cost: "forward/block", "update/block/t1", "copy/h2d", ... plus the
/// sizes that matter.
struct CostKey {
  std::string name;
  friend bool operator==(const CostKey&, const CostKey&) = default;
  friend auto operator<=>(const CostKey&, const CostKey&) = default;
};

/// Where a cost came from.
enum class Evidence { measured, fitted, datasheet };

/// A task's timing as the simulator takes it, before links are bound: uncontended rate and what it
/// uses.
struct TaskCost {
  Seconds latency{0};
  Amount amount{0};  ///< Seconds of work (compute), bytes (copies) or parameters (updates).
  Rate cap{0};       ///< Uncontended rate, amount per second.
  double weight = 1;
  std::vector<std::pair<std::string, double>> uses;  ///< Link name, units per unit of amount.
  /// Share of what the lane gains by rest, where that is known (boost_share); 0 without products.
  double boosts = 0;
  Evidence evidence = Evidence::datasheet;
  double relative_deviation = 0;  ///< Standard deviation over value.
  /// Of a pass or transfer that was measured, or by what such ones took beside the profile's times:
  /// it errs on its own. Others err with all that rest on the same facts.
  bool errs_alone = false;
};

enum class CopyDirection { h2d, d2h, disk_read, disk_write };

/// Costs of one machine: a profile and its calibration. Immutable; safe to share between threads.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Backend whose scratch and kernels the costs are of.
  [[nodiscard]] virtual DeviceKind device() const { return DeviceKind::host; }
  /// Links of the machine with capacities, and interference between lanes by name: added to every
  /// graph.
  struct LinkCapacity {
    std::string name;
    Rate capacity;
  };
  struct LaneInterference {
    std::string on, from;
    double factor;
  };
  /// The compute lane's boost: a time is of a lane that never rests (sim/boost.hpp).
  struct LaneBoost {
    double gain, most;
    Seconds window;
    double lasting_gain = 0;
    Seconds lasting_window{1};
  };
  [[nodiscard]] virtual std::optional<LaneBoost> boost() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<LinkCapacity> links() const = 0;
  /// Of the disk: added to graphs of plans that use it.
  [[nodiscard]] virtual std::vector<LinkCapacity> disk_links() const { return {}; }
  /// While the CPU optimizer has `threads`; 0: each pair's mildest, which bounds of all plans rest
  /// on.
  [[nodiscard]] virtual std::vector<LaneInterference> interference(std::int64_t threads) const = 0;
  [[nodiscard]] std::vector<LaneInterference> interference() const { return interference(0); }
  [[nodiscard]] virtual TaskCost compute(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost copy(const CostKey& key, CopyDirection direction,
                                      Bytes bytes) const = 0;
  [[nodiscard]] virtual TaskCost cpu_update(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost launch(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost data(const CostKey& key, std::int64_t tokens) const = 0;
  /// Hash of profile and calibration together; predictions record it.
  [[nodiscard]] virtual std::string hash() const = 0;
};

}  // namespace sluice::planner
