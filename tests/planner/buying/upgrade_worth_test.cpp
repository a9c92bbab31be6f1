#include "planner/buying/upgrade_worth.hpp"

#include <gtest/gtest.h>

#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

using test::part_prices;

TEST(UpgradeWorth, WhoOwnsNothingPaysForMachineAndOrder) {
  const CountedParts now = find_counted_parts("rtx-4090").value();
  CountedParts more = now;
  more.parts.ram.count = 4;
  BuyRequest request;
  request.prices = part_prices();
  Upgrade upgrade;
  add_price(upgrade, now, more, request);
  EXPECT_EQ(upgrade.price, 200);
  EXPECT_EQ(upgrade.total, 3150 + 200);
  EXPECT_EQ(asked_of_budget(upgrade, request), 3350);
  request.owned = true;
  Upgrade mine;
  add_price(mine, now, more, request);
  EXPECT_FALSE(mine.total.has_value());
  EXPECT_EQ(asked_of_budget(mine, request), 200);
  // A new part without a price: neither sum is known.
  more.parts.gpu = "rtx-5090";
  Upgrade unknown;
  request.owned = false;
  add_price(unknown, now, more, request);
  EXPECT_FALSE(unknown.price || unknown.total);
  // A machine with a price of its own.
  request.prices.machines["rtx-4090"].buy_usd = 5000;
  request.prices.parts.erase("ssd gen4");
  more.parts.gpu = now.parts.gpu;
  Upgrade whole;
  add_price(whole, now, more, request);
  EXPECT_EQ(whole.total, 5200);
}

}  // namespace
}  // namespace sluice::planner
