// Parts of a gated delta net's rule, and places of states however documents are packed.
#include "planner/scratch/delta_scratch.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "planner/graph/record.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::planner {
namespace {

constexpr DeltaNet kNet{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};

TEST(DeltaPart, CoversAllThatFitsThenFewerSequencesThenFewerHeads) {
  EXPECT_EQ(delta_part(kNet, 4, 1024), (DeltaPart{4, 16}));
  EXPECT_EQ(delta_part(kNet, 12, 1024), (DeltaPart{6, 16}));
  EXPECT_EQ(delta_part(kNet, 3, 16384), (DeltaPart{1, 8}));
  EXPECT_EQ(delta_part(kNet, 1, std::int64_t{1} << 22), (DeltaPart{1, 2}));
}

TEST(DeltaPart, TakesAboutFourKilobytesForEachTokenAndHead) {
  // gamma; U, W and dN; two rows of pairs; two states of 128 x 128 for every 64 tokens.
  constexpr std::int64_t kEach = 4 * (1 + 3 * 128 + 2 * 64 + 2 * 128 * 128 / 64);
  EXPECT_EQ(delta_rule_space(kNet, {2, 16}, 1024).total, Bytes(2 * 1024 * 32 * kEach));
}

TEST(DeltaStates, OfEveryPackingHavePlacesOfTheirOwn) {
  constexpr std::int64_t kLength = 700;
  for (const std::vector<std::int64_t>& bounds :
       {std::vector<std::int64_t>{0, kLength},
        {0, 1, 66, 131, 196, kLength},
        {0, 63, 64, 65, 130, 195, 323, 324, 452, kLength}}) {
    std::set<std::int64_t> places;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      for (std::int64_t t = bounds[i] + kDeltaChunk; t < bounds[i + 1]; t += kDeltaChunk) {
        EXPECT_LT(t / kDeltaChunk, delta_states(kLength));
        EXPECT_TRUE(places.insert(t / kDeltaChunk).second) << t;
      }
    }
  }
}

TEST(CudaDeltaSpace, IsPartOfTheWorkspaceAndHasNoRuleWhereSequencesAreSplit) {
  Job job;
  job.model.hidden = 64;
  job.model.heads = job.model.kv_heads = 2;
  job.model.head_dim = 32;
  job.model.intermediate = 64;
  job.model.vocab = 64;
  job.seq_len = 256;
  EXPECT_EQ(cuda_delta_space(job).total, Bytes(0));
  job.model.delta_net = kNet;
  const CudaDeltaSpace whole = cuda_delta_space(job);
  const DeltaPart part = delta_part(kNet, job.micro_batch, job.seq_len);
  EXPECT_EQ(whole.total, whole.rule + delta_rule_space(kNet, part, job.seq_len).total);
  const CudaWorkspace workspace = cuda_workspace(job);
  EXPECT_LE(workspace.delta_begin + workspace.delta.total, workspace.total);
  job.sequence_chunk = 64;
  EXPECT_EQ(cuda_delta_space(job).total, cuda_delta_space(job).rule);
}

}  // namespace
}  // namespace sluice::planner
