// Sum of the parts of a task's time, with its deviation and evidence.
#pragma once

#include <array>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Standard deviation of a number over its value; 0 where the value is 0.
template <class Quantity>
[[nodiscard]] double deviation_of(const Measured<Quantity>& fact) {
  return fact.value > Quantity{} ? fact.deviation / fact.value : 0;
}
template <class Quantity>
[[nodiscard]] Evidence evidence_of(const Measured<Quantity>& fact) {
  return fact.source == Source::measured ? Evidence::fitted : Evidence::datasheet;
}

/// Sum of the parts of one task's time: seconds, their standard deviation (errors of parts are
/// independent), and the evidence that most of the time rests on.
class CostParts {
 public:
  void add(Seconds time, double relative_deviation, Evidence evidence);
  /// Adds the seconds that `amount` units take at the rate `fact` (units per second), and the time
  /// of `bytes` at `rate`; nothing where the rate is 0.
  void add_rate(double amount, const Fact& fact);
  void add_bytes(Bytes bytes, const Bandwidth& rate);
  /// Adds the time of `work` at `rate`; nothing where the rate is 0.
  void add_work(Flops work, const FlopRate& rate);
  /// Adds `count` times the duration `fact`.
  void add_times(double count, const MeasuredTime& fact);

  [[nodiscard]] Seconds total() const { return total_; }
  [[nodiscard]] Evidence evidence() const;
  [[nodiscard]] double relative_deviation() const;

 private:
  Seconds total_{0};
  double variance_ = 0;
  std::array<Seconds, 3> by_evidence_{};
};

}  // namespace sluice::planner
