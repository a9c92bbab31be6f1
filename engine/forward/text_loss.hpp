// The loss of a model on a text or a data set: windows of it, and which of their tokens count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/forward/forward_session.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// What a loss is taken of.
class LossWindows {
 public:
  virtual ~LossWindows() = default;
  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// [seq_len] inputs and targets of window 0 <= `window` < count(); negative targets do not count.
  virtual void read(std::int64_t window, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets) = 0;
};

/// Every window of a data set, those of training in the order of its first epoch.
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

/// Windows of `seq_len` tokens that begin `stride` apart, 1 <= stride <= seq_len. Every token but
/// the first counts once, in the first window that predicts it: with a stride below seq_len each
/// has seq_len - stride tokens before it, where the text has them (as transformers' guide to the
/// perplexity of fixed-length models does).
class TextWindows : public LossWindows {
 public:
  /// `tokens` must outlive the windows and be two at least.
  TextWindows(std::span<const std::int32_t> tokens, std::int64_t seq_len, std::int64_t stride);

  [[nodiscard]] std::int64_t count() const override { return count_; }
  /// Tokens that count.
  [[nodiscard]] std::int64_t predicted() const { return std::ssize(tokens_) - 1; }
  /// Token 0 beyond the text.
  void read(std::int64_t window, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;

 private:
  std::span<const std::int32_t> tokens_;
  std::int64_t seq_len_, stride_, count_;
};

/// Sums the loss of all windows, `job.batch_size` a pass.
class TextLoss : public PassWork {
 public:
  TextLoss(const planner::Job& job, LossWindows& windows);

  [[nodiscard]] std::int64_t passes() const;
  void fill(std::span<std::int32_t> tokens, std::int64_t pass) override;
  void finish(std::span<const std::byte> result, std::int64_t pass) override;
  /// Summed cross-entropy in nats of the passes that have finished, micro-batches in order.
  [[nodiscard]] double nats() const { return nats_; }
  /// Tokens that counted, once all passes have finished.
  [[nodiscard]] std::int64_t predicted() const { return predicted_; }

 private:
  const planner::Job& job_;
  LossWindows& windows_;
  double nats_ = 0;
  std::int64_t predicted_ = 0;
};

}  // namespace sluice::engine
