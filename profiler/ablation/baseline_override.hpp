// key=value in place of what an experiment's file says of its baseline.
#pragma once

#include <optional>
#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Why a baseline cannot set `path`, one line; none where it can, as far as its name says.
[[nodiscard]] std::optional<std::string> why_no_baseline_has(const std::string& path);

/// Sets a key of the baseline. Throws BadRequest naming the key where it is unknown, and naming the
/// factor too where levels set it in every cell: the baseline's value would then be that of none.
void override_baseline(Experiment& experiment, const Setting& setting);

}  // namespace sluice::profiler
