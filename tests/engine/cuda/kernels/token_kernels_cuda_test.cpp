// SwiGLU, embedding, documents and cross-entropy against plain loops in double.
#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/documents.hpp"
#include "engine/cuda/kernels/embedding.hpp"
#include "engine/cuda/kernels/loss.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

class SwigluKernel : public KernelTest {};

TEST_F(SwigluKernel, BothPassesAgreeWithDoubleAndShareTheActivation) {
  struct Size {
    std::int64_t tokens, width;
  };
  for (const auto [tokens, width] : {Size{1, 8}, Size{777, 264}, Size{3, 18944}}) {
    RandomValues random(9);
    Halves packed = random.halves(tokens * 2 * width, 4);
    packed[0] = to_bf16(-120);  // exp overflows
    const Halves d = random.halves(tokens * width);
    std::vector<double> act(d.size()), d_gate_up(packed.size());
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t c = 0; c < width; ++c) {
        const std::int64_t at = t * 2 * width + c, i = t * width + c;
        const double g = value_of(packed[at]), u = value_of(packed[at + width]);
        const double s = 1 / (1 + std::exp(-g)), dy = value_of(d[i]);
        act[i] = g * s * u;
        d_gate_up[at] = dy * u * s * (1 + g * (1 - s));
        d_gate_up[at + width] = dy * g * s;
      }
    }
    const DeviceArray<std::uint16_t> in(packed), d_act(d), activation(tokens * width);
    const GateUp gate_up{in.data(), in.data() + width, 2 * width};
    activate(stream_, planner::Activation::silu, gate_up, tokens, width, activation.data());
    finish();
    expect_close(activation.values(), act, kOneRounding, 1e-6, "activation");
    Halves before;
    for (int run = 0; run < 2; ++run) {
      const DeviceArray<std::uint16_t> out(tokens * 2 * width), again(tokens * width);
      activate_backward(stream_, planner::Activation::silu, gate_up, d_act.data(), tokens, width,
                        {.d_gate = out.data(),
                         .d_up = out.data() + width,
                         .stride = 2 * width,
                         .activation = again.data()});
      finish();
      EXPECT_EQ(again.values(), activation.values());
      if (run == 1) {
        EXPECT_EQ(before, out.values());
      }
      before = out.values();
      EXPECT_TRUE(out.intact() && again.intact() && activation.intact());
    }
    expect_close(before, d_gate_up, kOneRounding, 1e-4, "d_gate_up");
  }
}

