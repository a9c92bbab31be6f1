#include "planner/kernels/kernel_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/kernels/attention.hpp"
#include "planner/kernels/backward_share.hpp"
#include "planner/kernels/file.hpp"
#include "planner/kernels/fit.hpp"
#include "planner/kernels/gemm.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

/// Constants of a device on which nothing but tiles of 128 x 128 costs time: 4 multiprocessors of 1
/// TFLOP/s.
std::vector<double> tiles_alone() {
  constexpr double kNothing = 1e-30, kEndless = 1e30;
  std::vector<double> constants = {kNothing, 4e12,     kEndless, kNothing, 1,
                                   kNothing, 1,        kEndless, 1,        1,
                                   1e6,      kEndless, kNothing, kNothing};
  for (const GemmTile& tile : kGemmTiles) {
    constants.push_back(tile.rows == 128 && tile.columns == 128 ? 1 : 1e-9);
  }
  constants[9] = kEndless;  // partial sums never pay
  return constants;
}

/// Constants of a plausible GPU.
std::vector<double> plausible(KernelKind kind) {
  if (kind == KernelKind::attention) {
    return {5e-6, 2e12, 1e-7, 0.5, 0.1, 1e-3, 1, 3, 6e12, 5e7, 1e-8, 4e14, 5e14, 5e14, 4e14, 3e14};
  }
  return {2e-6, 8e14, 2.5e12, 1e-6, 0.7, 0.15, 1e-3, 6e12, 2,   1,   5e7, 2e13, 1e-7,
          0.2,  0.8,  0.95,   0.9,  0.8, 0.8,  0.8,  0.7,  0.7, 0.7, 0.6, 0.5,  0.4};
}

/// Times of `plausible` at shapes of a grid, each off by up to 2 % in a fixed pattern.
std::vector<MeasuredKernel> synthetic(KernelKind kind, double multiprocessors) {
  std::vector<MeasuredKernel> rows;
  const auto add = [&](const KernelShape& shape) {
    const double exact = base_seconds(kind, multiprocessors, plausible(kind), shape);
    const double off = 0.02 * std::sin(static_cast<double>(rows.size()) * 12.9898);
    rows.push_back({shape, Seconds(exact * (1 + off))});
  };
  if (kind == KernelKind::gemm) {
    for (const double m : {512., 768., 1024., 1536., 2048., 3072., 4096., 8192., 16384.}) {
      for (const double n : {256., 768., 1536., 3584., 5120., 8192., 18944.}) {
        for (const double k : {64., 512., 2048., 4096., 7168., 14336.}) add({{m, n, k}});
      }
    }
  } else {
    for (const double b : {1., 2., 4., 8., 32.}) {
      for (const double l : {128., 512., 1024., 2048., 4096., 8192.}) {
        for (const double h : {8., 14., 28., 32.}) {
          for (const double d : {64., 128.}) add({{b, l, h, 4, d, 0}});
        }
      }
    }
  }
  return rows;
}

TEST(GemmModel, FourTilesFillFourMultiprocessorsOnce) {
  // One tile: 2 x 128 x 128 x 1000 FLOPs at 1 TFLOP/s.
  const double tile = 2.0 * 128 * 128 * 1000 / 1e12;
  EXPECT_NEAR(gemm_seconds(4, tiles_alone(), 256, 256, 1000), tile, 1e-9 * tile);
  EXPECT_NEAR(gemm_seconds(4, tiles_alone(), 1, 1, 1000), tile, 1e-9 * tile)
      << "a tile costs the same however little of it is used";
}

TEST(GemmModel, OneRowMoreOpensAnotherWave) {
  const double tile = 2.0 * 128 * 128 * 1000 / 1e12;
  EXPECT_NEAR(gemm_seconds(4, tiles_alone(), 257, 256, 1000), 2 * tile, 1e-9 * tile);
  EXPECT_NEAR(gemm_seconds(4, tiles_alone(), 512, 256, 1000), 2 * tile, 1e-9 * tile);
  EXPECT_NEAR(gemm_seconds(4, tiles_alone(), 513, 256, 1000), 3 * tile, 1e-9 * tile);
}

