// The work of a task, its cost key (its name in calibration), and the interface of cost models,
// which give each task its time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/costs/cost_kind.hpp"
#include "planner/kernels/kernel_work.hpp"
#include "planner/machines/lane.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Best vocabulary sizes are multiples of this: a product with the head takes as long as with the
/// next multiple.
inline constexpr std::int64_t kVocabularyMultiple = 64;
[[nodiscard]] constexpr std::int64_t padded_vocabulary(std::int64_t vocab) {
  return (vocab + kVocabularyMultiple - 1) / kVocabularyMultiple * kVocabularyMultiple;
}

/// Work of one compute task or update; all numbers are exact, not estimates.
struct Work {
  std::vector<Gemm> gemms;
  std::vector<AttentionWork> attention;
  Bytes streamed{0};  ///< Bytes of device memory that element-wise kernels read and write.
  /// Bytes that could be read or written while kernels of a CUDA device wait for their loads
  /// (general_norm_traffic); no time on other devices.
  Bytes waited{0};
  std::int64_t kernels = 0;  ///< Number of kernels that the task launches.
  /// Number of parameters that an optimizer update updates; 0 for a compute task.
  std::int64_t parameters = 0;
  std::int64_t threads = 1;  ///< Number of threads of a CPU update.
  [[nodiscard]] Flops flops() const;
};

/// Kinds of passes, which are the pieces of a step that have a compute cost.
enum class Pass {
  embed_forward,
  block_forward,
  block_route,    ///< Forward pass of a block of experts up to and with its router.
  block_experts,  ///< Forward pass of a block of experts behind its router.
  loss,
  /// Final norm, head and loss without their backward pass; where sequences are split, for the last
  /// token alone.
  head_forward,
  block_recompute_input,
  block_recompute_selective,
  /// Recomputation of the rest of a record from x, k, v and the attention output.
  block_recompute_attention,
  block_recompute_kv,  ///< Recomputation of the rest of a record from x, k and v.
  block_backward,
  embed_backward,
  combine,
  sum_groups,  ///< Addition of the sums of two groups of micro-batches, or of more.
  sum_ranks,   ///< Addition of the sums of all ranks of a part of a slice (slice_work).
  norm,
  /// Update of a block's matrices by Muon and of its other tensors by AdamW, on the whole of
  /// `unit`, once a step.
  block_update,
  sum_norms  ///< Sums of the norm blocks of all ranks (slice_work).
};

/// Work of `pass` for one micro-batch; of combine and norm, work on the whole of `unit`, once a
/// step; of sum_groups, work of one addition on the whole of `unit`. `unit` is a plan's unit, of
/// which its kind matters; `position` is the number of the micro-batch's chunk in its sequence,
/// where sequences are split.
[[nodiscard]] Work work_of(const Job& job, Pass pass, std::size_t unit, std::int64_t position = 0);

/// Work of `pass` on `parameters` parameters of the slice of one of `ranks` ranks: of sum_ranks,
/// combine or norm; of sum_norms, work on so many norm blocks of all ranks.
[[nodiscard]] Work slice_work(const Job& job, Pass pass, std::int64_t ranks,
                              std::int64_t parameters);

/// Number of different experts of one block that `tokens` tokens use on average with a router that
/// favours none: E (1 - (1 - k / E)^T), rounded to the nearest and at least k, where E is
/// experts.count, k experts.active and T tokens.
[[nodiscard]] std::int64_t expected_experts(const Experts& experts, std::int64_t tokens);

/// Key of a cost: its kind, and the name that files give it, such as "forward/block|h896...",
/// "update/cpu/t1/4096" or "copy/h2d/4096", with the sizes that matter. Tasks with equal keys have
/// equal costs. A name has one kind, so that keys are compared and ordered by their names.
class CostKey {
 public:
  CostKey() = default;
  /// The key of the cost that files call `name`.
  explicit CostKey(std::string name) : kind_(kind_named(name)), name_(std::move(name)) {}
  /// The key of a cost of `kind` whose name goes on with `rest` behind the kind's first words.
  CostKey(CostKind kind, std::string_view rest)
      : CostKey(std::string(first_words(kind)).append(rest)) {}
  [[nodiscard]] CostKind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  friend bool operator==(const CostKey& a, const CostKey& b) { return a.name_ == b.name_; }
  friend auto operator<=>(const CostKey& a, const CostKey& b) { return a.name_ <=> b.name_; }

