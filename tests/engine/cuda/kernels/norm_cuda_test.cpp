// RMSNorm, bias and their gradients against plain loops in double.
#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

constexpr float kEps = 1e-6F;

struct Size {
  std::int64_t tokens, hidden;
};
constexpr Size kSizes[] = {{1, 8},      {3, 2056},   {777, 64},  {777, 3584},  {5, 8192},
                           {300, 5120}, {270, 4104}, {2, 16384}, {270, 17920}, {3, 32768}};

class NormKernel : public KernelTest {};

TEST_F(NormKernel, ForwardAgreesWithDoubleAndRepeats) {
  for (const auto [tokens, hidden] : kSizes) {
    RandomValues random(static_cast<unsigned>(hidden));
    const Halves x = random.halves(tokens * hidden, 2);
    const Halves weight = random.halves(hidden, 0.2F, 1);
    std::vector<double> expected(x.size()), expected_rstd;
    for (std::int64_t t = 0; t < tokens; ++t) {
      double squares = 0;
      for (std::int64_t c = 0; c < hidden; ++c) {
        squares += std::pow(double{value_of(x[t * hidden + c])}, 2);
      }
      expected_rstd.push_back(1 / std::sqrt(squares / double(hidden) + double{kEps}));
      for (std::int64_t c = 0; c < hidden; ++c) {
        expected[t * hidden + c] =
            double{value_of(x[t * hidden + c])} * expected_rstd.back() * value_of(weight[c]);
      }
    }
    const DeviceArray<std::uint16_t> in(x), w(weight), out(tokens * hidden);
    const DeviceArray<float> rstd(tokens);
    Halves before;
    for (int run = 0; run < 2; ++run) {
      rms_norm(stream_, in.data(), w.data(), kEps, tokens, hidden, out.data(), rstd.data());
      finish();
      if (run == 1) {
        EXPECT_EQ(before, out.values());
      }
      before = out.values();
    }
    expect_close(before, expected, kOneRounding, 0, "out");
    expect_close(rstd.values(), expected_rstd, 1e-6, 0, "rstd");
    EXPECT_TRUE(out.intact() && rstd.intact());
  }
}

struct BackwardReference {
  std::vector<double> rstd, d_x, d_weight;
};
BackwardReference norm_backward(const Halves& x, const Halves& weight, const Halves& d,
                                std::int64_t tokens, std::int64_t hidden) {
  BackwardReference result{{}, std::vector<double>(x.size()), std::vector<double>(weight.size())};
  for (std::int64_t t = 0; t < tokens; ++t) {
    double squares = 0, dot = 0;
    for (std::int64_t c = 0; c < hidden; ++c) {
      const double value = value_of(x[t * hidden + c]);
      squares += value * value;
      dot += value * value_of(weight[c]) * value_of(d[t * hidden + c]);
    }
    const double s = 1 / std::sqrt(squares / double(hidden) + double{kEps});
    result.rstd.push_back(s);
    for (std::int64_t c = 0; c < hidden; ++c) {
      const double value = value_of(x[t * hidden + c]), g = value_of(d[t * hidden + c]);
      result.d_weight[c] += g * value * s;
      result.d_x[t * hidden + c] =
          g * value_of(weight[c]) * s - value * s * s * s * dot / double(hidden);
    }
  }
  return result;
}

