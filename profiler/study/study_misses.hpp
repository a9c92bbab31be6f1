// Report of the error of a study's prediction of one run, and of the costs that cause it.
#pragma once

#include "profiler/study/study_bursts.hpp"
#include "profiler/study/study_costs.hpp"

namespace sluice::profiler {

/// Prints the step time of `run` over all its bursts beside the `predicted` one, and the
/// settings.misses costs of its last burst that `costs` predicts worst; appends its passes to the
/// file settings.passes. `done` is the text before the run's name.
void say_missed(const StudySettings& settings, const StudyCosts& costs, const char* done,
                const StudiedRun& run, Seconds predicted);

}  // namespace sluice::profiler
