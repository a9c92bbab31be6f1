// What `sluice train` is asked in words.
#pragma once

#include <vector>

#include "planner/requests/run_arguments.hpp"
#include "profiler/training/train_request.hpp"

namespace sluice::cli {

inline constexpr char kTrainUsage[] =
    "sluice train RUN [--resume | --dry-run | --rehearse] [--no-checkpoint] [--json] "
    "[--trace-out T.json] [run flags]";
[[nodiscard]] std::vector<planner::VerbFlag> train_flags();

/// How to go about the run, by its flags. Throws BadRequest where a run to go on with is not named.
[[nodiscard]] profiler::TrainOptions train_options(const planner::RunArguments& words);

}  // namespace sluice::cli
