// Quantizing kernels and FP8 products against the host's: numbers and scales bit for bit, products
// within what tensor cores lose of 128 terms.
#include <memory>

#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/quantize.hpp"
#include "engine/cuda/products/gemm.hpp"
#include "engine/host/block_scale.hpp"
#include "engine/host/quantized.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "planner/scratch/workspace.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine {
namespace {

using cuda::testing::DeviceArray;
using cuda::testing::Halves;
using cuda::testing::RandomValues;
using cuda::testing::value_of;

std::vector<float> floats_of(const Halves& values) {
  std::vector<float> floats;
  for (const std::uint16_t value : values) floats.push_back(value_of(value));
  return floats;
}

/// Random values whose size differs from row to row and from block to block.
Halves uneven(std::int64_t rows, std::int64_t cols, unsigned seed) {
  Halves values = RandomValues(seed).halves(rows * cols);
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const auto by = static_cast<int>((i / cols * 7 + i % cols / 128 * 3) % 13) - 6;
    values[i] = cuda::testing::to_bf16(std::ldexp(value_of(values[i]), by));
  }
  return values;
}

/// A quantized matrix in device memory.
struct Form {
  Form(std::int64_t rows, std::int64_t cols, std::int64_t scale_rows)
      : values(rows * cols), scales(cuda::ceil_div(cols, 128) * cuda::scale_stride(scale_rows)) {}
  [[nodiscard]] cuda::Quantized get() const { return {values.data(), scales.data()}; }
  DeviceArray<std::uint8_t> values;
  DeviceArray<float> scales;
};

class CudaQuantize : public cuda::testing::KernelTest {
 protected:
  /// Expects that the form of a matrix [rows, cols], scaled along its columns, is `expected`.
  static void expect_values(const Form& form, std::int64_t rows, std::int64_t cols,
                            const std::vector<float>& expected) {
    const std::vector<std::uint8_t> values = form.values.values();
    const std::vector<float> scales = form.scales.values();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        const float scale = scales[c / 128 * cuda::scale_stride(rows) + r];
        ASSERT_EQ(e4m3_value(values[r * cols + c]) * scale, expected[r * cols + c])
            << r << ", " << c;
      }
    }
    EXPECT_TRUE(form.values.intact() && form.scales.intact());
  }

  static std::vector<float> transposed(const std::vector<float>& x, std::int64_t rows,
                                       std::int64_t cols) {
    std::vector<float> turned(x.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) turned[c * rows + r] = x[r * cols + c];
    }
    return turned;
  }
};

TEST_F(CudaQuantize, BothFormsHaveTheHostsNumbers) {
  for (const auto& [rows, cols] : {std::pair{256, 384}, {144, 200}, {16, 8}}) {
    const Halves x = uneven(rows, cols, 3);
    const std::vector<float> values = floats_of(x);
    std::vector<float> along(x.size()), across(x.size());
    round_along(values.data(), rows, cols, along.data());
    round_across(values.data(), rows, cols, across.data());
    const DeviceArray<std::uint16_t> input(x);
    const Form a(rows, cols, rows), b(cols, rows, cols);
    cuda::quantize(stream_, input.data(), rows, cols, cols, {.along = a.get(), .across = b.get()});
    finish();
    expect_values(a, rows, cols, along);
    expect_values(b, cols, rows, transposed(across, rows, cols));
  }
}

