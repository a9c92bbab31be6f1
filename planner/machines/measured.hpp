// A number of a machine with its deviation and source, in the unit of its type.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "sim/units.hpp"

namespace sluice::planner {

enum class Source { measured, datasheet, estimated };

/// A quantity that was measured, or that a datasheet or a rule states. `note` names the datasheet
/// and its date, or the rule of an estimate.
template <class Quantity>
struct Measured {
  Quantity value{};
  Quantity deviation{};    ///< Standard deviation of one measurement.
  std::int64_t count = 1;  ///< Number of samples behind `value`.
  Source source = Source::datasheet;
  std::string note;
};

/// A number without a unit of its own type: a ratio, a count, or what files, texts and hashes hold,
/// in the unit that its name states.
using Fact = Measured<double>;
using FlopRate = Measured<FlopsPerSecond>;
using Bandwidth = Measured<BytesPerSecond>;
using MeasuredTime = Measured<Seconds>;

/// `number` as a quantity, whose unit is that of the number.
template <class Quantity>
[[nodiscard]] Measured<Quantity> in_unit(Fact number) {
  return {.value = Quantity{number.value},
          .deviation = Quantity{number.deviation},
          .count = number.count,
          .source = number.source,
          .note = std::move(number.note)};
}

/// `quantity` as a number of its unit (FLOP/s, bytes/s, seconds), as files, texts and hashes hold.
template <class Quantity>
[[nodiscard]] Fact number_of(const Measured<Quantity>& quantity) {
  return {.value = quantity.value.count(),
          .deviation = quantity.deviation.count(),
          .count = quantity.count,
          .source = quantity.source,
          .note = quantity.note};
}
[[nodiscard]] inline Fact number_of(const Fact& number) { return number; }

/// Multiplies a quantity, with its deviation, by `factor`.
template <class Quantity>
void scale_by(Measured<Quantity>& quantity, double factor) {
  quantity.value = quantity.value * factor;
  quantity.deviation = quantity.deviation * factor;
}

}  // namespace sluice::planner
