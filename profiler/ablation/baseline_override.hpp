// Overrides (key=value) of keys of an experiment's baseline.
#pragma once

#include <optional>
#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Why no baseline can set the key `path`, in one line; none where one can, as far as the name
/// tells.
[[nodiscard]] std::optional<std::string> why_no_baseline_has(const std::string& path);

/// Sets a key of the baseline. Throws BadRequest naming the key where it is unknown, and naming the
/// factor where levels set the key in every cell, so that the baseline's value would have no
/// effect.
void override_baseline(Experiment& experiment, const Setting& setting);

}  // namespace sluice::profiler
