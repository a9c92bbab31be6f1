// Turns measured points into the facts of a profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

/// The rate at which something of some size ran.
struct SizedRate {
  double size;
  planner::Fact rate;
};

/// Points of a curve in `size`: the median of the rates within each quarter of a decade, at the
/// geometric mean of their sizes; the deviation includes the difference between shapes of one size.
[[nodiscard]] std::vector<planner::CurvePoint> curve_of(std::vector<SizedRate> rates,
                                                        const std::string& note);

/// One fact for both directions of a link: their mean, with the difference in its deviation.
[[nodiscard]] planner::Fact mean_of_directions(const planner::Fact& down, const planner::Fact& up);

/// One fact for rates of several shapes: their median, with the deviation among them.
[[nodiscard]] planner::Fact rate_of_shapes(const std::vector<planner::Fact>& rates,
                                           const std::string& note);

/// Latency of copies, which take latency + bytes / rate (Hockney 1994), from the seconds of copies
/// of at most 1 MiB; `rate` is that of long copies. None where there is no such copy.
[[nodiscard]] std::optional<planner::Fact> copy_latency(const std::vector<SizedRate>& copies,
                                                        double rate);

/// Events per second among `ends` (ascending instants in seconds) within [from, to], between the
/// first and the last of them there; 0 for fewer than two.
[[nodiscard]] double rate_within(const std::vector<double>& ends, double from, double to);

/// Speed beside something else over speed alone, at most 1. Both have samples above 0.
[[nodiscard]] planner::Fact speed_ratio(const Samples& alone, const Samples& beside,
                                        const std::string& note);

/// Whether the GPU called `gpu` ("NVIDIA GeForce RTX 4090") is the catalogue's `machine`
/// ("rtx-4090"): every word of the machine's name is in the GPU's.
[[nodiscard]] bool names_gpu(std::string_view machine, std::string_view gpu);

}  // namespace sluice::profiler
