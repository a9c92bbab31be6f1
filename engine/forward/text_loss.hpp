// Loss of a model on a text or a data set, computed window by window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/forward/forward_session.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Windows of tokens on which a model's loss is computed: seq_len inputs each, and a target for
/// each input.
class LossWindows {
 public:
  virtual ~LossWindows() = default;
  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// Reads window `window` (0 <= window < count()): [seq_len] inputs, and for each input its
  /// target, the token that follows. Negative targets do not count.
  virtual void read(std::int64_t window, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets) = 0;
};

/// All windows of a run's data: those of training in the order of the first epoch, then those of
/// validation.
class DatasetWindows : public LossWindows {
 public:
  explicit DatasetWindows(WindowedText& text) : text_(text) {}
  [[nodiscard]] std::int64_t count() const override {
    return text_.training_windows() + text_.validation_windows();
  }
  void read(std::int64_t window, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;

 private:
  WindowedText& text_;
};

/// Windows of `seq_len` tokens that begin `stride` tokens apart, 1 <= stride <= seq_len. Every
/// token but the first counts once, in the first window that predicts it. With a stride below
/// seq_len each counted token has at least seq_len - stride tokens of context where the text has
/// them, as in transformers' guide to the perplexity of fixed-length models.
class TextWindows : public LossWindows {
 public:
  /// Cuts `tokens` into windows; they must outlive this object and be at least two.
  TextWindows(std::span<const std::int32_t> tokens, std::int64_t seq_len, std::int64_t stride);

  [[nodiscard]] std::int64_t count() const override { return count_; }
  /// Number of tokens whose loss counts: all of the text but its first token.
  [[nodiscard]] std::int64_t predicted() const { return std::ssize(tokens_) - 1; }
  /// Reads a window. Targets that the window before had already, and positions beyond the end of
  /// the text, do not count (their target is negative); inputs beyond the end are token 0.
  void read(std::int64_t window, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;

 private:
  std::span<const std::int32_t> tokens_;
  std::int64_t seq_len_, stride_, count_;
};

/// Sums a model's loss over all windows, `job.batch_size` windows per forward pass.
class TextLoss : public PassWork {
 public:
  TextLoss(const planner::Job& job, LossWindows& windows);

  [[nodiscard]] std::int64_t passes() const;
  void fill(std::span<std::int32_t> tokens, std::int64_t pass) override;
  void finish(std::span<const std::byte> result, std::int64_t pass) override;
  /// Cross-entropy in nats, summed over the targets of all passes that have finished, in the order
  /// of their micro-batches.
  [[nodiscard]] double nats() const { return nats_; }
  /// Number of targets that count, in all passes that have begun: those whose loss nats() sums,
  /// once all passes have finished.
  [[nodiscard]] std::int64_t predicted() const { return predicted_; }

 private:
  const planner::Job& job_;
  LossWindows& windows_;
  double nats_ = 0;
  std::int64_t predicted_ = 0;
};

}  // namespace sluice::engine
