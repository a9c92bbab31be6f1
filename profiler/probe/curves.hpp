// Conversion of measured points into the facts of a profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

/// A measured rate in size units per second, and the size (bytes or FLOPs) at which it was reached.
struct SizedRate {
  double size;
  planner::Fact rate;
};

/// Points of the rate curve of matrix products, from FLOPs and FLOP/s of each: for each quarter of
/// a decade of sizes the median of the rates in it, at the geometric mean of their sizes.
/// Deviations include the difference between shapes of one size; `note` becomes each fact's note.
[[nodiscard]] std::vector<planner::ProductPoint> curve_of(std::vector<SizedRate> rates,
                                                          const std::string& note);

/// One fact for both directions of a link: the mean of `down` and `up`, whose deviation includes
/// their difference.
[[nodiscard]] planner::Fact mean_of_directions(const planner::Fact& down, const planner::Fact& up);
template <class Quantity>
[[nodiscard]] planner::Measured<Quantity> mean_of_directions(
    const planner::Measured<Quantity>& down, const planner::Measured<Quantity>& up) {
  return planner::in_unit<Quantity>(mean_of_directions(number_of(down), number_of(up)));
}

/// One fact for the rates of several shapes: their median, with the deviation among them.
[[nodiscard]] planner::Fact rate_of_shapes(const std::vector<planner::Fact>& rates,
                                           const std::string& note);

/// Latency of copies, which take latency + bytes / rate (Hockney 1994), from those of
/// `copies` with at most 1 MiB; `rate` is that of long copies in bytes/s. None where there is no
/// such copy.
[[nodiscard]] std::optional<planner::MeasuredTime> copy_latency(
    const std::vector<SizedRate>& copies, double rate);

/// Events per second among `ends` (ascending instants in seconds) within [from, to], from the first
/// of them there to the last; 0 for fewer than two.
[[nodiscard]] double rate_within(const std::vector<double>& ends, double from, double to);

/// Speed of a load that runs beside something else, over its speed alone; at most 1. Samples are
/// the load's rates, all above 0.
[[nodiscard]] planner::Fact speed_ratio(const Samples& alone, const Samples& beside,
                                        const std::string& note);

}  // namespace sluice::profiler
