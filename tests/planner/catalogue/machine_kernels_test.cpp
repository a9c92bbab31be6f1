// Kernel models of machines: the catalogue's, a user's file, and the costs that follow.
#include "planner/catalogue/machine_kernels.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/kernel_costs.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/kernels/file.hpp"
#include "planner/machines/profile_file.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

TEST(CatalogueKernels, KnowFourDevicesWithinTheirPeaks) {
  for (const auto& [machine, peak] :
       {std::pair{"h100-sxm", 989e12}, std::pair{"h200", 989e12}, std::pair{"l40s", 362e12},
        std::pair{"rtx-pro-6000", 504e12}}) {
    const auto model = catalogue_kernels(machine);
    ASSERT_TRUE(model) << machine;
    const double rate =
        2.0 * 8192 * 8192 * 8192 / model->time(Gemm{8192, 8192, 8192})->time.count();
    EXPECT_LT(rate, peak) << machine;
    EXPECT_GT(rate, 0.4 * peak) << machine;
    ASSERT_TRUE(model->family(KernelKind::attention));
    EXPECT_NE(model->family(KernelKind::attention)->source.find("Apache-2.0"), std::string::npos);
  }
  EXPECT_FALSE(catalogue_kernels("rtx-3090"));
}

TEST(KernelCosts, FallBackToTheRooflineOfTheProfile) {
  const KernelCosts costs = KernelCosts::of_machine("rtx-3090");
  const KernelShape shape = shape_of(Gemm{4096, 4096, 4096});
  const KernelCost cost = costs.cost(KernelKind::gemm, shape);
  EXPECT_EQ(cost.evidence, Evidence::datasheet);
  EXPECT_GT(kernel_flops(KernelKind::gemm, shape) / FlopsPerSecond(142e12), Seconds(0));
  EXPECT_GT(cost.time.time, kernel_flops(KernelKind::gemm, shape) / FlopsPerSecond(142e12))
      << "slower than the datasheet's peak";
  EXPECT_EQ(KernelCosts::of_machine("h200").cost(KernelKind::gemm, shape).evidence,
            Evidence::fitted);
}

class KernelsFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("machine_kernels_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& text) const {
    std::ofstream(folder_ / "k.json") << text;
    return folder_ / "k.json";
  }
  MachineProfile with(const std::string& text, const std::string& machine = "h200") const {
    MachineProfile profile = find_machine(machine);
    set_kernels(profile, write(text), machine);
    return profile;
  }
  static KernelModel h200() { return catalogue_kernels("h200").value(); }

  std::filesystem::path folder_;
};

TEST_F(KernelsFile, OfAnotherShapeIsRefusedInOneLine) {
  EXPECT_REFUSED(set_kernels(*std::make_unique<MachineProfile>(find_machine("h200")),
                             folder_ / "gone.json", "h200"),
                 "machine.kernels: there is no file");
  EXPECT_REFUSED(with("{}"), "is no kernel model: sluice fit kernels TABLE");
  EXPECT_REFUSED(with(R"({"schema": "sluice/kernels/1", "device": "d", "families": []})"),
                 "has neither products nor attention");
}

TEST_F(KernelsFile, OfAnotherGpuIsRefusedByName) {
  const std::string text = to_json_text(h200());
  EXPECT_REFUSED(with(text, "h100-sxm"),
                 "is of NVIDIA H200, and machine h100-sxm has the GPU h100-sxm");
  EXPECT_REFUSED(with(text, "rtx-4090"), "has the GPU rtx-4090");
  KernelModel unknown("a device of mine");
  unknown.set(*h200().family(KernelKind::gemm));
  EXPECT_TRUE(with(to_json_text(unknown), "rtx-4090").kernels) << "nobody knows better";
}

TEST_F(KernelsFile, CountsInCostsAndKeepsWhatItLacks) {
  KernelModel products("NVIDIA H200");
  KernelFamily family = *h200().family(KernelKind::gemm);
  products.set(family);
  const MachineProfile plain = find_machine("h200");
  const MachineProfile once = with(to_json_text(products));
  family.speed = 2;
  products.set(family);
  const MachineProfile twice = with(to_json_text(products));
  Work product, attention;
  product.gemms = {{4096, 4096, 4096}};
  attention.attention = {
      {.sequences = 1, .length = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128}};
  const auto seconds = [](const MachineProfile& profile, const Work& work) {
    return ProfileCostModel(profile, {}).compute(CostKey{"x"}, work).amount.count();
  };
  EXPECT_NEAR(seconds(once, product) / seconds(twice, product), 2, 1e-9);
  EXPECT_NE(seconds(once, product), seconds(plain, product));
  EXPECT_EQ(seconds(once, attention), seconds(plain, attention)) << "the file has none";
}

TEST_F(KernelsFile, ReplacePassesOfAnotherCardAndKeepTheMachinesOwn) {
  const std::string text = to_json_text(catalogue_kernels("h100-sxm").value());
  const MachineProfile plain = find_machine("h100-sxm");
  ASSERT_FALSE(plain.passes.empty());
  EXPECT_TRUE(with(text, "h100-sxm").passes.empty());
  const std::filesystem::path probed = folder_ / "probed.json";
  write_profile(plain, probed);
  EXPECT_EQ(with(text, probed.string()).passes, plain.passes);
}

TEST_F(KernelsFile, LieInTheProfilesFileAndHash) {
  MachineProfile plain = find_machine("h200");
  plain.passes.clear();  // A kernel model takes the place of passes of another card.
  const MachineProfile profile = with(to_json_text(h200()));
  EXPECT_NE(profile_hash(profile), profile_hash(plain));
  const MachineProfile read = profile_from_json(to_json_text(profile), "profile");
  EXPECT_EQ(profile_hash(read), profile_hash(profile));
  EXPECT_EQ(to_json_text(read), to_json_text(profile));
  MachineProfile without = read;
  without.kernels.reset();
  EXPECT_EQ(profile_hash(without), profile_hash(plain));
  EXPECT_EQ(to_json_text(without), to_json_text(plain));
}

TEST_F(KernelsFile, FollowTheFactorsOfAMachine) {
  const MachineProfile profile = with(to_json_text(h200()));
  const Gemm product{4096, 4096, 4096};
  AttentionWork work{.sequences = 1, .length = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128};
  const auto attention = [&](const MachineProfile& of, bool backward) {
    work.backward = backward;
    return of.kernels->time(work, "sm_90")->time.count();
  };
  MachineProfile slower = profile;
  set_fact(slower, "gemm", "0.5x");
  EXPECT_NEAR(slower.kernels->time(product)->time / profile.kernels->time(product)->time, 2, 1e-9);
  EXPECT_EQ(attention(slower, false), attention(profile, false));
  set_fact(slower, "attention_forward", "0.5x");
  EXPECT_NEAR(attention(slower, false) / attention(profile, false), 2, 1e-9);
  EXPECT_NEAR(attention(slower, true) / attention(profile, true), 1, 1e-9);
  set_fact(slower, "attention_backward", "0.25x");
  EXPECT_NEAR(attention(slower, true) / attention(profile, true), 4, 1e-9);
  EXPECT_NEAR(attention(slower, false) / attention(profile, false), 2, 1e-9);
}

}  // namespace
}  // namespace sluice::planner
