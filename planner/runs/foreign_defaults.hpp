// Defaults of other programs for what their files leave out.
#pragma once

#include <set>

#include "planner/runs/foreign_key.hpp"

namespace sluice::planner {

struct RunConfig;

/// Where a file's keys show whose it is (base_model, model_name_or_path), sets what the file leaves
/// out and training depends on as that program would: learning rate and schedule, weight decay,
/// passes, tokens of a sequence, sequences of a micro-batch. One note says what was set. `seen`
/// are the programs of the file's keys.
void fill_foreign_defaults(RunConfig& config, const std::set<Program>& seen,
                           const std::set<std::string>& keys);

}  // namespace sluice::planner
