#include "planner/costs/tabulated_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/machine_kernels.hpp"

namespace sluice::planner {
namespace {

MachineProfile tabulated() {
  MachineProfile profile = find_machine("h100-sxm");
  profile.kernels = std::make_shared<const KernelModel>(catalogue_kernels("h100-sxm").value());
  return profile;
}

TEST(TabulatedTime, IsTheTablesInAStep) {
  const MachineProfile profile = tabulated();
  const Gemm one{4096, 4096, 14336};
  const TabulatedTime time = tabulated_time(profile, one).value();
  EXPECT_NEAR(time.time / profile.kernels->time(one)->time, kInStep, 1e-12);
  EXPECT_GE(time.relative_deviation, kInStepDeviation);
  EXPECT_EQ(time.evidence, Evidence::fitted);
  Gemm three = one;
  three.count = 3;
  three.slowing = 1.8;
  EXPECT_NEAR(tabulated_time(profile, three)->time / time.time, 5.4, 1e-12);
}

TEST(TabulatedTime, KnowsThatSmallInnerAndOuterSizesAreSlow) {
  const MachineProfile profile = tabulated();
  const auto rate = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const Gemm gemm{m, n, k};
    return flops(gemm).count() / tabulated_time(profile, gemm)->time.count();
  };
  // Products of equal FLOPs, of which the profile's curve knows no difference.
  EXPECT_LT(rate(65536, 256, 1024), 0.9 * rate(4096, 2048, 2048));
  EXPECT_LT(rate(8192, 8192, 256), 0.9 * rate(4096, 2048, 2048));
}

TEST(TabulatedTime, IsOfDenseProductsOnCudaDevicesAlone) {
  MachineProfile profile = tabulated();
  EXPECT_FALSE(tabulated_time(profile, Gemm{64, 64, 64, 8, Gemm::Dealt::rows}));
  profile.device = DeviceKind::host;
  EXPECT_FALSE(tabulated_time(profile, Gemm{64, 64, 64}));
  profile.device = DeviceKind::cuda;
  profile.kernels.reset();
  EXPECT_FALSE(tabulated_time(profile, Gemm{64, 64, 64}));
  EXPECT_FALSE(tabulated_time(profile, AttentionWork{}));
}

TEST(TabulatedTime, OfAScaledModelIsADatasheets) {
  MachineProfile profile = tabulated();
  KernelModel model = *profile.kernels;
  KernelFamily family = *model.family(KernelKind::gemm);
  family.rows = 0;
  model.set(std::move(family));
  profile.kernels = std::make_shared<const KernelModel>(std::move(model));
  EXPECT_EQ(tabulated_time(profile, Gemm{64, 64, 64})->evidence, Evidence::datasheet);
}

}  // namespace
}  // namespace sluice::planner
