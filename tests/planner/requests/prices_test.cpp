#include "planner/requests/prices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

class PriceFile : public test::Buying {};

TEST_F(PriceFile, AMachineIsTheSumOfItsPartsWhereEachHasAPrice) {
  const auto file = write("parts.yaml", R"(parts:
  gpu rtx-4090: {buy_usd: 1600, date: 2026-02-01}
  cpu ryzen-9-9950x: {buy_usd: 1000, date: 2026-01-01}
  64 GiB DDR5-5600: {buy_usd: 200, date: 2026-02-01}
  ssd gen4: {buy_usd: 150, date: 2026-02-01}
)");
  const PriceList prices = read_prices(file);
  EXPECT_EQ(prices.of("rtx-4090").buy_usd, 1600 + 1000 + 2 * 200 + 150);
  EXPECT_EQ(prices.of("rtx-4090").date, "2026-01-01");
  EXPECT_EQ(prices.of("rtx-4090 + 4x64 GiB DDR5-5600").buy_usd, 1600 + 1000 + 4 * 200 + 150);
  EXPECT_FALSE(prices.of("rtx-5090").buy_usd.has_value());
  const CountedParts now = find_counted_parts("rtx-4090").value();
  // Two modules more; a whole new kit of another size has no price here.
  EXPECT_EQ(prices.change(now, find_counted_parts("rtx-4090 + 4x64 GiB DDR5-5600").value()), 400);
  EXPECT_FALSE(prices.change(now, find_counted_parts("rtx-4090 + 2x48 GiB DDR5-5600").value()));
  EXPECT_EQ(prices.of("2x-rtx-4090").buy_usd, 2 * 1600 + 1000 + 2 * 200 + 150);
  EXPECT_EQ(prices.change(now, find_counted_parts("2x-rtx-4090").value()), 1600);
  EXPECT_THROW((void)read_prices(write("e.yaml", "part: {x: {buy_usd: 1, date: d}}")), BadRequest);
  EXPECT_THROW((void)read_prices(write("f.yaml", "prices: {}\n[a, b]: {}\n")), BadRequest);
  EXPECT_THROW((void)read_prices(write("g.yaml", "prices: {\xff: {}}\n")), BadRequest);
}

// Eight cards of a server have two sockets, each with the memory that the name states.
TEST_F(PriceFile, ASecondSocketCostsACpuAndItsMemory) {
  const auto file = write("server.yaml", R"(parts:
  gpu rtx-4090: {buy_usd: 1600, date: 2026-02-01}
  cpu epyc-9354: {buy_usd: 9000, date: 2026-01-01}
  64 GiB DDR5-4800: {buy_usd: 200, date: 2026-02-01}
  ssd gen4: {buy_usd: 150, date: 2026-02-01}
)");
  const PriceList prices = read_prices(file);
  const std::string server = "rtx-4090 + epyc-9354 + 12x64 GiB DDR5-4800";
  EXPECT_EQ(prices.of("4x-" + server).buy_usd, 4 * 1600 + 9000 + 12 * 200 + 150);
  EXPECT_EQ(prices.of("8x-" + server).buy_usd, 8 * 1600 + 2 * (9000 + 12 * 200) + 150);
}

// An instance is a rent with its host; of a node one GPU brings an eighth of memory and cores.
TEST_F(PriceFile, AnInstanceIsARentWithItsHost) {
  const auto file = write("clouds.yaml", R"(instances:
  cloud.8: {gpu: h100-sxm, gpus: 8, gib: 2048, vcpus: 192, usd_per_hour: 55.04,
            date: 2026-11-09, address: "https://prices.example"}
)");
  const PriceList prices = read_prices(file);
  const Price price = prices.of("cloud.8");
  EXPECT_EQ(price.rent_usd_per_hour, 55.04);
  EXPECT_FALSE(price.buy_usd);
  EXPECT_EQ(price.rent_date, "2026-11-09");
  EXPECT_EQ(price.source, "https://prices.example");
  const RentedHost host = host_of(prices.instances.at("cloud.8"));
  EXPECT_EQ(host.memory, Bytes(2048ll << 30));
  EXPECT_EQ(host.cores, 96);
  const auto share = share_of_node("a100-80-sxm");
  ASSERT_TRUE(share);
  EXPECT_EQ(share->memory, Bytes(144ll << 30));
  EXPECT_EQ(share->cores, 6);
  EXPECT_FALSE(share_of_node("rtx-4090"));
  EXPECT_FALSE(share_of_node("h200"));  // Measured on such a share.
  const RunConfig run = on_rented(RunConfig(), "a100-80-sxm", *share);
  EXPECT_EQ(run.machine_overrides.at("cores"), "6");
  EXPECT_LT(*run.limits.host, share->memory);
}