TEST_F(NormKernel, BackwardAgreesWithDoubleAndRepeats) {
  for (const auto [tokens, hidden] : kSizes) {
    RandomValues random(static_cast<unsigned>(hidden + 1));
    const Halves x = random.halves(tokens * hidden, 2);
    const Halves weight = random.halves(hidden, 0.2F, 1);
    const Halves d = random.halves(tokens * hidden);
    const Halves base = random.halves(tokens * hidden);
    const std::vector<float> earlier = random.floats(hidden);
    const BackwardReference reference = norm_backward(x, weight, d, tokens, hidden);
    const DeviceArray<float> rstd(std::vector<float>(reference.rstd.begin(), reference.rstd.end()));
    const DeviceArray<std::uint16_t> in(x), w(weight), d_out(d);
    const DeviceArray<std::byte> workspace(norm_backward_workspace(tokens, hidden).count());
    for (const Into into : {Into::overwrite, Into::accumulate}) {
      std::vector<double> d_x = reference.d_x, d_weight = reference.d_weight;
      if (into == Into::accumulate) {
        for (std::size_t i = 0; i < d_x.size(); ++i) d_x[i] += value_of(base[i]);
        for (std::size_t i = 0; i < d_weight.size(); ++i) d_weight[i] += earlier[i];
      }
      Halves stream_before;
      std::vector<float> weight_before;
      for (int run = 0; run < 2; ++run) {
        const DeviceArray<std::uint16_t> stream_gradient(base);
        const DeviceArray<float> weight_gradient(earlier);
        rms_norm_backward(stream_, in.data(), w.data(), rstd.data(), d_out.data(), tokens, hidden,
                          {.d_x = stream_gradient.data(),
                           .d_x_into = into,
                           .d_weight = weight_gradient.data(),
                           .d_weight_into = into},
                          workspace.data());
        finish();
        if (run == 1) {
          EXPECT_EQ(stream_before, stream_gradient.values());
          EXPECT_EQ(weight_before, weight_gradient.values());
        }
        stream_before = stream_gradient.values();
        weight_before = weight_gradient.values();
        EXPECT_TRUE(stream_gradient.intact() && weight_gradient.intact() && workspace.intact());
      }
      expect_close(stream_before, d_x, kOneRounding, 1e-3, "d_x");
      expect_close(weight_before, d_weight, 2e-6, std::sqrt(double(tokens)), "d_weight");
    }
  }
}

TEST_F(NormKernel, RefusesWidthsThatAreNoMultipleOfEightOrTooLarge) {
  for (const std::int64_t width : {std::int64_t{12}, kMostNormWidth + 8}) {
    EXPECT_THROW(rms_norm(stream_, nullptr, nullptr, kEps, 1, width, nullptr, nullptr),
                 std::logic_error);
  }
}

class BiasKernel : public KernelTest {};

struct Matrix {
  std::int64_t tokens, columns, stride;
};
constexpr Matrix kMatrices[] = {{1, 8, 8}, {777, 264, 512}, {4096, 136, 136}, {65, 4608, 4616}};

TEST_F(BiasKernel, ColumnSumsAgreeWithDoubleAndRepeat) {
  for (const auto [tokens, columns, stride] : kMatrices) {
    RandomValues random(static_cast<unsigned>(columns));
    const Halves d = random.halves(tokens * stride);
    const std::vector<float> earlier = random.floats(columns);
    const DeviceArray<std::uint16_t> in(d);
    const DeviceArray<std::byte> workspace(column_sum_workspace(tokens, columns).count());
    for (const Into into : {Into::overwrite, Into::accumulate}) {
      std::vector<double> expected(static_cast<std::size_t>(columns));
      for (std::int64_t c = 0; c < columns; ++c) {
        if (into == Into::accumulate) expected[c] = earlier[c];
        for (std::int64_t t = 0; t < tokens; ++t) expected[c] += value_of(d[t * stride + c]);
      }
      std::vector<float> before;
      for (int run = 0; run < 2; ++run) {
        const DeviceArray<float> sums(earlier);
        column_sum(stream_, in.data(), tokens, columns, stride, sums.data(), into,
                   workspace.data());
        finish();
        if (run == 1) {
          EXPECT_EQ(before, sums.values());
        }
        before = sums.values();
        EXPECT_TRUE(sums.intact() && workspace.intact());
      }
      expect_close(before, expected, 2e-6, std::sqrt(double(tokens)), "sums");
    }
  }
}

TEST_F(BiasKernel, IsAddedToItsColumnsAlone) {
  for (const auto [tokens, columns, stride] : kMatrices) {
    RandomValues random(static_cast<unsigned>(columns));
    const Halves y = random.halves(tokens * stride);
    const Halves bias = random.halves(columns);
    Halves expected = y;
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t c = 0; c < columns; ++c) {
        expected[t * stride + c] = to_bf16(value_of(y[t * stride + c]) + value_of(bias[c]));
      }
    }
    const DeviceArray<std::uint16_t> out(y), added(bias);
    add_bias(stream_, added.data(), tokens, columns, stride, out.data());
    finish();
    EXPECT_EQ(out.values(), expected);
    EXPECT_TRUE(out.intact());
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