TEST(GemmModel, WithoutArithmeticTheMemoryIsWhatCosts) {
  std::vector<double> constants = tiles_alone();
  constants[1] = 1e30;  // rate
  constants[2] = 1e9;   // memory
  constants[10] = 1;    // no cache
  // 2 bytes x (100 x 200 + 200 x 300 + 100 x 300) = 220 kB at 1 GB/s.
  EXPECT_NEAR(gemm_seconds(4, constants, 100, 300, 200), 220e-6, 1e-9);
}

TEST(GemmModel, MoreWorkNeverTakesLess) {
  const std::vector<double> constants = plausible(KernelKind::gemm);
  for (double m = 64; m < 20000; m *= 1.37) {
    const double time = gemm_seconds(132, constants, std::round(m), 4096, 4096);
    EXPECT_LE(time, gemm_seconds(132, constants, std::round(m), 4096, 8192));
    EXPECT_LE(time, 1.0001 * gemm_seconds(132, constants, 2 * std::round(m), 4096, 4096));
  }
}

TEST(AttentionModel, CountsTheCausalPairsOfAWindow) {
  EXPECT_EQ(attention_pairs(4, 0), 1 + 2 + 3 + 4);
  EXPECT_EQ(attention_pairs(4, 2), 1 + 2 + 2 + 2);
  EXPECT_EQ(attention_pairs(4, 99), attention_pairs(4, 0))
      << "a window beyond the sequence is none";
  EXPECT_EQ(attention_pairs(1, 0), 1);
}

TEST(AttentionModel, HeadDimensionsBetweenTheConstantsLieBetweenTheirTimes) {
  const std::vector<double> constants = plausible(KernelKind::attention);
  const auto per_dim = [&](double d) {
    return attention_seconds(132, constants, {{8, 8192, 32, 8, d, 0}}) / d;
  };
  EXPECT_LT(std::min(per_dim(192), per_dim(256)) * 0.99, per_dim(224));
  EXPECT_GT(std::max(per_dim(192), per_dim(256)) * 1.01, per_dim(224));
}

TEST(KernelCorrection, LearnsAStepAndKeepsItBeyondTheData) {
  std::vector<double> features, residuals;
  for (int i = 0; i < 400; ++i) {
    features.push_back(i);
    residuals.push_back(i < 200 ? 0.1 : -0.1);
  }
  const KernelCorrection correction = fit_correction(features, 1, residuals);
  for (const double x : {-1e6, 0., 190.}) EXPECT_NEAR(correction.value(std::vector{x}), 0.1, 1e-3);
  for (const double x : {210., 1e6}) EXPECT_NEAR(correction.value(std::vector{x}), -0.1, 1e-3);
}

TEST(KernelCorrection, OutliersCarryNoWeight) {
  std::vector<double> features, residuals;
  for (int i = 0; i < 400; ++i) {
    features.push_back(i % 20);
    residuals.push_back(i % 10 == 3 ? 3.0 : 0.05);
  }
  // All rows at 13 and at 3 are outliers; elsewhere none may leak.
  EXPECT_NEAR(fit_correction(features, 1, residuals).value(std::vector{8.}), 0.05, 0.01);
}

TEST(KernelCorrection, OfNothingIsNothing) {
  EXPECT_EQ(fit_correction({}, 3, {}).value(std::vector{1., 2., 3.}), 0);
  const std::vector<double> features(60, 1.0), none(60, 0.0);
  EXPECT_EQ(fit_correction(features, 1, none).value(std::vector{1.}), 0);
}

