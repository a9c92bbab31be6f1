#include "sim/units.hpp"

#include <gtest/gtest.h>

#include <concepts>

namespace sluice {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};

static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Flops>, "bytes and operations do not add up");
static_assert(!Addable<Bytes, std::int64_t>, "a bare number has no unit");
static_assert(!Multipliable<Bytes, Bytes>, "there are no square bytes");
static_assert(!Divisible<Bytes, FlopsPerSecond>);
static_assert(!Divisible<BytesPerSecond, Bytes>);
static_assert(!std::convertible_to<double, Rate>, "a rate is made explicitly");
static_assert(!std::convertible_to<Bytes, std::int64_t>);
static_assert(std::same_as<decltype(Bytes() / BytesPerSecond()), Seconds>);
static_assert(std::same_as<decltype(Flops() / FlopsPerSecond()), Seconds>);
static_assert(std::same_as<decltype(Bytes() / Bytes()), double>);
static_assert(std::same_as<decltype(Rate() * Seconds()), Amount>);

TEST(Bytes, DecimalAndBinaryUnitsDiffer) {
  EXPECT_EQ(1_GB, Bytes(1'000'000'000));
  EXPECT_EQ(1_GiB, Bytes(1'073'741'824));
}

TEST(Seconds, BytesOverBytesPerSecond) { EXPECT_EQ((110_GB / BytesPerSecond(55e9)).count(), 2); }

}  // namespace
}  // namespace sluice
