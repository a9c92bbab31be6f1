// A task's time as the sum of its parts.
#pragma once

#include <array>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Relative standard deviation of a fact; 0 where it has no value.
[[nodiscard]] inline double deviation_of(const Fact& fact) {
  return fact.value > 0 ? fact.deviation / fact.value : 0;
}
[[nodiscard]] inline Evidence evidence_of(const Fact& fact) {
  return fact.source == Source::measured ? Evidence::fitted : Evidence::datasheet;
}

/// Sum of the parts of one task's time: seconds, their deviation (independent between parts), and
/// the evidence that most of the time rests on.
class CostParts {
 public:
  void add(Seconds time, double relative_deviation, Evidence evidence);
  /// Adds the seconds of `amount` at the rate `fact`; nothing where the rate is 0.
  void add_rate(double amount, const Fact& fact);
  /// Adds `count` times the duration `fact`.
  void add_times(double count, const Fact& fact);

  [[nodiscard]] Seconds total() const { return total_; }
  [[nodiscard]] Evidence evidence() const;
  [[nodiscard]] double relative_deviation() const;

 private:
  Seconds total_{0};
  double variance_ = 0;
  std::array<Seconds, 3> by_evidence_{};
};

}  // namespace sluice::planner
