#include "planner/catalogue/gpu_name.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

TEST(GpuName, HoldsEveryWordOfTheCatalogues) {
  EXPECT_TRUE(names_gpu("h200", "NVIDIA H200"));
  EXPECT_TRUE(names_gpu("rtx-4090", "NVIDIA GeForce RTX 4090"));
  EXPECT_TRUE(names_gpu("a100-80-sxm", "NVIDIA A100-SXM4-80GB"));
  EXPECT_FALSE(names_gpu("a100-40-pcie", "NVIDIA A100-SXM4-80GB"));
  EXPECT_TRUE(names_gpu("h100-sxm", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(names_gpu("h100-sxm", "NVIDIA H100 PCIe"));
  EXPECT_FALSE(names_gpu("h100-pcie", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(names_gpu("h200-64c", "NVIDIA H200"));
  EXPECT_FALSE(names_gpu("", "NVIDIA H200"));
}

TEST(GpuName, ThePartWithMostWordsCounts) {
  const GpuPart* const found = gpu_named("NVIDIA RTX PRO 6000 Blackwell Server Edition");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "rtx-pro-6000");
  EXPECT_EQ(gpu_named("NVIDIA A100-SXM4-80GB")->name, "a100-80-sxm");
  EXPECT_EQ(gpu_named("NVIDIA H100 80GB HBM3")->name, "h100-sxm");
  EXPECT_EQ(gpu_named("unknown"), nullptr);
}

}  // namespace
}  // namespace sluice::planner
