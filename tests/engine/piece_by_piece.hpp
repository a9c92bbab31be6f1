// Forward passes in pieces, over keys and values that are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "engine/host/templates.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/graph/record.hpp"
#include "tests/engine/guarded_buffer.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {

/// Passes of a sequence through a model in pieces of some tokens, each over the keys and values of
/// earlier pieces.
class PieceByPiece {
 public:
  PieceByPiece(const TinyModel& model, std::int64_t piece)
      : model_(model),
        job_(pieces_of(model.job, piece)),
        templates_(job_),
        record_(planner::block_record(job_)),
        workspace_(planner::workspace_bytes(job_)),
        input_(planner::stream_bytes(job_)),
        next_(planner::stream_bytes(job_)),
        full_(record_.all_bytes - record_.input_bytes) {
    for (const auto& unit : model.weights) {
      high_.emplace_back();
      low_.emplace_back();
      for (const float weight : unit) {
        const SplitMaster halves = split_master(weight);
        high_.back().push_back(halves.high);
        low_.back().push_back(halves.low);
      }
    }
    for (std::int64_t layer = 0; layer < job_.model.layers; ++layer) {
      keys_.emplace_back(static_cast<std::size_t>(planner::kept_bytes(job_, layer).count()));
    }
  }

  /// Loss, summed over the model's sequence.
  double loss() {
    double sum = 0;
    for (std::int64_t first = 0; first < job_.seq_len; first += job_.micro_tokens()) {
      sum += piece_loss(first);
    }
    return sum;
  }

  /// The tokens of the largest logits behind `prompt` and behind each other, `count` of them; needs
  /// pieces of one token.
  std::vector<std::int32_t> greedy(const std::vector<std::int32_t>& prompt, std::int64_t count) {
    std::vector<std::int32_t> text = prompt;
    std::vector<float> logits(static_cast<std::size_t>(job_.model.vocab));
    for (std::int64_t first = 0; first < std::ssize(prompt) + count - 1; ++first) {
      pass(text.data() + first, first);
      if (first + 1 < std::ssize(text)) continue;
      templates_.logits(weights(keys_.size() + 1), weights(0), input_.data(), 1, logits.data(),
                        scratch());
      text.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
    }
    return {text.begin() + std::ssize(prompt), text.end()};
  }

 private:
  static planner::Job pieces_of(planner::Job job, std::int64_t piece) {
    job.sequence_chunk = piece;
    job.loss_chunk = piece;
    return job;
  }
  [[nodiscard]] Weights weights(std::size_t unit) const {
    const bool bf16 = job_.compute != planner::ComputeType::fp32;
    return {high_[unit].data(), bf16 ? nullptr : low_[unit].data()};
  }
  Workspace scratch() { return {workspace_.data(), workspace_.bytes()}; }

  /// Passes a piece through all blocks; the residual stream behind the last is then in `input_`.
  void pass(const std::int32_t* tokens, std::int64_t first) {
    templates_.embed_forward(weights(0), tokens, input_.data());
    for (std::size_t layer = 0; layer < keys_.size(); ++layer) {
      const RecordView view{.record = nullptr,
                            .full = full_.data(),
                            .kept = record_.input_bytes,
                            .input = input_.data(),
                            .layer = static_cast<std::int64_t>(layer)};
      templates_.block_extend(weights(layer + 1), view,
                              {keys_[layer].data(), first, job_.micro_tokens()}, next_.data(),
                              scratch());
      std::memcpy(input_.data(), next_.data(),
                  static_cast<std::size_t>(planner::stream_bytes(job_).count()));
    }
  }

  double piece_loss(std::int64_t first) {
    pass(model_.tokens.data() + first, first);
    const LossArguments arguments{.head = weights(keys_.size() + 1),
                                  .embed = weights(0),
                                  .input = input_.data(),
                                  .targets = model_.targets.data() + first,
                                  .scale = 1,
                                  .gradient = nullptr,
                                  .tied_gradient = nullptr,
                                  .first = true,
                                  .stream_gradient = nullptr};
    return templates_.loss_only(arguments, scratch());
  }

  const TinyModel& model_;
  planner::Job job_;
  HostTemplates templates_;
  planner::BlockRecord record_;
  GuardedBuffer workspace_, input_, next_, full_;
  std::vector<std::vector<std::uint16_t>> high_, low_;
  std::vector<std::vector<std::byte>> keys_;
};

}  // namespace sluice::engine::testing
