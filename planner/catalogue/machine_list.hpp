// The catalogue of machines as `sluice machines` lists it, and what this version does on each
// architecture.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// What this version does on an architecture.
struct Support {
  const char* architecture;
  const char* examples;
  const char* state;  ///< "tested", "compiled", "predicted only".
};
[[nodiscard]] std::span<const Support> support();

/// Counts of a profile's numbers by source: measured, datasheet, estimated.
[[nodiscard]] std::map<std::string, int> sources(const MachineProfile& profile);

/// This computer, named "here", then the catalogue.
[[nodiscard]] std::vector<MachineProfile> listed_machines();

/// docs/schemas/machine-list.schema.json; pretty-printed, one newline at the end.
[[nodiscard]] std::string machine_list_json();

}  // namespace sluice::planner