 private:
  CostKind kind_ = CostKind::pass;
  std::string name_;
};

/// What a cost rests on: its own measurement, a fit to other measurements, or a datasheet.
enum class Evidence { measured, fitted, datasheet };

/// A task's timing for the simulator: its rate without contention, and the links it uses, still by
/// name.
struct TaskCost {
  Seconds latency{0};
  /// Size of the task: seconds for a compute task, bytes for a copy, parameters for an update.
  Amount amount{0};
  Rate cap{0};  ///< Amount per second of the task without contention.
  double weight = 1;
  /// Links that the task uses: the name of each, and how many of the link's units (bytes,
  /// core-seconds) go with one unit of `amount`.
  std::vector<std::pair<std::string, double>> uses;
  /// Share (0 to 1) of the compute lane's boost by which the task gets faster, where the machine
  /// has a boost (boost_share); 0 for work without products and attention.
  double boosts = 0;
  Evidence evidence = Evidence::datasheet;
  double relative_deviation = 0;  ///< Standard deviation of the task's time over that time.
  /// Whether the error of this cost is independent of those of others, because it was measured, or
  /// scaled from measured passes. Other costs err together with all that rest on the same facts.
  bool errs_alone = false;
};

enum class CopyDirection { h2d, d2h, disk_read, disk_write };

/// Operations on the fabric, in which all ranks take part at once.
enum class Collective {
  gather,            ///< Every rank's run of a tensor goes to all ranks.
  exchange,          ///< Every rank sends every other one a part of its own.
  exchange_inside,   ///< The same among the ranks of every host.
  exchange_between,  ///< The same among the ranks with one place on their hosts.
};

/// Costs of tasks on one machine: a profile and its calibration. Immutable; safe to share between
/// threads.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Kind of device that the costs are of; it decides which kernels and scratch compute tasks have.
  [[nodiscard]] virtual DeviceKind device() const { return DeviceKind::host; }
  /// A link of the machine and its capacity in units per second; every step graph declares all
  /// links.
  struct LinkCapacity {
    std::string name;
    Rate capacity;
    /// Whether all ranks of a host use the link together, as they do its memory and cores.
    bool shared = false;
  };
  struct LaneInterference {
    LaneKind on, from;
    double factor;
  };
  /// Boost of the compute lane, which makes tasks faster than their stated times after it rested
  /// (sim/boost.hpp explains the numbers).
  struct LaneBoost {
    double gain, most;
    Seconds window;
    double lasting_gain = 0;
    Seconds lasting_window{1};
  };
  [[nodiscard]] virtual std::optional<LaneBoost> boost() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<LinkCapacity> links() const = 0;
  /// Links of the disk, which only graphs of plans that use the disk declare.
  [[nodiscard]] virtual std::vector<LinkCapacity> disk_links() const { return {}; }
  /// Links of the fabric, which only graphs of several ranks declare. Throws BadRequest where the
  /// machine has no fabric.
  [[nodiscard]] virtual std::vector<LinkCapacity> fabric_links() const;
  /// Interference of the lane of collectives with others, which only graphs of several ranks have.
  [[nodiscard]] virtual std::vector<LaneInterference> fabric_interference() const { return {}; }
  /// Interference between lanes while the CPU optimizer has `threads` threads. For `threads` 0,
  /// each pair's mildest (largest) factor over all thread counts; bounds over all plans rest on
  /// these.
  [[nodiscard]] virtual std::vector<LaneInterference> interference(std::int64_t threads) const = 0;
  [[nodiscard]] std::vector<LaneInterference> interference() const { return interference(0); }
  [[nodiscard]] virtual TaskCost compute(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost copy(const CostKey& key, CopyDirection direction,
                                      Bytes bytes) const = 0;
  /// Cost of a collective that brings `bytes` bytes to each rank. Throws BadRequest where the
  /// machine has no fabric.
  [[nodiscard]] virtual TaskCost collective(const CostKey& key, Collective operation,
                                            Bytes bytes) const;
  [[nodiscard]] virtual TaskCost cpu_update(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost launch(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost data(const CostKey& key, std::int64_t tokens) const = 0;
  /// Hash of the profile and the calibration together, by which a prediction names its cost model.
  [[nodiscard]] virtual std::string hash() const = 0;
};

}  // namespace sluice::planner
