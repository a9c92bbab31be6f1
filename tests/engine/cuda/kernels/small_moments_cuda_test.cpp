// The device's update of moments in bf16 and int8 against the host's, bit for bit. Needs a CUDA
// device.
#include <cstring>
#include <random>
#include <vector>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/optimizer/small_moments.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda {
namespace {

using planner::StateType;
using testing::DeviceArray;

/// Elements of the part, which end inside a block; where it begins in its unit; and its steps.
constexpr std::int64_t kElements = 70'016, kFirst = 8192, kSteps = 6;

/// More spans than one launch takes, with padding between and behind them, decaying in turn; some
/// lie before the part.
std::vector<AdamWSpan> many_spans() {
  std::vector<AdamWSpan> spans;
  std::int64_t at = 0;
  const std::int64_t end = kFirst + kElements - 64;
  for (std::int64_t i = 0; at < end; ++i) {
    const std::int64_t size = i % 3 == 0 ? 61 : 352 + i % 7;
    spans.push_back({at, std::min(at + size, end), i % 2 == 0});
    at += (size + 31) / 32 * 32;
  }
  return spans;
}

struct HostState {
  std::vector<std::uint16_t> high, low;
  std::vector<float> gradient;
  std::vector<std::uint16_t> wire;
  std::vector<std::byte> m, v;
};

HostState random_state(StateType type) {
  std::mt19937 random(31);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-12, 0);
  HostState state;
  for (std::int64_t i = 0; i < kElements; ++i) {
    const SplitMaster halves = split_master(normal(random));
    state.high.push_back(halves.high);
    state.low.push_back(halves.low);
    state.gradient.push_back(i % 53 == 0 ? 0 : normal(random) * std::pow(10.0F, exponent(random)));
    state.wire.push_back(float_to_bf16(state.gradient.back()));
  }
  const std::int64_t bytes = type == StateType::bf16
                                 ? 2 * kElements
                                 : scales_behind(kElements) + kMomentScaleSize.of(kElements);
  state.m.resize(static_cast<std::size_t>(bytes));
  state.v.resize(static_cast<std::size_t>(bytes));
  return state;
}

class CudaSmallMoments
    : public ::testing::TestWithParam<std::tuple<StateType, planner::GradientWire>> {};

TEST_P(CudaSmallMoments, SeveralStepsOfWhichOneChangesNothingGiveTheHostsBits) {
  const DeviceQuery query = query_devices();
  if (query.devices.empty()) GTEST_SKIP() << "no CUDA device: " << *query.reason;
  const auto [type, wire] = GetParam();
  const bool halves = wire == planner::GradientWire::bf16;
  HostState host = random_state(type);
  const DeviceArray<std::uint16_t> high(host.high), low(host.low), wired(host.wire);
  const DeviceArray<float> gradient(host.gradient);
  const DeviceArray<std::byte> m(host.m), v(host.v);
  const void* host_gradient = host.gradient.data();
  const void* device_gradient = gradient.data();
  if (halves) host_gradient = host.wire.data(), device_gradient = wired.data();
  const AdamWOperands on_host{host.high.data(), host.low.data(), nullptr,
                              nullptr,          host_gradient,   wire};
  const AdamWOperands on_device{high.data(), low.data(), nullptr, nullptr, device_gradient, wire};
  const SmallMoments host_moments{type, host.m.data(), host.v.data(), kElements, 5};
  const SmallMoments device_moments{type, m.data(), v.data(), kElements, 5};
  const std::vector<AdamWSpan> spans = many_spans();
  const SharedMemory shared(sizeof(AdamWStep));
  auto* shared_step = new (shared.data()) AdamWStep;
  ThreadPool pool(2);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  for (std::int64_t number = 1; number <= kSteps; ++number) {
    AdamWStep step = adamw_step({}, 1e-3, number, 0.3F);
    step.rounding = rounding_stream(77, number);
    step.changes_nothing = number == 3;
    adamw_update(on_host, host_moments, spans, step, pool, 2, kFirst);
    *shared_step = step;
    cuda::adamw_update(on_device, device_moments, spans, kFirst, shared_step, stream);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(high.values(), host.high);
  EXPECT_EQ(low.values(), host.low);
  EXPECT_TRUE(m.values() == host.m);
  EXPECT_TRUE(v.values() == host.v);
  EXPECT_TRUE(m.intact() && v.intact() && high.intact() && low.intact());
  EXPECT_FALSE(host.m == random_state(type).m);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaSmallMoments,
                         ::testing::Combine(::testing::Values(StateType::bf16, StateType::int8),
                                            ::testing::Values(planner::GradientWire::fp32,
                                                              planner::GradientWire::bf16)),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) + "_wire_" +
                                  to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace sluice::engine::cuda
