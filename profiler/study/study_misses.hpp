// How far off a study's prediction of one run was, and by which of its costs.
#pragma once

#include "profiler/study/study_bursts.hpp"
#include "profiler/study/study_costs.hpp"

namespace sluice::profiler {

/// Says what `run` took, all its bursts together, beside what was `predicted`, and as many costs of
/// its last burst as settings.misses, those first that `costs` tells worst; appends its passes to
/// settings.passes. `done`: the words before its name.
void say_missed(const StudySettings& settings, const StudyCosts& costs, const char* done,
                const StudiedRun& run, Seconds predicted);

}  // namespace sluice::profiler
