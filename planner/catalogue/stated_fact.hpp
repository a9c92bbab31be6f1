// Numbers of a machine's profile that parts and rules state.
#pragma once

#include <algorithm>
#include <string>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// A number that `rule` gives, with a relative standard deviation.
inline Fact estimated(double value, double relative, const std::string& rule) {
  return {.value = value,
          .deviation = value * relative,
          .count = 0,
          .source = Source::estimated,
          .note = rule};
}
template <class Tag>
Measured<Quantity<Tag, double>> estimated(Quantity<Tag, double> value, double relative,
                                          const std::string& rule) {
  return in_unit<Quantity<Tag, double>>(estimated(value.count(), relative, rule));
}
inline MeasuredTime estimated(Seconds value, double relative, const std::string& rule) {
  return in_unit<Seconds>(estimated(value.count(), relative, rule));
}

/// A number of the datasheet or page `source`, with a relative standard deviation.
inline Fact datasheet(double value, double relative, const std::string& source) {
  return {.value = value,
          .deviation = value * relative,
          .count = 1,
          .source = Source::datasheet,
          .note = source};
}
template <class Tag>
Measured<Quantity<Tag, double>> datasheet(Quantity<Tag, double> value, double relative,
                                          const std::string& source) {
  return in_unit<Quantity<Tag, double>>(datasheet(value.count(), relative, source));
}

/// `fact` times `factor` by `rule`; its relative deviation is at least `relative`.
template <class Quantity>
Measured<Quantity> scaled(const Measured<Quantity>& fact, double factor, double relative,
                          const std::string& rule) {
  return estimated(fact.value * factor, std::max(relative, fact.deviation / fact.value), rule);
}

}  // namespace sluice::planner
