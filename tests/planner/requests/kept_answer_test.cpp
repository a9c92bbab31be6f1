#include "planner/requests/kept_answer.hpp"

#include <gtest/gtest.h>

#include "planner/catalogue/counted_machine.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

class KeptAnswer : public test::Buying {};

TEST_F(KeptAnswer, IsWhatWasKeptUnderItsKey) {
  const Store store = Store::of_user();
  EXPECT_FALSE(kept_answer(store, "aa"));
  keep_answer(store, "aa", "0\nBuy it.\n");
  EXPECT_EQ(kept_answer(store, "aa"), "0\nBuy it.\n");
  EXPECT_FALSE(kept_answer(store, "bb"));
}

// Another word, machine file, price file or calibration is another question.
TEST_F(KeptAnswer, HasAKeyOfAllThatItDependsOn) {
  const Store store = Store::of_user();
  config_.machine = machine("mine");
  const auto prices = write("prices.yaml", "prices: {}\n");
  const auto key = [&](const std::string& word) {
    return answer_key({word}, config_, {"rtx-4090", config_.machine}, {prices}, store);
  };
  const auto first = key("--own");
  if (!first) GTEST_SKIP() << "built from changed sources: nothing is kept";
  EXPECT_EQ(key("--own"), first);
  EXPECT_NE(key("--rent"), first);
  machine("mine", 2);
  EXPECT_NE(key("--own"), first);
  machine("mine");
  EXPECT_EQ(key("--own"), first);
  write("prices.yaml", "prices: {h200: {buy_usd: 1, date: 2026-01-31}}\n");
  EXPECT_NE(key("--own"), first);
  config_.seq_len *= 2;
  EXPECT_NE(key("--own"), first);
}

TEST(CountedMachine, IsTwoToEightOfOne) {
  EXPECT_EQ(counted_machine("2x-rtx-4090").gpus, 2);
  EXPECT_EQ(counted_machine("8x rtx-3090").machine, "rtx-3090");
  EXPECT_EQ(counted_machine("rtx-4090 + 4x64 GiB DDR5-5600").gpus, 1);
  EXPECT_EQ(counted_machine("9x-rtx-4090").machine, "9x-rtx-4090");
}

}  // namespace
}  // namespace sluice::planner