/// Both forms with one scale have the numbers of the host's arithmetic, in either format.
TEST_F(CudaQuantize, OneScaleIsThatOfTheLargestMagnitude) {
  for (const auto& [rows, cols] : {std::pair{256, 384}, {144, 200}, {16, 8}}) {
    const Halves x = uneven(rows, cols, 3);
    std::uint32_t largest = 0;
    for (const std::uint16_t value : x) largest = std::max<std::uint32_t>(largest, value & 0x7fffu);
    const DeviceArray<std::uint16_t> input(x);
    for (const auto format : {cuda::Fp8Format::e4m3, cuda::Fp8Format::e5m2}) {
      const bool e4m3 = format == cuda::Fp8Format::e4m3;
      const BlockScale scale = block_scale(largest, e4m3 ? kE4m3Exponent : kE5m2Exponent);
      const Form a(rows, cols, rows), b(cols, rows, cols);
      cuda::QuantizedForms forms{.along = a.get(), .across = b.get()};
      forms.along.tensorwise = forms.across.tensorwise = true;
      cuda::quantize(stream_, input.data(), rows, cols, cols, forms, format);
      finish();
      const std::vector<std::uint8_t> along = a.values.values(), across = b.values.values();
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) {
          const float value = value_of(x[r * cols + c]) * scale.inverse;
          const std::uint8_t expected = e4m3 ? to_e4m3(value) : to_e5m2(value);
          ASSERT_EQ(along[r * cols + c], expected) << r << ", " << c;
          ASSERT_EQ(across[c * rows + r], expected) << r << ", " << c;
        }
      }
      EXPECT_EQ(a.scales.values()[0], scale.scale);
      EXPECT_EQ(b.scales.values()[0], scale.scale);
      EXPECT_TRUE(a.values.intact() && a.scales.intact());
      EXPECT_TRUE(b.values.intact() && b.scales.intact());
    }
  }
}

TEST_F(CudaQuantize, AnActivationIsQuantizedAsIfItHadBeenStored) {
  constexpr std::int64_t kRows = 128, kWidth = 384;
  const DeviceArray<std::uint16_t> gate_up(uneven(kRows, 2 * kWidth, 5));
  const DeviceArray<std::uint16_t> activation(kRows * kWidth);
  const Form direct(kRows, kWidth, kRows), stored(kRows, kWidth, kRows);
  constexpr auto kSilu = planner::Activation::silu;
  cuda::activate(stream_, kSilu, {gate_up.data(), gate_up.data() + kWidth, 2 * kWidth}, kRows,
                 kWidth, activation.data());
  cuda::quantize(stream_, activation.data(), kRows, kWidth, kWidth, {.along = stored.get()});
  cuda::quantize_activation(stream_, kSilu, gate_up.data(), kRows, kWidth, 2 * kWidth,
                            {.along = direct.get()});
  finish();
  EXPECT_EQ(direct.values.values(), stored.values.values());
  EXPECT_EQ(direct.scales.values(), stored.scales.values());
}

TEST_F(CudaQuantize, GradientsOfAnActivationAreQuantizedAsIfTheyHadBeenStored) {
  constexpr std::int64_t kRows = 272, kWidth = 384;  // Rows that end within a block.
  const DeviceArray<std::uint16_t> gate_up(uneven(kRows, 2 * kWidth, 5));
  const DeviceArray<std::uint16_t> d_activation(uneven(kRows, kWidth, 6));
  for (const auto& [function, tensorwise] : {std::pair{planner::Activation::silu, false},
                                             {planner::Activation::relu2, false},
                                             {planner::Activation::silu, true},
                                             {planner::Activation::relu2, true}}) {
    const auto form = [one = tensorwise](const Form& of) {
      cuda::Quantized got = of.get();
      got.tensorwise = one;
      return got;
    };
    const auto format = tensorwise ? cuda::Fp8Format::e5m2 : cuda::Fp8Format::e4m3;
    const bool gated = function == planner::Activation::silu;
    const std::int64_t wide = gated ? 2 * kWidth : kWidth;
    const DeviceArray<std::uint16_t> activation(kRows * kWidth), d_gate_up(kRows * wide);
    const cuda::GateUp in{gate_up.data(), gate_up.data() + (gated ? kWidth : 0), 2 * kWidth};
    cuda::activate_backward(stream_, function, in, d_activation.data(), kRows, kWidth,
                            {.d_gate = d_gate_up.data(),
                             .d_up = d_gate_up.data() + (gated ? kWidth : 0),
                             .stride = wide,
                             .activation = activation.data()});
    const Form along(kRows, wide, kRows), across(wide, kRows, wide), turned(kWidth, kRows, kWidth);
    cuda::quantize(stream_, d_gate_up.data(), kRows, wide, wide,
                   {.along = form(along), .across = form(across)}, format);
    cuda::quantize(stream_, activation.data(), kRows, kWidth, kWidth, {.across = form(turned)});
    const Form d_along(kRows, wide, kRows), d_across(wide, kRows, wide);
    const Form d_turned(kWidth, kRows, kWidth);
    cuda::quantize_activation_backward(stream_, function, in, d_activation.data(), kRows, kWidth,
                                       {.along = form(d_along), .across = form(d_across)},
                                       form(d_turned));
    finish();
    const auto expect_equal = [one = tensorwise](const Form& direct, const Form& stored,
                                                 const char* what) {
      EXPECT_EQ(direct.values.values(), stored.values.values()) << what;
      std::vector<float> scales = direct.scales.values(), expected = stored.scales.values();
      if (one) {
        scales.resize(1);
        expected.resize(1);
      }
      EXPECT_EQ(scales, expected) << what;
      EXPECT_TRUE(direct.values.intact() && direct.scales.intact()) << what;
    };
    expect_equal(d_along, along, "gradients along rows");
    expect_equal(d_across, across, "gradients across rows");
    expect_equal(d_turned, turned, "activation");
  }
}

