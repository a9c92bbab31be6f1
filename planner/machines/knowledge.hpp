// What is known of the machine that a prediction is for.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::planner {

/// How deeply a probe looked at the machine whose profile it wrote.
enum class ProbeDepth : std::uint8_t {
  unstated,  ///< The profile does not say; older probes did not.
  quick,
  full,
};
/// Text in profiles: "quick" or "full"; empty for ProbeDepth::unstated.
const char* to_string(ProbeDepth depth);

/// Kind of knowledge that a prediction rests on; ledgers state it beside each prediction.
enum class Knowledge : std::uint8_t {
  catalogue,  ///< Datasheets, rules and the catalogue's own measurements of like machines.
  catalogue_host_stated,  ///< A catalogue machine whose cores, memory or host parts the user
                          ///< states.
  probe,                  ///< A probe of the machine, which does not say how deep it was.
  quick_probe,
  full_probe,
  taught,  ///< Runs on the machine, whose measured tasks calibrate the model.
};
/// Name in ledgers, such as "catalogue, host stated".
const char* to_string(Knowledge knowledge);

}  // namespace sluice::planner
