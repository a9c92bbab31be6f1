// The work of a task, its cost key (its name in calibration), and the interface of cost models,
// which give each task its time.
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

/// `count` matrix products of [m, k] by [k, n].
struct Gemm {
  /// The dimension that depends on the router, in products of experts (one for each of `count`):
  /// the rows m of the forward product (rows) and of the input's gradient (rows_back), or the inner
  /// dimension k of the weights' gradient (terms).
  enum class Dealt { nothing, rows, rows_back, terms };
  std::int64_t m, n, k;
  std::int64_t count = 1;
  Dealt dealt = Dealt::nothing;
  /// Times that the product takes on a CUDA device as one whose operands' rows begin at multiples
  /// of 128 bytes takes (row_slowing).
  double slowing = 1;
};

/// Gemm::slowing of a product with rows of `width` elements of bf16. Rows that do not begin at
/// multiples of 16 bytes keep a library from its fast kernels: 1.8, from one published run, a GPT-2
/// of 124 M parameters on an A100, which trains about 25 % faster with 50,304 tokens than with
/// 50,257 (nanoGPT, February 2023; x.com/karpathy/status/1621578354024677377) and whose head has 31
/// % of the FLOPs: 1.25 = 0.69 + 0.31 s. Smaller gains were reported on other cards (4 % on an RTX
/// 3090). Rows at multiples of 16 but not of 128 bytes: 1.02, an estimate (NVIDIA, Matrix
/// Multiplication Background: such sizes are a little slower).
[[nodiscard]] constexpr double row_slowing(std::int64_t width) {
  return width % 8 != 0 ? 1.8 : width % 64 != 0 ? 1.02 : 1.0;
}

/// Vocabularies are best multiples of this; products cost as those of the next multiple.
inline constexpr std::int64_t kVocabularyMultiple = 64;
[[nodiscard]] constexpr std::int64_t padded_vocabulary(std::int64_t vocab) {
  return (vocab + kVocabularyMultiple - 1) / kVocabularyMultiple * kVocabularyMultiple;
}

/// Causal attention over `sequences` sequences of `length` tokens.
struct AttentionWork {
  std::int64_t sequences = 0, length = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool backward = false;
  std::int64_t prior = 0;  ///< Keys before the first query, from earlier chunks of the sequences.
  /// Keys visible to a query, itself included; none for all.
  std::optional<std::int64_t> window = std::nullopt;
  /// Bytes that a CUDA device reads and writes to add up gradients of keys and values over runs
  /// (planner/scratch/attention_shape.hpp).
  Bytes sums{0};
  std::int64_t narrow_keys = 0;  ///< Keys read by runs of one head (see narrow_run_time).
};

/// FLOPs that the arithmetic needs, by the equations in planner/costs/work.cpp.
[[nodiscard]] Flops flops(const Gemm& gemm);
[[nodiscard]] Flops flops(const AttentionWork& attention);

/// Work of one compute task or update; all quantities are exact.
struct Work {
  std::vector<Gemm> gemms;
  std::vector<AttentionWork> attention;
  Bytes streamed{0};            ///< Bytes that element-wise kernels read and write.
  std::int64_t kernels = 0;     ///< Number of kernel launches.
  std::int64_t parameters = 0;  ///< Parameters that an optimizer update updates.
  std::int64_t threads = 1;     ///< Threads of a CPU update.
  [[nodiscard]] Flops flops() const;
};

/// The pieces of a step that have a compute cost.
enum class Pass {
  embed_forward,
  block_forward,
  block_route,    ///< With a mixture of experts: block_forward up to and with the router.
  block_experts,  ///< With a mixture of experts: block_forward behind the router.
  loss,
  /// Final norm, head and loss without backward; with split sequences, of the last token alone.
  head_forward,
  block_recompute_input,
  block_recompute_selective,
  block_recompute_attention,  ///< Rest of the record from x, k, v and the attention output.
  block_recompute_kv,         ///< Rest of the record from x, k and v.
  block_backward,
  embed_backward,
  combine,
  norm
};

