// The catalogue of machines as `sluice machines` lists it, and what this version does on each
// architecture.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// How far this version supports an architecture.
struct Support {
  const char* architecture;
  const char* examples;
  const char* state;  ///< "tested", "compiled" or "predicted only".
};
[[nodiscard]] std::span<const Support> support();

/// Number of the profile's facts by source: measured, datasheet, estimated.
[[nodiscard]] std::map<std::string, int> sources(const MachineProfile& profile);

/// The profile of this computer, named "here", then those of the catalogue.
[[nodiscard]] std::vector<MachineProfile> listed_machines();

/// The list as JSON (docs/schemas/machine-list.schema.json); pretty-printed, one newline at the
/// end.
[[nodiscard]] std::string machine_list_json();

}  // namespace sluice::planner
