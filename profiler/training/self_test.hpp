// Self-test of an installation: a tiny run of training, beside what it is known to come to.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "planner/machines/machine.hpp"
#include "profiler/doctor/finding.hpp"

namespace sluice::profiler {

/// Trains a tiny model for a few steps on the backend of `device` and says, a finding each: whether
/// its losses are the known ones, whether the same run in little device memory ends with the same
/// bits, and whether a run that was stopped and resumed does. Takes seconds; everything is written
/// to a temporary folder. Whatever goes wrong is a finding too. Without a folder for temporary
/// files it throws EnvironmentError.
[[nodiscard]] Findings self_test(planner::DeviceKind device);

/// What is wrong with the losses (nats a token) of the self-test's steps, in a line; none if they
/// are the known ones but for rounding.
[[nodiscard]] std::optional<std::string> wrong_losses(std::span<const double> losses);

}  // namespace sluice::profiler