TEST(LeastSquares, FindsALineThroughPointsOfWhichOneIsWrong) {
  const auto residuals = [](const std::vector<double>& x, std::vector<double>& r) {
    r.clear();
    for (int i = 0; i < 20; ++i) r.push_back(x[0] + x[1] * i - (i == 7 ? 50 : 3 + 2 * i));
  };
  const std::vector<double> x = least_squares(residuals, {0, 0}, 0.05, 1e-6, 100);
  EXPECT_NEAR(x[0], 3, 0.01);
  EXPECT_NEAR(x[1], 2, 0.01);
}

class KernelFit : public testing::TestWithParam<KernelKind> {};

TEST_P(KernelFit, PredictsTheHalfItHasNotSeen) {
  const std::vector<MeasuredKernel> rows = synthetic(GetParam(), 108);
  std::vector<MeasuredKernel> seen, unseen;
  for (std::size_t i = 0; i < rows.size(); ++i) (i * 7 % 10 < 5 ? seen : unseen).push_back(rows[i]);
  const KernelFamily family = fit_kernels(GetParam(), "NVIDIA A100-SXM4-80GB", seen);
  EXPECT_EQ(family.multiprocessors, 108);
  const KernelCheck check = check_kernels(family, unseen);
  EXPECT_LT(check.median_error, 0.04);
  EXPECT_LT(check.p90_error, 0.12);
}

TEST_P(KernelFit, SameInputGivesTheSameFile) {
  const std::vector<MeasuredKernel> rows = synthetic(GetParam(), 108);
  const auto text = [&] {
    KernelModel model("A100");
    model.set(fit_kernels(GetParam(), "A100", rows));
    return to_json_text(model);
  };
  const std::string once = text();
  EXPECT_EQ(once, text());
  EXPECT_EQ(once, to_json_text(kernels_from_json(once, "k.json")))
      << "what is read is what was written";
}

