// The catalogue of machines as `sluice machines` lists it, and what this version does on each GPU
// architecture.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// State of an architecture that this version's engine does not run on.
inline constexpr const char* kDoesNotRun = "the engine does not run here";

/// How far this version supports one GPU architecture; `examples` names GPUs of it.
struct Support {
  const char* architecture;
  const char* examples;
  /// How far this version supports GPUs of the architecture: "tested" on one, only "compiled" for
  /// it, "predicted only", or kDoesNotRun.
  const char* state;
};
[[nodiscard]] std::span<const Support> support();
/// Whether the engine runs on GPUs of the architecture, as far as support() says.
[[nodiscard]] bool runs_the_engine(const std::string& architecture);

/// Number of the profile's facts by source: "measured", "datasheet" and "estimated".
[[nodiscard]] std::map<std::string, int> sources(const MachineProfile& profile);

/// Profiles of all machines: first this computer's, named "here", then those of the catalogue.
[[nodiscard]] std::vector<MachineProfile> listed_machines();

/// The list of machines as JSON text (docs/schemas/machine-list.schema.json), pretty-printed, with
/// one newline at the end.
[[nodiscard]] std::string machine_list_json();

}  // namespace sluice::planner
