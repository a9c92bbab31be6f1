#include "engine/host/elementwise.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/optimizer/master_weights.hpp"
#include "tests/engine/host/stored_values.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;

const Elementwise& table(const ElementwisePath& path, ComputeType compute) {
  return compute == ComputeType::fp32 ? *path.fp32 : *path.bf16;
}

/// Bits of everything that every kernel writes for inputs of `n` columns.
std::vector<std::uint32_t> all_outputs(const ElementwisePath& path, ComputeType compute,
                                       std::int64_t n) {
  const Elementwise& kernels = table(path, compute);
  const PlainKernels& plain = *path.plain;
  const std::int64_t rows = 3;
  const auto size = static_cast<std::size_t>(rows * n);
  std::vector<std::uint32_t> bits;
  const auto keep = [&](const Floats& values) {
    for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  };
  const Floats a = random_floats(rows * n, 1);
  const Floats b = random_floats(rows * n, 2, 20);
  const Floats weight = random_floats(n, 3);
  const Stored x(random_floats(rows * n, 4, 8), compute);
  const Stored y(random_floats(rows * n, 5), compute);
  Floats out(size), out2 = a, rstd(rows), columns(static_cast<std::size_t>(n), 0.5f);
  kernels.load(x.data(), rows * n, out.data());
  keep(out);
  Stored stored(Floats(size), compute);
  kernels.store(a.data(), rows * n, stored.data());
  keep(stored.values());
  kernels.add_store(a.data(), x.data(), rows * n, stored.data());
  keep(stored.values());
  kernels.accumulate(out2.data(), x.data(), rows * n);
  keep(out2);
  kernels.round(out2.data(), rows * n);
  keep(out2);
  kernels.rms_norm(b.data(), rows, n, weight.data(), 1e-5f, out.data(), rstd.data());
  keep(out);
  keep(rstd);
  for (const float* add : {static_cast<const float*>(nullptr), a.data()}) {
    kernels.rms_norm_backward(a.data(), b.data(), rows, n, weight.data(), rstd.data(), add,
                              columns.data(), stored.data());
    keep(columns);
    keep(stored.values());
  }
  for (const ActivationKernels& activation :
       {kernels.swiglu, kernels.geglu, kernels.squared_relu, kernels.clamped_swiglu}) {
    activation.forward(x.data(), y.data(), rows * n, out.data());
    keep(out);
    out2 = a;
    activation.backward(x.data(), y.data(), rows * n, out.data(), out2.data());
    keep(out);
    keep(out2);
  }
  const Floats cos = random_floats(n, 6, 1), sin = random_floats(n, 7, 1);
  for (const std::int64_t pairs : {std::int64_t{0}, n / 4, n / 2}) {
    const RotaryRow row{cos.data(), sin.data(), pairs};
    for (const float* norm : {static_cast<const float*>(nullptr), weight.data()}) {
      const float scale = kernels.reciprocal_rms(x.data(), n, 1e-6f);
      keep({scale});
      kernels.rotary(x.data(), n, row, norm, scale, out.data());
      keep(out);
    }
    out2 = a;
    plain.unrotate(out2.data(), row);
    keep(out2);
  }
  out2 = a;
  kernels.head_norm_backward(x.data(), n, weight.data(), 0.5f, columns.data(), out2.data());
  keep(out2);
  keep(columns);
  kernels.scale(x.data(), rows * n, 1.7f, stored.data());
  keep(stored.values());
  kernels.accumulate_scaled(out2.data(), x.data(), rows * n, 1.7f);
  keep(out2);
  keep({kernels.dot(a.data(), x.data(), rows * n)});
  for (const float scale : {0.0f, 0.01f}) {
    out = b;
    keep({kernels.cross_entropy(out.data(), rows * n, n / 2, scale)});
    keep(out);
    out = b;
    keep({kernels.capped_cross_entropy(out.data(), rows * n, n / 2, scale, 30)});
    keep(out);
  }
  std::vector<std::uint16_t> high, low;
  for (const float value : a) {
    high.push_back(split_master(value).high);
    low.push_back(split_master(value).low);
  }
  plain.join(high.data(), low.data(), rows * n, out.data());
  keep(out);
  plain.join(high.data(), nullptr, rows * n, out.data());
  keep(out);
  plain.add_bias(out.data(), rows, n, weight.data());
  keep(out);
  plain.column_sums(a.data(), rows, n, columns.data());
  keep(columns);
  for (const std::int64_t begin : {std::int64_t{0}, n / 3}) {
    out = b;
    const float lse = plain.softmax(out.data(), rows * n, begin, begin + n, 0.3f);
    keep(out);
    out2 = b;
    plain.probabilities(out2.data(), rows * n, begin, begin + n, 0.3f, lse);
    keep(out2);
  }
  out = b;
  plain.softmax_backward(a.data(), rows * n, 0.25f, 0.5f, out.data());
  keep(out);
  plain.add(out.data(), a.data(), rows * n);
  keep(out);
  plain.exponential(b.data(), rows * n, out.data());
  keep(out);
  plain.logistic(b.data(), rows * n, out.data());
  keep(out);
  plain.scale(out.data(), rows * n, 0.3f);
  keep(out);
  plain.softcap(out.data(), rows * n, 20, 3);
  keep(out);
  out2 = a;
  plain.softcap_backward(out.data(), rows * n, 20, 3, out2.data());
  keep(out2);
  const auto sum = std::bit_cast<std::uint64_t>(plain.sum_squares(a.data(), rows * n));
  bits.push_back(static_cast<std::uint32_t>(sum));
  bits.push_back(static_cast<std::uint32_t>(sum >> 32));
  plain.to_bf16(a.data(), rows * n, high.data());
  for (const std::uint16_t half : high) bits.push_back(half);
  return bits;
}

