#include "sim/units_text.hpp"

#include <gtest/gtest.h>

#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

TEST(UnitsText, ReadsBinaryAndDecimalSizes) {
  EXPECT_EQ(parse_bytes("24 GiB", "hbm"), 24_GiB);
  EXPECT_EQ(parse_bytes("24GiB", "hbm"), 24_GiB);
  EXPECT_EQ(parse_bytes(" 1.5 KiB ", "hbm"), Bytes(1536));
  EXPECT_EQ(parse_bytes("2 GB", "hbm"), 2_GB);
  EXPECT_EQ(parse_bytes("0", "copy_chunk"), Bytes(0)) << "zero is zero in every unit";
}

TEST(UnitsText, ReadsRatesTimesAndFlops) {
  EXPECT_DOUBLE_EQ(parse_bytes_per_second("55.5 GB/s", "h2d").count(), 55.5e9);
  EXPECT_DOUBLE_EQ(parse_seconds("5 us", "latency").count(), 5e-6);
  EXPECT_DOUBLE_EQ(parse_flops_per_second("989 TFLOP/s", "peak").count(), 989e12);
  EXPECT_DOUBLE_EQ(parse_per_second("5.7 G/s", "update"), 5.7e9);
}

TEST(UnitsText, RefusesANumberWithoutAUnitAndSaysHowToWriteIt) {
  EXPECT_EQ(refusal([] { (void)parse_bytes("24", "limits.hbm"); }),
            "limits.hbm: \"24\" has no unit: write for example \"24 GiB\"");
}

TEST(UnitsText, RefusesWrongUnitsNamingTheNearest) {
  EXPECT_REFUSED(parse_bytes("24 gib", "hbm"), "did you mean \"GiB\"");
  EXPECT_REFUSED(parse_bytes("24 GB/s", "hbm"), "\"GB/s\" is not a unit for this");
  EXPECT_REFUSED(parse_bytes_per_second("24 GB", "h2d"), "\"GB\" is not a unit for this");
  EXPECT_REFUSED(parse_bytes("-1 GiB", "hbm"), "must not be negative");
  EXPECT_REFUSED(parse_bytes("much", "hbm"), "is not a quantity");
  EXPECT_REFUSED(parse_bytes("nan GiB", "hbm"), "is not a quantity");
  EXPECT_REFUSED(parse_bytes("1e30 GiB", "hbm"), "too large");
  EXPECT_REFUSED(parse_count("1.5", "steps"), "is not a whole number");
  EXPECT_REFUSED(parse_count("4k", "seq_len"), "is not a whole number: write 4000 or 4096");
  EXPECT_REFUSED(parse_count("15,000", "steps"), "is not a whole number: write 15000");
}

TEST(UnitsText, ExactSizesReadBackToTheSameBytes) {
  for (const Bytes bytes : {Bytes(0), Bytes(1), 3_KiB, 24_GiB, Bytes(1000000007)}) {
    EXPECT_EQ(parse_bytes(format_exact(bytes), "x"), bytes) << format_exact(bytes);
  }
  EXPECT_EQ(format_exact(24_GiB), "24 GiB");
}

TEST(UnitsText, FormatsThreeSignificantDigits) {
  EXPECT_EQ(format_bytes(Bytes(1536)), "1.50 KiB");
  EXPECT_EQ(format_bytes(24_GiB), "24.0 GiB");
  EXPECT_EQ(format_rate(BytesPerSecond(55.4e9)), "55.4 GB/s");
  EXPECT_EQ(format_rate(FlopsPerSecond(690e12)), "690 TFLOP/s");
  EXPECT_EQ(format_seconds(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(format_amount(7615616512.0), "7.62 G");
}

}  // namespace
}  // namespace sluice::planner