TEST_F(CudaQuantize, WhatIsNotFiniteStaysVisible) {
  Halves x = uneven(128, 128, 7);
  x[5] = 0x7f80;  // Infinity.
  const DeviceArray<std::uint16_t> input(x);
  const Form form(128, 128, 128);
  cuda::quantize(stream_, input.data(), 128, 128, 128, {.along = form.get()});
  finish();
  EXPECT_TRUE(std::isinf(form.scales.values()[0]));
  EXPECT_TRUE(std::isnan(e4m3_value(form.values.values()[5])));
  EXPECT_TRUE(std::isfinite(form.scales.values()[1]));
}

/// One projection of `kTokens` tokens, with operands on the device and, rounded, on the host.
class CudaFp8Products : public CudaQuantize {
 protected:
  static constexpr std::int64_t kTokens = 384, kIn = 256, kOut = 640;
  static constexpr CudaGemm::Size kSize{kTokens, kIn, kOut};

  void SetUp() override {
    CudaQuantize::SetUp();
    if (stream_ != nullptr) on_ = std::make_unique<OnDevice>(*this);
  }

  void quantize_all() {
    cuda::quantize(stream_, on_->x.data(), kTokens, kIn, kIn,
                   {.along = on_->x_along.get(), .across = on_->x_across.get()});
    cuda::quantize(stream_, on_->d.data(), kTokens, kOut, kOut,
                   {.along = on_->d_along.get(), .across = on_->d_across.get()});
    cuda::quantize_weight(stream_, on_->w.data(), kOut, kIn,
                          {.along = on_->w_along.get(), .across = on_->w_across.get()});
  }

  /// Expects a result [m, n] = a [m, k] b^T, b [n, k], within 2^-9 of the terms' size for the
  /// tensor cores' sums of 128 terms, and a rounding to bf16.
  template <class T>
  static void expect_product(const std::vector<T>& actual, const std::vector<float>& a,
                             const std::vector<float>& b, std::int64_t m, std::int64_t n,
                             std::int64_t k, double factor = 1) {
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t c = 0; c < n; ++c) {
        double sum = 0, squares = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          const double term = double{a[r * k + i]} * double{b[c * k + i]};
          sum += term;
          squares += term * term;
        }
        ASSERT_NEAR(value_of(actual[r * n + c]), factor * sum,
                    std::abs(sum) / 128 + std::sqrt(squares) / 256)
            << r << ", " << c;
      }
    }
  }

  const Halves x = uneven(kTokens, kIn, 11), w = uneven(kOut, kIn, 12),
               d = uneven(kTokens, kOut, 13);
  /// Operands in device memory, which a machine without a GPU does not have.
  struct OnDevice {
    explicit OnDevice(const CudaFp8Products& host) : x(host.x), w(host.w), d(host.d) {}
    const DeviceArray<std::uint16_t> x, w, d;
    const Form x_along{kTokens, kIn, kTokens}, x_across{kIn, kTokens, kIn};
    const Form d_along{kTokens, kOut, kTokens}, d_across{kOut, kTokens, kOut};
    const Form w_along{kOut, kIn, kOut}, w_across{kIn, kOut, kIn};
    const DeviceArray<std::byte> workspace{planner::kGemmWorkspace.count()};
    CudaGemm gemm;
  };
  std::unique_ptr<OnDevice> on_;
};

