// The data sets of an axolotl file: `datasets` and `pretraining_dataset`.
#pragma once

#include <string>

namespace sluice::planner {

struct RunConfig;

/// Reads the value of axolotl's `datasets`, a list of maps {path, type, field_messages, roles,
/// ...}, into the run's data sets; keys without effect in Sluice become notes. Throws BadRequest
/// naming the entry, the key and what to write instead.
void set_axolotl_data(RunConfig& run, const std::string& value, const std::string& key);

/// Reads the value of axolotl's `pretraining_dataset` into the run's data sets: a name, or maps
/// {path, text_column, split}. Throws BadRequest as set_axolotl_data() does.
void set_axolotl_pretraining(RunConfig& run, const std::string& value, const std::string& key);

}  // namespace sluice::planner
