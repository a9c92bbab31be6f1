// Strong quantities: only the operators that mean something compile.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace sluice {

/// A number with a dimension. `Tag` names the dimension; `Rep` is the type of the number.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep count) : count_(count) {}
  [[nodiscard]] constexpr Rep count() const { return count_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.count_ + b.count_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.count_ - b.count_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity(a.count_ * factor);
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a * factor; }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) {
    return Quantity(a.count_ / divisor);
  }
  /// The ratio of two quantities of one dimension is a pure number.
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.count_) / static_cast<double>(b.count_);
  }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

 private:
  Rep count_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using Flops = Quantity<struct FlopsTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
/// Amount that a flow moves, in the unit of its links (bytes, parameters, core-seconds, ...).
using Amount = Quantity<struct AmountTag, double>;
using Rate = Quantity<struct RateTag, double>;  ///< Amount per second, in the unit of a link.

using Seconds = std::chrono::duration<double>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return Seconds(static_cast<double>(bytes.count()) / rate.count());
}
constexpr Seconds operator/(Flops flops, FlopsPerSecond rate) {
  return Seconds(flops.count() / rate.count());
}
constexpr Seconds operator/(Amount amount, Rate rate) {
  return Seconds(amount.count() / rate.count());
}
constexpr Amount operator*(Rate rate, Seconds time) { return Amount(rate.count() * time.count()); }

/// The simulation clock: instants are integer nanoseconds since the start of the graph (or run).
struct Clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};
using Instant = Clock::time_point;
using Duration = Clock::duration;

inline constexpr double kSecondsPerDay = 86400, kHoursPerDay = 24;

constexpr Seconds to_seconds(Duration duration) { return Seconds(duration); }
constexpr Seconds to_seconds(Instant instant) { return Seconds(instant.time_since_epoch()); }

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 30);
}
constexpr Bytes operator""_KB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1000);
}
constexpr Bytes operator""_MB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1000000);
}
constexpr Bytes operator""_GB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1000000000);
}
}  // namespace literals

}  // namespace sluice