/// Work of `pass` for one micro-batch; for combine and norm, work on `unit` once a step. `position`
/// is the number of the micro-batch's chunk in its sequence, where sequences are split.
[[nodiscard]] Work work_of(const Job& job, Pass pass, std::size_t unit, std::int64_t position = 0);

/// Number of different experts that `tokens` tokens use on average with a router that favours none:
/// E (1 - (1 - k / E)^T) rounded to the nearest, at least k.
[[nodiscard]] std::int64_t expected_experts(const Experts& experts, std::int64_t tokens);

/// Name of a cost: tasks with equal keys have equal costs. "forward/block", "update/block/t1",
/// "copy/h2d", ... plus the sizes that matter.
struct CostKey {
  std::string name;
  friend bool operator==(const CostKey&, const CostKey&) = default;
  friend auto operator<=>(const CostKey&, const CostKey&) = default;
};

/// What a cost rests on.
enum class Evidence { measured, fitted, datasheet };

/// A task's timing for the simulator, before link names become link ids: its rate without
/// contention, and what it uses.
struct TaskCost {
  Seconds latency{0};
  Amount amount{0};  ///< Seconds of work (compute), bytes (copies) or parameters (updates).
  Rate cap{0};       ///< Rate without contention, amount per second.
  double weight = 1;
  /// Name of each link used, and units of it per unit of amount.
  std::vector<std::pair<std::string, double>> uses;
  /// Share of the lane's boost that the task gains (boost_share), where the machine has a boost; 0
  /// without products.
  double boosts = 0;
  Evidence evidence = Evidence::datasheet;
  double relative_deviation = 0;  ///< Standard deviation of the time over its value.
  /// The error of this cost is independent of others: it was measured, or scaled from measured
  /// passes. Other costs err together with all that rest on the same facts.
  bool errs_alone = false;
};

enum class CopyDirection { h2d, d2h, disk_read, disk_write };

/// Costs of tasks on one machine: a profile and its calibration. Immutable; safe to share between
/// threads.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// The backend whose scratch and kernels the costs describe.
  [[nodiscard]] virtual DeviceKind device() const { return DeviceKind::host; }
  /// A link of the machine and its capacity, which every step graph declares.
  struct LinkCapacity {
    std::string name;
    Rate capacity;
  };
  struct LaneInterference {
    std::string on, from;
    double factor;
  };
  /// Boost of the compute lane: its rule by which rest makes tasks faster than their stated times
  /// (sim/boost.hpp).
  struct LaneBoost {
    double gain, most;
    Seconds window;
    double lasting_gain = 0;
    Seconds lasting_window{1};
  };
  [[nodiscard]] virtual std::optional<LaneBoost> boost() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<LinkCapacity> links() const = 0;
  /// Links of the disk, for graphs of plans that use it.
  [[nodiscard]] virtual std::vector<LinkCapacity> disk_links() const { return {}; }
  /// Interference between lanes while the CPU optimizer has `threads` threads. For `threads` 0 each
  /// pair's mildest factor, on which bounds over all plans rest.
  [[nodiscard]] virtual std::vector<LaneInterference> interference(std::int64_t threads) const = 0;
  [[nodiscard]] std::vector<LaneInterference> interference() const { return interference(0); }
  [[nodiscard]] virtual TaskCost compute(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost copy(const CostKey& key, CopyDirection direction,
                                      Bytes bytes) const = 0;
  [[nodiscard]] virtual TaskCost cpu_update(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost launch(const CostKey& key, const Work& work) const = 0;
  [[nodiscard]] virtual TaskCost data(const CostKey& key, std::int64_t tokens) const = 0;
  /// Hash of profile and calibration together, which predictions record.
  [[nodiscard]] virtual std::string hash() const = 0;
};

}  // namespace sluice::planner
