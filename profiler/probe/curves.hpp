// Measured points made into the numbers of a profile.
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

/// Points of a curve in `size`: of the rates within each quarter of a decade the median, at the
/// geometric mean of their sizes; the deviation covers how much shapes of one size differ.
[[nodiscard]] std::vector<planner::CurvePoint> curve_of(std::vector<SizedRate> rates,
                                                        const std::string& note);

/// One number for what both ways of a link have: their mean, with the difference in its deviation.
[[nodiscard]] planner::Fact mean_of_ways(const planner::Fact& down, const planner::Fact& up);

/// One number for rates of several shapes: their median, with the deviation among them.
[[nodiscard]] planner::Fact rate_of_shapes(const std::vector<planner::Fact>& rates,
                                           const std::string& note);

/// Copies take latency + bytes / rate (Hockney 1994): the latency, from the seconds of copies of at
/// most 1 MiB, `rate` being that of long ones. None where there is no such copy.
[[nodiscard]] std::optional<planner::Fact> copy_latency(const std::vector<SizedRate>& copies,
                                                        double rate);

/// Events a second among `ends` (ascending instants, seconds) within [from, to], by the first and
/// the last of them there; 0 where fewer than two are.
[[nodiscard]] double rate_within(const std::vector<double>& ends, double from, double to);

/// The speed beside something else over the speed alone, at most 1. Both have samples above 0.
[[nodiscard]] planner::Fact speed_ratio(const Samples& alone, const Samples& beside,
                                        const std::string& note);

/// Whether the GPU called `gpu` ("NVIDIA GeForce RTX 4090") is the catalogue's `machine`
/// ("rtx-4090"): every word of the machine's name is in the GPU's.
[[nodiscard]] bool names_gpu(std::string_view machine, std::string_view gpu);

}  // namespace sluice::profiler