/// Arrays gate and up of 2^31 elements and more: rows on both sides of element 2^31 must hold what
/// a row alone gives.
TEST_F(SwigluKernel, RowsBeyondElement2To31AreComputedLikeOthers) {
  constexpr std::int64_t kWidth = 18944, kTokens = (std::int64_t{1} << 31) / (2 * kWidth) + 3;
  static_assert(kTokens * 2 * kWidth > (std::int64_t{1} << 31));
  std::size_t free = 0, total = 0;
  succeed(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (free < std::size_t{8} << 30) GTEST_SKIP() << "needs 8 GiB of free device memory";
  RandomValues random(10);
  const Halves row = random.halves(2 * kWidth, 4), d_row = random.halves(kWidth);
  const DeviceArray<std::uint16_t> in(kTokens * 2 * kWidth), d_act(kTokens * kWidth);
  const DeviceArray<std::uint16_t> one_in(row), one_d(d_row), one_out(2 * kWidth), one_act(kWidth);
  const auto copy_row = [](const DeviceArray<std::uint16_t>& to, std::int64_t t, const Halves& of) {
    succeed(cudaMemcpy(to.data() + t * static_cast<std::int64_t>(of.size()), of.data(),
                       of.size() * sizeof(std::uint16_t), cudaMemcpyHostToDevice),
            "a row");
  };
  const std::vector<std::int64_t> rows = {0, kTokens - 4, kTokens - 3, kTokens - 2, kTokens - 1};
  for (const std::int64_t t : rows) {
    copy_row(in, t, row);
    copy_row(d_act, t, d_row);
  }
  succeed(cudaDeviceSynchronize(), "rows");
  const auto backward = [&](const DeviceArray<std::uint16_t>& gate_up,
                            const std::uint16_t* d_activation, std::int64_t tokens,
                            std::uint16_t* out, std::uint16_t* activation) {
    activate_backward(
        stream_, planner::Activation::silu, {gate_up.data(), gate_up.data() + kWidth, 2 * kWidth},
        d_activation, tokens, kWidth,
        {.d_gate = out, .d_up = out + kWidth, .stride = 2 * kWidth, .activation = activation});
  };
  backward(one_in, one_d.data(), 1, one_out.data(), one_act.data());
  // Results overwrite operands, which halves the memory.
  backward(in, d_act.data(), kTokens, in.data(), d_act.data());
  finish();
  const auto row_of = [](const std::uint16_t* from, std::int64_t t, std::int64_t width) {
    Halves values(static_cast<std::size_t>(width));
    succeed(cudaMemcpy(values.data(), from + t * width, values.size() * sizeof(std::uint16_t),
                       cudaMemcpyDeviceToHost),
            "a row");
    return values;
  };
  for (const std::int64_t t : rows) {
    EXPECT_EQ(row_of(in.data(), t, 2 * kWidth), one_out.values()) << "row " << t;
    EXPECT_EQ(row_of(d_act.data(), t, kWidth), one_act.values()) << "row " << t;
  }
}

class EmbeddingKernel : public KernelTest {};

TEST_F(EmbeddingKernel, ForwardCopiesRows) {
  RandomValues random(1);
  const Halves weights = random.halves(300 * 136);
  const std::vector<std::int32_t> ids = random.below(777, 300);
  const DeviceArray<std::uint16_t> table(weights), out(777 * 136);
  const DeviceArray<std::int32_t> tokens(ids);
  embed(stream_, table.data(), tokens.data(), 777, 136, out.data());
  finish();
  const Halves rows = out.values();
  for (std::size_t t = 0; t < ids.size(); ++t) {
    ASSERT_TRUE(std::equal(rows.begin() + t * 136, rows.begin() + (t + 1) * 136,
                           weights.begin() + ids[t] * 136))
        << t;
  }
  EXPECT_TRUE(out.intact());
}

TEST_F(EmbeddingKernel, MarksOfDocumentsChangeNothing) {
  RandomValues random(1);
  const DeviceArray<std::uint16_t> table(random.halves(50 * 64)), d_out(random.halves(600 * 64));
  std::vector<std::int32_t> ids = random.below(600, 50);
  Halves rows;
  std::vector<float> sums;
  for (const bool marked : {false, true}) {
    for (std::size_t i = 0; marked && i < ids.size(); i += 7) ids[i] = ~ids[i];
    const DeviceArray<std::int32_t> tokens(ids);
    const DeviceArray<std::uint16_t> out(600 * 64);
    const DeviceArray<float> gradient(50 * 64);
    embed(stream_, table.data(), tokens.data(), 600, 64, out.data());
    embed_backward(stream_, tokens.data(), d_out.data(), 600, 64, 50, gradient.data(),
                   Into::overwrite);
    finish();
    if (marked) {
      EXPECT_EQ(rows, out.values());
      EXPECT_EQ(sums, gradient.values());
    }
    rows = out.values();
    sums = gradient.values();
  }
}

class DocumentsKernel : public KernelTest {};

TEST_F(DocumentsKernel, FindsWhereEachTokensDocumentBegins) {
  for (const std::int64_t length : {1, 31, 32, 33, 256, 257, 5000}) {
    RandomValues random(4);
    const std::int64_t sequences = 3;
    std::vector<std::int32_t> ids = random.below(sequences * length, 1000);
    const std::vector<std::int32_t> turns = random.below(sequences * length, 40);
    std::vector<std::int32_t> expected;
    for (std::int64_t s = 0; s < sequences; ++s) {
      std::int32_t start = 0;
      for (std::int64_t t = 0; t < length; ++t) {
        const std::int64_t at = s * length + t;
        // A sequence may begin without a mark, and the third has one only in its middle.
        if (s == 2 ? t == length / 2 : turns[at] == 0) {
          ids[at] = ~ids[at];
          start = static_cast<std::int32_t>(t);
        }
        expected.push_back(start);
      }
    }
    const DeviceArray<std::int32_t> tokens(ids), starts(sequences * length);
    document_starts(stream_, tokens.data(), sequences, length, starts.data());
    finish();
    EXPECT_EQ(expected, starts.values()) << length;
    EXPECT_TRUE(starts.intact());
  }
}

TEST_F(EmbeddingKernel, BackwardAddsInTokenOrderToTheBit) {
  struct Size {
    std::int64_t tokens, hidden;
    int vocab;
  };
  // A small vocabulary makes long lists of occurrences; 4104 columns take two passes.
  for (const auto [tokens, hidden, vocab] :
       {Size{1, 8, 5}, Size{777, 64, 3}, Size{3000, 136, 256}, Size{600, 4104, 40}}) {
    RandomValues random(2);
    const std::vector<std::int32_t> ids = random.below(tokens, vocab);
    const Halves d = random.halves(tokens * hidden);
    const std::vector<float> earlier = random.floats(vocab * hidden);
    const DeviceArray<std::int32_t> token_ids(ids);
    const DeviceArray<std::uint16_t> d_out(d);
    for (const Into into : {Into::overwrite, Into::accumulate}) {
      std::vector<float> expected = earlier;
      if (into == Into::overwrite) std::fill(expected.begin(), expected.end(), 0.0F);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t c = 0; c < hidden; ++c) {
          expected[ids[t] * hidden + c] += value_of(d[t * hidden + c]);
        }
      }
      const DeviceArray<float> gradient(earlier);
      embed_backward(stream_, token_ids.data(), d_out.data(), tokens, hidden, vocab,
                     gradient.data(), into);
      finish();
      EXPECT_TRUE(gradient.values() == expected) << tokens << " tokens of " << vocab;
      EXPECT_TRUE(gradient.intact());
    }
  }
}