TEST_F(CudaFp8Products, AgreeWithProductsOfRoundedNumbers) {
  quantize_all();
  const DeviceArray<std::uint16_t> y(kTokens * kOut), dx(kTokens * kIn);
  const DeviceArray<float> dw(kOut * kIn);
  on_->gemm.forward_fp8(stream_, kSize, on_->x_along.get(), on_->w_along.get(), nullptr, y.data(),
                        on_->workspace.data());
  on_->gemm.input_gradient_fp8(stream_, kSize, on_->d_along.get(), on_->w_across.get(), dx.data(),
                               on_->workspace.data());
  on_->gemm.weight_gradient_fp8(stream_, kSize, on_->d_across.get(), on_->x_across.get(), dw.data(),
                                true, on_->workspace.data());
  finish();
  const std::vector<float> xs = floats_of(x), ds = floats_of(d);
  std::vector<float> x_rows(xs.size()), d_rows(ds.size()), x_cols(xs.size()), d_cols(ds.size());
  round_along(xs.data(), kTokens, kIn, x_rows.data());
  round_along(ds.data(), kTokens, kOut, d_rows.data());
  round_across(xs.data(), kTokens, kIn, x_cols.data());
  round_across(ds.data(), kTokens, kOut, d_cols.data());
  // The host's rounded weight: products with rows of the identity.
  std::vector<float> one(kIn * kIn), panel(planner::panel_rows(kOut, kIn) * kIn), w_t(kIn * kOut);
  for (std::int64_t i = 0; i < kIn; ++i) one[i * kIn + i] = 1;
  multiply_quantized(one.data(), kIn, {.high = w.data(), .rows = kOut, .cols = kIn}, panel.data(),
                     w_t.data());
  expect_product(y.values(), x_rows, transposed(w_t, kIn, kOut), kTokens, kOut, kIn);
  expect_product(dx.values(), d_rows, w_t, kTokens, kIn, kOut);
  const std::vector<float> x_turned = transposed(x_cols, kTokens, kIn);
  const std::vector<float> d_turned = transposed(d_cols, kTokens, kOut);
  expect_product(dw.values(), d_turned, x_turned, kOut, kIn, kTokens);
  on_->gemm.weight_gradient_fp8(stream_, kSize, on_->d_across.get(), on_->x_across.get(), dw.data(),
                                false, on_->workspace.data());
  finish();
  expect_product(dw.values(), d_turned, x_turned, kOut, kIn, kTokens, 2);
  EXPECT_TRUE(y.intact() && dx.intact() && dw.intact() && on_->workspace.intact());
}

TEST_F(CudaFp8Products, RepeatTheirBitsAndAddOntoAMatrix) {
  quantize_all();
  const Halves addend = RandomValues(17).halves(kTokens * kOut, 100);
  const DeviceArray<std::uint16_t> once(kTokens * kOut), twice(kTokens * kOut), added(addend);
  for (const auto* y : {&once, &twice}) {
    on_->gemm.forward_fp8(stream_, kSize, on_->x_along.get(), on_->w_along.get(), nullptr,
                          y->data(), on_->workspace.data());
  }
  on_->gemm.forward_fp8(stream_, kSize, on_->x_along.get(), on_->w_along.get(), added.data(),
                        added.data(), on_->workspace.data());
  finish();
  EXPECT_EQ(once.values(), twice.values());
  const Halves y = once.values(), sum = added.values();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float expected = value_of(y[i]) + value_of(addend[i]);
    ASSERT_NEAR(value_of(sum[i]), expected,
                (std::abs(value_of(y[i])) + std::abs(value_of(addend[i]))) / 64);
  }
}

}  // namespace
}  // namespace sluice::engine