class ElementwiseTypes : public ::testing::TestWithParam<ComputeType> {};

INSTANTIATE_TEST_SUITE_P(Elementwise, ElementwiseTypes,
                         ::testing::Values(ComputeType::fp32, ComputeType::bf16),
                         [](const auto& info) {
                           return info.param == ComputeType::fp32 ? "fp32" : "bf16";
                         });

TEST_P(ElementwiseTypes, EveryPathGivesTheSameBits) {
  const auto paths = elementwise_paths();
  for (const std::int64_t n : {1, 2, 15, 16, 18, 64, 130}) {
    const auto expected = all_outputs(paths.back(), GetParam(), n);
    for (const ElementwisePath& path : paths) {
      if (path.supported) {
        EXPECT_TRUE(all_outputs(path, GetParam(), n) == expected) << path.name << " " << n;
      }
    }
  }
}

TEST_P(ElementwiseTypes, RmsNormAndItsBackwardAgreeWithDouble) {
  const Elementwise& kernels = elementwise(GetParam());
  const std::int64_t rows = 5, cols = 37;
  const Floats x = random_floats(rows * cols, 1), dy = random_floats(rows * cols, 2);
  const Floats weight = random_floats(cols, 3), add = random_floats(rows * cols, 4);
  const double eps = 1e-3;
  Floats y(x.size()), rstd(rows), d_weight(cols, 1.0f);
  Stored dx(Floats(x.size()), GetParam());
  kernels.rms_norm(x.data(), rows, cols, weight.data(), static_cast<float>(eps), y.data(),
                   rstd.data());
  kernels.rms_norm_backward(dy.data(), x.data(), rows, cols, weight.data(), rstd.data(), add.data(),
                            d_weight.data(), dx.data());
  std::vector<double> want_y, want_dx, want_dw(cols, 1.0);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* in = x.data() + r * cols;
    const float* g = dy.data() + r * cols;
    double squares = 0, mixed = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      squares += double{in[c]} * in[c];
      mixed += double{g[c]} * weight[static_cast<std::size_t>(c)] * in[c];
    }
    const double s = 1 / std::sqrt(squares / cols + eps);
    EXPECT_NEAR(rstd[static_cast<std::size_t>(r)], s, 1e-6 * s);
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto at = static_cast<std::size_t>(c);
      want_y.push_back(in[c] * s * weight[at]);
      want_dx.push_back(add[static_cast<std::size_t>(r * cols + c)] + s * g[c] * weight[at] -
                        in[c] * s * s * s * mixed / cols);
      want_dw[at] += g[c] * in[c] * s;
    }
  }
  expect_near(y, want_y, tolerance(GetParam()));
  expect_near(dx.values(), want_dx, tolerance(GetParam()));
  expect_near(d_weight, want_dw, 2e-6);
}

TEST_P(ElementwiseTypes, RotationKeepsTheNormAndItsBackwardUndoesIt) {
  const Elementwise& kernels = elementwise(GetParam());
  const std::int64_t dim = 20;
  const Stored x(random_floats(dim, 1), GetParam());
  Floats cos, sin;
  for (std::int64_t i = 0; i < dim / 2; ++i) {
    cos.push_back(std::cos(0.3f * static_cast<float>(i)));
    sin.push_back(std::sin(0.3f * static_cast<float>(i)));
  }
  const RotaryRow row{cos.data(), sin.data(), dim / 2};
  Floats y(dim);
  kernels.rotary(x.data(), dim, row, nullptr, 1, y.data());
  EXPECT_NEAR(y[3], x.fp32[3] * cos[3] - x.fp32[13] * sin[3], tolerance(GetParam()) * 4);
  // The rotation is orthogonal: its transpose, the backward pass, is its inverse.
  plain_kernels().unrotate(y.data(), row);
  expect_near(y, {x.fp32.begin(), x.fp32.end()}, 3 * tolerance(GetParam()));
}

TEST_P(ElementwiseTypes, CrossEntropyAndItsGradientAgreeWithDouble) {
  const Elementwise& kernels = elementwise(GetParam());
  const Floats start = random_floats(1001, 1, 30);
  double total = 0;
  for (const float logit : start) total += std::exp(double{logit});
  Floats logits = start;
  const float forward = kernels.cross_entropy(logits.data(), 1001, 17, 0);
  EXPECT_EQ(logits, start);
  const float loss = kernels.cross_entropy(logits.data(), 1001, 17, 0.5f);
  EXPECT_EQ(loss, forward);
  EXPECT_NEAR(loss, std::log(total) - start[17], 1e-5);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double expected = 0.5 * (std::exp(double{start[i]}) / total - (i == 17 ? 1 : 0));
    EXPECT_NEAR(logits[i], expected, tolerance(GetParam()) * std::abs(expected) + 1e-9);
  }
}

TEST_P(ElementwiseTypes, NaNReachesTheLoss) {
  const Elementwise& kernels = elementwise(GetParam());
  for (const std::size_t at : {0u, 5u, 20u}) {
    for (const float scale : {0.0f, 1.0f}) {
      Floats logits = random_floats(21, 1);
      logits[at] = NAN;
      EXPECT_TRUE(std::isnan(kernels.cross_entropy(logits.data(), 21, 3, scale)));
    }
  }
}

}  // namespace
}  // namespace sluice::engine::testing