class LossKernel : public KernelTest {};

TEST_F(LossKernel, GradientReplacesLogitsAndAgreesWithDouble) {
  struct Size {
    std::int64_t tokens, vocab;
  };
  for (const auto [tokens, vocab] :
       {Size{1, 8}, Size{777, 256}, Size{5, 32'000}, Size{6, 151'936}, Size{3, 400'000}}) {
    RandomValues random(3);
    const Halves logits = random.halves(tokens * vocab, 4);
    std::vector<std::int32_t> targets = random.below(tokens, static_cast<int>(vocab));
    if (tokens > 2) targets[1] = -100;
    const float scale = 1.0F / 32;
    std::vector<double> loss, gradient(logits.size());
    for (std::int64_t t = 0; t < tokens; ++t) {
      loss.push_back(0);
      if (targets[t] < 0) continue;
      double total = 0;
      for (std::int64_t v = 0; v < vocab; ++v) {
        total += std::exp(double{value_of(logits[t * vocab + v])});
      }
      loss.back() = std::log(total) - value_of(logits[t * vocab + targets[t]]);
      for (std::int64_t v = 0; v < vocab; ++v) {
        gradient[t * vocab + v] =
            scale *
            (std::exp(double{value_of(logits[t * vocab + v])}) / total - (v == targets[t] ? 1 : 0));
      }
    }
    const DeviceArray<std::int32_t> wanted(targets);
    Halves before;
    for (int run = 0; run < 2; ++run) {
      const DeviceArray<std::uint16_t> rows(logits);
      const DeviceArray<float> losses(tokens), losses_alone(tokens);
      const DeviceArray<double> sum(1);
      cross_entropy_loss(stream_, rows.data(), wanted.data(), tokens, vocab, losses_alone.data());
      cross_entropy(stream_, rows.data(), wanted.data(), tokens, vocab, scale, losses.data());
      sum_losses(stream_, losses.data(), tokens, sum.data());
      finish();
      EXPECT_EQ(losses.values(), losses_alone.values());
      expect_close(losses.values(), loss, 2e-6, 1, "loss");
      double total = 0;
      for (const float value : losses.values()) total += double{value};
      EXPECT_NEAR(sum.values()[0], total, 1e-12 * std::abs(total));
      if (run == 1) {
        EXPECT_EQ(before, rows.values());
      }
      before = rows.values();
      EXPECT_TRUE(rows.intact() && losses.intact() && sum.intact());
    }
    expect_close(before, gradient, kOneRounding, 1e-9, "gradient");
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
