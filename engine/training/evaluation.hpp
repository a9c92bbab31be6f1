// Evaluation of the loss on validation text between steps, in the memory of the training step.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/program.hpp"
#include "engine/ranks/rank_links.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Function that fills `inputs` and `targets`, each [n, seq_len], with the n windows of text from
/// `first` on.
using ReadWindows = std::function<void(std::int64_t first, std::span<std::int32_t> inputs,
                                       std::span<std::int32_t> targets)>;

/// Where a forward pass first produced a value that is not finite.
struct NotFinite {
  std::size_t unit;          ///< Unit whose output or loss is not finite.
  std::int64_t micro_batch;  ///< Micro-batch among those of the windows evaluated, from 0.
};

/// Thrown by each rank's evaluation where reading the windows of one of them failed, before any
/// rank computes with them: `cause` is that rank's exception, null on the others.
struct EvaluationEnded {
  std::exception_ptr cause;
};

/// One rank's part of evaluations: the forward tasks of a step's first round, one after another on
/// the calling thread, with unpaced copies. At a step boundary only persistent tensors hold values,
/// and forward tasks write none of those, so training is not affected. With several ranks, those of
/// a pass take consecutive runs of its micro-batches; all must evaluate at the same time.
class RankEvaluation {
 public:
  /// `disk` is null if no weights lie on the disk.
  RankEvaluation(const planner::Job& job, const Program& program, Device& device, DiskStore* disk,
                 const RankLinks& links);

  /// See Evaluation; the result is the same on every rank. With several ranks, what `read` throws
  /// ends all of them as EvaluationEnded.
  [[nodiscard]] std::optional<double> mean_loss(std::int64_t windows, const ReadWindows& read);
  [[nodiscard]] std::optional<NotFinite> find_not_finite(std::int64_t windows,
                                                         const ReadWindows& read);

 private:
  /// A pass over some micro-batches of the windows: `first` is this rank's first, `count` their
  /// number on this rank.
  struct Pass {
    std::int64_t first = 0, count = 0;
  };
  /// The passes over `windows` windows, as this rank runs them.
  [[nodiscard]] std::vector<Pass> passes(std::int64_t windows) const;
  /// Writes the tokens of the micro-batch that begins with window `first_window` to where the tasks
  /// of the round's micro-batch `slot` read them. Windows from `windows` on are filled with targets
  /// that do not count. Returns the number of targets that count.
  std::int64_t place(std::size_t slot, std::int64_t first_window, std::int64_t windows,
                     const ReadWindows& read);
  /// Places the windows of a pass; returns the number of targets that count.
  std::int64_t place_pass(const Pass& pass, std::int64_t windows, const ReadWindows& read);

  /// Calls `run(task)` for each task of a pass, in order, until it returns false.
  template <class Run>
  void for_each_task(const Pass& pass, const Run& run);
  /// Runs any task except the loss.
  void run(const BoundTask& task);
  [[nodiscard]] bool is_finite(const BoundAccess& values);

  planner::Job job_;
  const Program& program_;
  Device& device_;
  DiskStore* disk_;
  RankLinks links_;
  World world_;
  /// Tasks of round 0 that load weights, run the forward pass or compute the loss, in order.
  std::vector<std::uint32_t> tasks_;
  /// For each micro-batch of the round, the address that the embedding reads its tokens from.
  std::vector<std::byte*> inputs_;
  std::vector<std::byte*> targets_;
  std::vector<std::int32_t> input_tokens_, target_tokens_;  ///< Tokens of one micro-batch.
};

/// Evaluations of a session, by all of its ranks at the same time. Call it only while no step runs.
class Evaluation {
 public:
  /// `ranks` are those of this process, with `links` each; they must outlive this object.
  Evaluation(std::vector<RankEvaluation*> ranks, std::vector<RankLinks> links)
      : ranks_(std::move(ranks)), links_(std::move(links)) {}

  using ReadWindows = engine::ReadWindows;
  using NotFinite = engine::NotFinite;
  /// Mean cross-entropy of `windows` > 0 windows, in nats per target; none without a target. It is
  /// summed by micro-batch in order, so it depends neither on the plan nor on the number of ranks.
  /// Throws what `read` throws, and EvaluationEnded without a cause if it threw on a rank of
  /// another process.
  [[nodiscard]] std::optional<double> mean_loss(std::int64_t windows, const ReadWindows& read);
  /// Runs forward passes over `windows` until some unit's output is not finite; none if all are
  /// finite.
  [[nodiscard]] std::optional<NotFinite> find_not_finite(std::int64_t windows,
                                                         const ReadWindows& read);

 private:
  /// Calls `evaluate(rank, read)` on all ranks, of which one reads at a time; returns the first
  /// one's result.
  template <class Result, class Evaluate>
  Result on_ranks(const ReadWindows& read, const Evaluate& evaluate);

  std::vector<RankEvaluation*> ranks_;
  std::vector<RankLinks> links_;
};

}  // namespace sluice::engine
