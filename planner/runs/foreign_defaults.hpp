// Defaults of other programs for what their files leave out.
#pragma once

#include <set>

#include "planner/runs/foreign_key.hpp"

namespace sluice::planner {

struct RunConfig;

/// Where the keys of a file show which program it was written for (base_model, model_name_or_path),
/// gives what the file leaves out and training depends on that program's defaults: learning rate
/// and schedule, weight decay, passes over the data, tokens of a sequence, sequences of a
/// micro-batch. One note says what was set. `keys` are the file's keys, `seen` the programs that
/// have them.
void fill_foreign_defaults(RunConfig& config, const std::set<Program>& seen,
                           const std::set<std::string>& keys);

}  // namespace sluice::planner
