// Long sequences in chunks of tokens, for MLPs and the loss, against the same computation without
// chunks and against a forward pass that takes the sequence in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/host/templates.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/graph/record.hpp"
#include "sim/error.hpp"
#include "tests/engine/guarded_buffer.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;
using planner::Keep;

constexpr std::array kKeeps{Keep::all, Keep::selective, Keep::input};

/// Largest |a - b| / |b| of a unit's gradients.
double worst_unit(const UnitVectors& a, const UnitVectors& b) {
  double worst = 0;
  for (std::size_t unit = 0; unit < a.size(); ++unit) {
    const std::vector<double> expected(b[unit].begin(), b[unit].end());
    worst = std::max(worst, relative_error(a[unit].data(), expected.data(),
                                           static_cast<std::int64_t>(expected.size())));
  }
  return worst;
}

bool same_bits(const UnitVectors& a, const UnitVectors& b) {
  for (std::size_t unit = 0; unit < a.size(); ++unit) {
    if (std::memcmp(a[unit].data(), b[unit].data(), a[unit].size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

/// A model with one sequence of `length` tokens.
TinyModel long_model(const std::string& name, std::int64_t length) {
  planner::Job job = tiny_model(name).job;
  job.seq_len = length;
  job.batch_size = 1;
  return tiny_model(job);
}

class LongSequence : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Templates, LongSequence, ::testing::ValuesIn(tiny_model_names()),
                         [](const auto& info) { return info.param; });

TEST_P(LongSequence, AnMlpInChunksGivesTheGradientsOfTheWholeToRounding) {
  TinyModel model = long_model(GetParam(), 20);
  const StepResult whole = run_step(model, Keep::all);
  for (const std::int64_t chunk : {1, 7, 19}) {
    model.job.mlp_chunk = chunk;
    const StepResult chunks = run_step(model, Keep::all);
    EXPECT_TRUE(chunks.guards_intact) << chunk;
    EXPECT_NEAR(chunks.loss, whole.loss, 1e-6 * whole.loss) << chunk;
    EXPECT_LT(worst_unit(chunks.gradients, whole.gradients), 1e-6) << chunk;
  }
}

TEST_P(LongSequence, WhatIsKeptOfChunkedBlocksChangesNoBit) {
  for (const ComputeType compute : {ComputeType::fp32, ComputeType::bf16}) {
    TinyModel model = long_model(GetParam(), 20);
    model.job.compute = compute;
    model.job.mlp_chunk = 7;
    const StepResult all = run_step(model, Keep::all);
    for (const Keep keep : kKeeps) {
      const StepResult other = run_step(model, keep);
      EXPECT_TRUE(other.guards_intact) << to_string(keep);
      EXPECT_EQ(other.loss, all.loss) << to_string(keep);
      EXPECT_TRUE(same_bits(other.gradients, all.gradients)) << to_string(keep);
    }
  }
}

TEST(LongSequenceTiles, ChunksOfWholeTilesGiveTheBitsOfTheWhole) {
  // The host adds weight gradients up 512 tokens at a time, in chunks or not.
  TinyModel model = long_model("qwen2", 1100);
  const StepResult whole = run_step(model, Keep::input);
  model.job.mlp_chunk = 1024;
  const StepResult chunks = run_step(model, Keep::input);
  EXPECT_EQ(chunks.loss, whole.loss);
  EXPECT_TRUE(same_bits(chunks.gradients, whole.gradients));
}

/// Loss, summed over a sequence that passes the blocks in pieces, each over the keys and values of
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
    const std::int64_t kept = 2 * job_.seq_len * job_.model.kv_heads * job_.model.head_dim *
                              job_.compute_element().count();
    keys_.assign(static_cast<std::size_t>(job_.model.layers),
                 std::vector<std::byte>(static_cast<std::size_t>(kept)));
  }

  double loss() {
    double sum = 0;
    for (std::int64_t first = 0; first < job_.seq_len; first += job_.micro_tokens()) {
      sum += piece_loss(first);
    }
    return sum;
  }

 private:
  static planner::Job pieces_of(planner::Job job, std::int64_t piece) {
    job.sequence_chunk = piece;
    job.loss_chunk = piece;
    return job;
  }
  [[nodiscard]] Weights weights(std::size_t unit) const {
    return {high_[unit].data(), job_.compute == ComputeType::bf16 ? nullptr : low_[unit].data()};
  }
  Workspace scratch() { return {workspace_.data(), workspace_.bytes()}; }

  double piece_loss(std::int64_t first) {
    templates_.embed_forward(weights(0), model_.tokens.data() + first, input_.data());
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

TEST_P(LongSequence, LossEqualsAReferenceComputedInPieces) {
  TinyModel model = long_model(GetParam(), 800);
  model.job.mlp_chunk = 300;
  model.job.loss_chunk = 130;
  const double loss = run_step(model, Keep::input).loss * static_cast<double>(model.job.tokens());
  EXPECT_NEAR(PieceByPiece(model, 80).loss(), loss, 1e-6 * loss);
  EXPECT_NEAR(PieceByPiece(model, 1).loss(), loss, 1e-6 * loss);
}

}  // namespace
}  // namespace sluice::engine::testing
