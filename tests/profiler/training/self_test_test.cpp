#include "profiler/training/self_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace sluice::profiler {
namespace {

TEST(SelfTestLosses, KnownOnesButForRoundingAreRight) {
  EXPECT_FALSE(wrong_losses(std::array{5.588, 4.845, 4.404, 4.344}));
  EXPECT_FALSE(wrong_losses(std::array{5.5878, 4.8454, 4.4046, 4.3441}));
}

TEST(SelfTestLosses, TheFirstStepThatDiffersIsNamed) {
  const auto wrong = wrong_losses(std::array{5.588, 4.845, 4.5, 4.9});
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("step 3 has loss 4.5000 where 4.404 is known"), std::string::npos);
}

TEST(SelfTestLosses, ALossThatIsNoNumberIsWrong) {
  EXPECT_TRUE(wrong_losses(std::array{5.588, std::numeric_limits<double>::quiet_NaN(), 4.4, 4.3}));
}

}  // namespace
}  // namespace sluice::profiler
