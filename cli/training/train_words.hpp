// Command line of `sluice train`.
#pragma once

#include <vector>

#include "planner/requests/run_arguments.hpp"
#include "profiler/training/train_request.hpp"

namespace sluice::cli {

inline constexpr char kTrainUsage[] =
    "sluice train RUN [--resume | --dry-run | --rehearse] [--no-checkpoint] [--json] "
    "[--trace-out T.json] [run flags]";
[[nodiscard]] std::vector<planner::VerbFlag> train_flags();

/// Reads the flags of `sluice train` that state how to execute the run. Throws BadRequest if the
/// run to continue is not named.
[[nodiscard]] profiler::TrainOptions train_options(const planner::RunArguments& words);

}  // namespace sluice::cli