INSTANTIATE_TEST_SUITE_P(Kinds, KernelFit, testing::Values(KernelKind::gemm, KernelKind::attention),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(KernelFitting, InfersTheMultiprocessorsOfAnUnknownDeviceWellEnough) {
  const std::vector<MeasuredKernel> rows = synthetic(KernelKind::gemm, 60);
  const KernelFamily family = fit_kernels(KernelKind::gemm, "some accelerator", rows);
  EXPECT_GT(family.multiprocessors, 0);
  EXPECT_LT(family.check.median_error, 0.06);
}

TEST(KernelFitting, RefusesTooFewShapes) {
  std::vector<MeasuredKernel> rows = synthetic(KernelKind::gemm, 60);
  rows.resize(kLeastKernelRows - 1);
  EXPECT_REFUSED(fit_kernels(KernelKind::gemm, "A100", rows), "at least 50");
}

TEST(KernelModel, AnswersForTheKindsItHas) {
  KernelModel model("A100");
  model.set(fit_kernels(KernelKind::gemm, "A100", synthetic(KernelKind::gemm, 108)));
  const auto time = model.time(Gemm{4096, 4096, 4096});
  ASSERT_TRUE(time);
  EXPECT_LE(time->low, time->time);
  EXPECT_GE(time->high, time->time);
  EXPECT_GT(time->relative_deviation(), 0);
  EXPECT_FALSE(model.time(AttentionWork{1, 1024, 8, 8, 128}, "sm_80"));
}

TEST(KernelModel, RefusesFilesThatAreNotOne) {
  const auto read = [](const std::string& text) { return kernels_from_json(text, "k.json"); };
  EXPECT_REFUSED(read("{}"), "k.json: \"schema\" is missing");
  const std::string head = R"({"schema": "sluice/kernels/1", "device": "d", "families": [)";
  EXPECT_REFUSED(read(head + R"({"kind": "gem"}]})"), "k.json");
  KernelModel model("A100");
  model.set(fit_kernels(KernelKind::attention, "A100", synthetic(KernelKind::attention, 108)));
  std::string text = to_json_text(model);
  const std::string key = "\"launch_s\": ";
  text.replace(text.find(key), key.size(), "\"launch_s\": -");
  EXPECT_REFUSED(read(text), "launch_s: must be positive");
}

KernelModel plausible_model() {
  KernelModel model("device");
  for (const KernelKind kind : {KernelKind::gemm, KernelKind::attention}) {
    KernelFamily family;
    family.kind = kind;
    family.rows = 100;
    family.multiprocessors = 132;
    family.constants = plausible(kind);
    family.check = {.rows = 20, .log_low = -0.1, .log_high = 0.1};
    model.set(std::move(family));
  }
  return model;
}

AttentionWork attention_of(std::int64_t length, std::int64_t head_dim, bool backward = false) {
  return {.sequences = 1,
          .length = length,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = head_dim,
          .backward = backward};
}

TEST(KernelModel, GradientsAddedToFp32TakeTheirBytes) {
  const KernelModel model = plausible_model();
  // A product that its memory binds: 2 x 65536 x 65536 elements of a result over a k of 64.
  Gemm gradient{65536, 65536, 64};
  const Seconds written = model.time(gradient)->time;
  gradient.result_bytes = 8;
  const Seconds added = model.time(gradient)->time;
  EXPECT_GT(added, 2.5 * written);
  EXPECT_LT(added, 4 * written);
  // And one that its arithmetic binds hardly notices.
  Gemm square{8192, 8192, 8192};
  const Seconds before = model.time(square)->time;
  square.result_bytes = 8;
  EXPECT_GE(model.time(square)->time, before);
  EXPECT_LT(model.time(square)->time, 1.05 * before);
}

TEST(KernelModel, ChunksOfASequenceTakeItsTimeTogether) {
  const KernelModel model = plausible_model();
  const Seconds whole = model.time(attention_of(32768, 128), "sm_90")->time;
  Seconds sum(0), before(0);
  for (std::int64_t prior = 0; prior < 32768; prior += 8192) {
    AttentionWork chunk = attention_of(8192, 128);
    chunk.prior = prior;
    const Seconds time = model.time(chunk, "sm_90")->time;
    EXPECT_GT(time, before) << "more keys to see";
    before = time;
    sum += time;
  }
  EXPECT_NEAR(sum / whole, 1, 0.05);
}

TEST(KernelModel, BackwardTakesTheShareOfItsWorkAndIsLessSure) {
  const KernelModel model = plausible_model();
  const KernelTime forward = model.time(attention_of(8192, 128), "sm_90").value();
  const AttentionWork work = attention_of(8192, 128, true);
  const KernelTime backward = model.time(work, "sm_90").value();
  const double share = backward_share(work, "sm_90").share;
  EXPECT_NEAR(backward.time / forward.time, 2.5 / share, 1e-9);
  EXPECT_GT(backward.relative_deviation(), forward.relative_deviation());
  EXPECT_GT(model.time(work, "sm_86")->relative_deviation(), backward.relative_deviation());
}

TEST(KernelModel, HeadsTakeTheTimeOfTheKernelThatTheyArePaddedTo) {
  const KernelModel model = plausible_model();
  EXPECT_EQ(model.time(attention_of(4096, 80), "sm_90")->time,
            model.time(attention_of(4096, 128), "sm_90")->time);
  EXPECT_LT(model.time(attention_of(4096, 64), "sm_90")->time,
            model.time(attention_of(4096, 80), "sm_90")->time);
}

TEST(KernelModel, SpeedsAreInTheFileAndTheHash) {
  const KernelModel model = plausible_model();
  KernelModel faster = model;
  KernelFamily family = *model.family(KernelKind::gemm);
  family.speed = 2;
  faster.set(family);
  EXPECT_NE(faster.hash(), model.hash());
  const Gemm product{4096, 4096, 4096};
  EXPECT_NEAR(model.time(product)->time / faster.time(product)->time, 2, 1e-12);
  const KernelModel read = kernels_from_json(to_json_text(faster), "k.json");
  EXPECT_EQ(read.hash(), faster.hash());
  EXPECT_EQ(read.time(product)->time, faster.time(product)->time);
}

}  // namespace
}  // namespace sluice::planner
