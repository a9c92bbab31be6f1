// Evaluation of the loss on validation text between steps, in the memory of the training step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/program.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Runs the forward tasks of a step's first round one after another on the calling thread, with
/// unpaced copies. At a step boundary only persistent tensors hold values, and forward tasks write
/// none of those, so training is not affected.
class Evaluation {
 public:
  /// `disk` is null if no weights lie on the disk.
  Evaluation(const planner::Job& job, const Program& program, Device& device,
             DiskStore* disk = nullptr);

  /// Function that fills `inputs` and `targets`, each [n, seq_len], with the n windows of text from
  /// `first` on.
  using ReadWindows = std::function<void(std::int64_t first, std::span<std::int32_t> inputs,
                                         std::span<std::int32_t> targets)>;
  /// Mean cross-entropy of `windows` > 0 windows, in nats per target; none without a target. It is
  /// summed by micro-batch in order, so it does not depend on the plan. Call it only while no step
  /// runs.
  [[nodiscard]] std::optional<double> mean_loss(std::int64_t windows, const ReadWindows& read);

  /// Where a forward pass first produced a value that is not finite.
  struct NotFinite {
    std::size_t unit;          ///< Unit whose output or loss is not finite.
    std::int64_t micro_batch;  ///< Micro-batch among those of the windows evaluated, from 0.
  };
  /// Runs forward passes over `windows` until some unit's output is not finite; none if all are
  /// finite.
  [[nodiscard]] std::optional<NotFinite> find_not_finite(std::int64_t windows,
                                                         const ReadWindows& read);

 private:
  /// Writes the tokens of the micro-batch that begins with window `first_window` to where the tasks
  /// of the round's micro-batch `slot` read them. Windows from `windows` on are filled with targets
  /// that do not count. Returns the number of targets that count.
  std::int64_t place(std::size_t slot, std::int64_t first_window, std::int64_t windows,
                     const ReadWindows& read);

  /// Places the windows, as many micro-batches at a time as a round has, and calls `run(task, first
  /// of those micro-batches)` for each of their tasks, in order, until it returns false. Returns
  /// the number of targets placed.
  template <class Run>
  std::int64_t for_each_task(std::int64_t windows, const ReadWindows& read, const Run& run);
  /// Runs any task except the loss.
  void run(const BoundTask& task);
  [[nodiscard]] bool is_finite(const BoundAccess& values);

  planner::Job job_;
  const Program& program_;
  Device& device_;
  DiskStore* disk_;
  /// Tasks of round 0 that load weights, run the forward pass or compute the loss, in order.
  std::vector<std::uint32_t> tasks_;
  /// For each micro-batch of the round, the address that the embedding reads its tokens from.
  std::vector<std::byte*> inputs_;
  std::vector<std::byte*> targets_;
  std::vector<std::int32_t> input_tokens_, target_tokens_;  ///< Tokens of one micro-batch.
};

}  // namespace sluice::engine
