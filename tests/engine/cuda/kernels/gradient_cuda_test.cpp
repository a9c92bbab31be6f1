// Operations on whole gradient vectors, against plain loops.
#include "engine/cuda/kernels/gradient.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

constexpr std::int64_t kCounts[] = {1, 3, 777, 4096, 8192, 8193, 100'003, 1'048'576};

class GradientKernel : public KernelTest {};

TEST_F(GradientKernel, NormBlocksAreSumsOf4096SquaresInDouble) {
  for (const std::int64_t count : kCounts) {
    const std::vector<float> gradient = RandomValues(4).floats(count);
    const std::int64_t blocks = (count + 4095) / 4096;
    std::vector<double> expected(static_cast<std::size_t>(blocks));
    for (std::int64_t i = 0; i < count; ++i) {
      expected[i / 4096] += double{gradient[i]} * double{gradient[i]};
    }
    const DeviceArray<float> in(gradient);
    const DeviceArray<double> out(blocks);
    std::vector<double> before;
    for (int run = 0; run < 2; ++run) {
      norm_blocks(stream_, in.data(), count, out.data());
      finish();
      if (run == 1) {
        EXPECT_EQ(before, out.values());
      }
      before = out.values();
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      EXPECT_NEAR(before[b], expected[b], 1e-13 * expected[b]);
    }
    EXPECT_TRUE(out.intact());
  }
}

TEST_F(GradientKernel, BlocksSumToOneDoubleTheSameEveryTime) {
  for (const std::int64_t count : kCounts) {
    std::vector<double> blocks;
    for (const float value : RandomValues(8).floats(count)) blocks.push_back(double{value} * value);
    double expected = 0;
    for (const double each : blocks) expected += each;
    const DeviceArray<double> in(blocks), sum(1);
    sum_blocks(stream_, in.data(), count, sum.data());
    finish();
    const double first = sum.values()[0];
    EXPECT_NEAR(first, expected, 1e-12 * expected);
    sum_blocks(stream_, in.data(), count, sum.data());
    finish();
    EXPECT_EQ(sum.values()[0], first);
    EXPECT_TRUE(sum.intact());
  }
}

TEST_F(GradientKernel, CombineAddsElementByElement) {
  for (const std::int64_t count : kCounts) {
    RandomValues random(5);
    std::vector<float> gradient = random.floats(count);
    const std::vector<float> addend = random.floats(count);
    const DeviceArray<float> sum(gradient), more(addend);
    combine(stream_, sum.data(), more.data(), count);
    finish();
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += addend[i];
    EXPECT_EQ(sum.values(), gradient);
    EXPECT_TRUE(sum.intact());
  }
}

TEST_F(GradientKernel, RoundsToNearestEvenInPlaceAndApart) {
  for (const std::int64_t count : kCounts) {
    std::vector<float> gradient = RandomValues(6).floats(count);
    gradient[0] = 1 + 1.0F / 256;  // half way: down to even
    Halves expected;
    for (const float value : gradient) expected.push_back(to_bf16(value));
    const DeviceArray<float> in(gradient);
    const DeviceArray<std::uint16_t> wire(count);
    round_to_bf16(stream_, in.data(), count, wire.data());
    finish();
    EXPECT_EQ(wire.values(), expected);
    EXPECT_TRUE(wire.intact());
    round_to_bf16(stream_, in.data(), count, reinterpret_cast<std::uint16_t*>(in.data()));
    finish();
    const std::vector<float> over = in.values();
    EXPECT_EQ(std::memcmp(over.data(), expected.data(), expected.size() * 2), 0) << count;
    EXPECT_TRUE(in.intact());
  }
  const DeviceArray<float> overlapping(64);
  EXPECT_THROW(round_to_bf16(stream_, overlapping.data(), 64,
                             reinterpret_cast<std::uint16_t*>(overlapping.data() + 4)),
               std::logic_error);
}

TEST_F(GradientKernel, FillZeroTouchesItsBytesAlone) {
  const DeviceArray<unsigned char> bytes(777);
  fill_zero(stream_, bytes.data() + 1, Bytes(775));
  finish();
  const std::vector<unsigned char> values = bytes.values();
  EXPECT_EQ(values.front(), 0xff);
  EXPECT_EQ(values.back(), 0xff);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0), 775);
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
