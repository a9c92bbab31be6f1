// The loss on text that is not trained on, between steps, in the memory of the step itself.
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

/// Runs the forward tasks of a step's first round, one after another on the calling thread and
/// unpaced. At a step boundary nothing but persistent tensors holds a value, and forward tasks
/// write none of those, so training goes on as if nothing had happened.
class Evaluation {
 public:
  /// `disk`: null where no weights live there.
  Evaluation(const planner::Job& job, const Program& program, Device& device,
             DiskStore* disk = nullptr);

  /// Fills windows first .. first + n - 1 as [n, seq_len] inputs and targets.
  using ReadWindows = std::function<void(std::int64_t first, std::span<std::int32_t> inputs,
                                         std::span<std::int32_t> targets)>;
  /// Mean cross-entropy, in nats a target, of `windows` > 0 windows. Summed by micro-batch, in
  /// order, so it does not depend on the plan. Only while no step runs.
  [[nodiscard]] double mean_loss(std::int64_t windows, const ReadWindows& read);

  /// Where forward first leaves the finite numbers.
  struct NotFinite {
    std::size_t unit;          ///< Whose output, or loss, it is.
    std::int64_t micro_batch;  ///< Of the windows, from 0.
  };
  /// Runs forward on `windows` until some unit's output is not finite; none where all are.
  [[nodiscard]] std::optional<NotFinite> find_not_finite(std::int64_t windows,
                                                         const ReadWindows& read);

 private:
  /// Writes the tokens of one micro-batch where its tasks read them; absent windows count nothing.
  /// Returns how many targets count.
  std::int64_t place(std::size_t slot, std::int64_t first_window, std::int64_t windows,
                     const ReadWindows& read);

  /// Places the windows, a slot at a time, and calls `run(task, slot's first micro-batch)` for each
  /// task of theirs, in order, until it returns false. Returns the targets that were placed.
  template <class Run>
  std::int64_t for_each_task(std::int64_t windows, const ReadWindows& read, const Run& run);
  /// Of any task but the loss.
  void run(const BoundTask& task);
  [[nodiscard]] bool is_finite(const BoundAccess& values);

  planner::Job job_;
  const Program& program_;
  Device& device_;
  DiskStore* disk_;
  std::vector<std::uint32_t> tasks_;  ///< Weight loads, forward and loss of round 0, in order.
  std::vector<std::byte*> inputs_;    ///< By micro-batch of the round: the embedding's tokens.
  std::vector<std::byte*> targets_;
  std::vector<std::int32_t> input_tokens_, target_tokens_;  ///< Of one micro-batch.
};

}  // namespace sluice::engine
