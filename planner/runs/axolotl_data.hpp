// The data sets of an axolotl file: `datasets` and `pretraining_dataset`.
#pragma once

#include <string>

namespace sluice::planner {

struct RunConfig;

/// Reads a list of maps {path, type, field_messages, roles, ...} into the run's data sets, with
/// notes on what changes nothing here. Throws BadRequest naming the entry, the key and what to
/// write instead.
void set_axolotl_data(RunConfig& run, const std::string& value, const std::string& key);

/// Reads what axolotl streams for pre-training: a name, or maps {path, text_column, split}.
void set_axolotl_pretraining(RunConfig& run, const std::string& value, const std::string& key);

}  // namespace sluice::planner