TEST_F(PriceFile, AnInstanceWithoutDateOrPageIsRefused) {
  const std::string rest = "gpu: l40s, gpus: 1, gib: 32, vcpus: 4, usd_per_hour: 1.9";
  const auto refusal = [&](const std::string& more) -> std::string {
    try {
      (void)read_prices(write("x.yaml", "instances: {cloud.1: {" + more + "}}"));
    } catch (const BadRequest& error) {
      return error.what();
    }
    return "";
  };
  const std::string page = ", address: \"https://prices.example\"";
  EXPECT_EQ(refusal(rest + ", date: 2026-01-31" + page), "");
  EXPECT_NE(refusal(rest + page).find("date is missing"), std::string::npos);
  EXPECT_NE(refusal(rest + ", date: 2026-01-31").find("address is missing"), std::string::npos);
  EXPECT_NE(refusal(rest + ", date: 2026-01-31, address: a shop").find("no address of a page"),
            std::string::npos);
  EXPECT_NE(refusal(rest + ", vcpu: 4").find("did you mean \"vcpus\""), std::string::npos);
  EXPECT_NE(refusal("gpu: l40x").find("did you mean"), std::string::npos);
}

// A rent has its own date, not that of the parts of which the machine is bought.
TEST_F(PriceFile, ARentKeepsItsDateBesideThatOfTheParts) {
  const auto file = write("both.yaml", R"(prices:
  rtx-4090: {rent_usd_per_hour: 0.34, date: 2026-03-19}
parts:
  gpu rtx-4090: {buy_usd: 1599, date: 2022-10-12}
  cpu ryzen-9-9950x: {buy_usd: 1300, date: 2026-01-01}
  64 GiB DDR5-5600: {buy_usd: 384, date: 2026-01-01}
  ssd gen4: {buy_usd: 170, date: 2026-01-01}
)");
  const Price price = read_prices(file).of("rtx-4090");
  EXPECT_EQ(price.rent_date, "2026-03-19");
  EXPECT_EQ(price.date, "2022-10-12");
}

TEST_F(PriceFile, NeedsADateAndKnownKeys) {
  const auto good =
      write("good.json", R"({"prices": {"h200": {"buy_usd": 1, "date": "2026-01-31"}}})");
  EXPECT_EQ(read_prices(good).machines.at("h200").buy_usd, 1);
  EXPECT_THROW((void)read_prices(write("a.yaml", "prices: {h200: {buy_usd: 1}}")), BadRequest);
  EXPECT_THROW((void)read_prices(write("b.yaml", "prices: {h200: {buy: 1, date: 2026-01-31}}")),
               BadRequest);
  EXPECT_THROW((void)read_prices(write("c.yaml", "prices: {h200: {buy_usd: -1, date: x}}")),
               BadRequest);
  EXPECT_THROW((void)read_prices(write("d.yaml", "h200: 1")), BadRequest);
  const auto refusal = [&](const std::string& text) {
    try {
      (void)read_prices(write("names.yaml", text));
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("prices: {rtx-409: {buy_usd: 1, date: d}}"),
              testing::AllOf(testing::HasSubstr("prices.rtx-409"), testing::HasSubstr("rtx-4090")));
  EXPECT_THAT(refusal("parts: {gpu rtx-409: {buy_usd: 1, date: d}}"),
              testing::HasSubstr("did you mean \"rtx-4090\""));
  EXPECT_THAT(refusal("parts: {64 GB: {buy_usd: 1, date: d}}"), testing::HasSubstr("is no part"));
  EXPECT_EQ(refusal("prices: {8x-b200: {rent_usd_per_hour: 1, date: d}, mine.json: {buy_usd: 2, "
                    "date: d}, rtx-4090 + 4x64 GiB DDR5-5600: {buy_usd: 3, date: d}}"),
            "");
  EXPECT_THROW((void)read_prices(folder_ / "absent.yaml"), BadRequest);
}

}  // namespace
}  // namespace sluice::planner
