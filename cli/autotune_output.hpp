// What `sluice autotune` says: lines and tables for the terminal, parts of its JSON.
#pragma once

#include <string>

#include "profiler/autotune.hpp"
#include "profiler/sweep.hpp"
#include "profiler/verification.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// A prediction holds within this share of the measurement.
inline constexpr double kTuneTolerance = 0.05;

[[nodiscard]] std::string round_line(const profiler::TuneRound& round);
[[nodiscard]] std::string sweep_head(const profiler::SweepCurve& curve);
[[nodiscard]] std::string sweep_line(const profiler::SweepPoint& point);
[[nodiscard]] std::string sweep_end(const profiler::SweepCurve& curve);
[[nodiscard]] std::string verification_table(const profiler::Verification& verification);

[[nodiscard]] sim::Json to_json(const profiler::TuneRound& round);
[[nodiscard]] sim::Json to_json(const profiler::Verification& verification);
[[nodiscard]] sim::Json to_json(const profiler::SweepCurve& curve);

}  // namespace sluice::cli
