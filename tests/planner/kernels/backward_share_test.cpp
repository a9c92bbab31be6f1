#include "planner/kernels/backward_share.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

AttentionWork backward(AttentionLibrary library, std::int64_t length, std::int64_t head_dim) {
  return {.sequences = 1,
          .length = length,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = head_dim,
          .backward = true,
          .library = library};
}

double share(AttentionLibrary library, std::int64_t length, std::int64_t head_dim,
             const char* architecture) {
  return backward_share(backward(library, length, head_dim), architecture).share;
}

TEST(BackwardShare, IsWhatWasPublished) {
  using enum AttentionLibrary;
  // arXiv 2407.08608: 559 over 646 TFLOP/s, and 318 over 370.
  EXPECT_NEAR(share(flash, 8192, 128, "sm_90"), 559.0 / 646, 0.01);
  EXPECT_NEAR(share(flash2, 8192, 128, "sm_90"), 318.0 / 370, 0.01);
  EXPECT_NEAR(share(flash, 1024, 64, "sm_90"), 363.0 / 392, 0.01);
  EXPECT_EQ(share(flash, 4096, 128, "sm_80"), share(flash2, 4096, 128, "sm_80")) << "3 is Hopper's";
  // apache/tvm, RTX 4090, causal, 2048 tokens: 99.2 over 151.2, and 96.5 over 142.2.
  EXPECT_NEAR(share(flash, 2048, 128, "sm_89"), 99.2 / 151.2, 0.02);
  EXPECT_NEAR(share(flash, 2048, 64, "sm_89"), 96.5 / 142.2, 0.02);
}

TEST(BackwardShare, LiesBetweenItsPointsAndEndsAtThem) {
  for (const auto library : kAttentionLibraries) {
    for (const std::int64_t head_dim : {64, 80, 128}) {
      EXPECT_EQ(share(library, 16, head_dim, "sm_90"), share(library, 128, head_dim, "sm_90"));
      EXPECT_EQ(share(library, 65536, head_dim, "sm_90"),
                share(library, 1 << 20, head_dim, "sm_90"));
      for (std::int64_t length = 64; length < 200000; length = length * 3 / 2) {
        const double at = share(library, length, head_dim, "sm_90");
        EXPECT_GT(at, 0.4);
        EXPECT_LT(at, 1.0);
      }
    }
  }
}

TEST(BackwardShare, SeesKeysOfEarlierChunksAndNoneBeyondAWindow) {
  AttentionWork work = backward(AttentionLibrary::flash, 1024, 128);
  const double alone = backward_share(work, "sm_90").share;
  work.prior = 15360;
  EXPECT_GT(backward_share(work, "sm_90").share, alone);
  work.window = 1024;
  EXPECT_EQ(backward_share(work, "sm_90").share, alone);
}

TEST(ForwardShare, OnlyHopperHasAFasterLibraryThanFlashAttention2) {
  EXPECT_EQ(forward_share(backward(AttentionLibrary::flash, 4096, 128), "sm_90"), 1);
  EXPECT_LT(forward_share(backward(AttentionLibrary::flash2, 4096, 128), "sm_90"), 0.6);
  EXPECT_EQ(forward_share(backward(AttentionLibrary::flash2, 4096, 128), "sm_86"), 1);
}

TEST(PaddedHeadDim, IsTheNextKernelOfTheLibrary) {
  const auto padded = [](AttentionLibrary library, std::int64_t head_dim) {
    return padded_head_dim(backward(library, 4096, head_dim));
  };
  EXPECT_EQ(padded(AttentionLibrary::cudnn, 80), 128);
  EXPECT_EQ(padded(AttentionLibrary::flash, 80), 96);
  EXPECT_EQ(padded(AttentionLibrary::cudnn, 64), 64);
  EXPECT_EQ(padded(AttentionLibrary::flash, 512), 512);
}

}  // namespace
}  // namespace sluice::planner
