// Switches that turn terms of the model of time off, to measure what each contributes.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace sluice::planner {

/// Switches of the model of time (docs/explanation/model-of-time.md): true for each term that is
/// on.
struct CostSwitches {
  bool contention = true;  ///< Whether tasks that run at the same time share host DRAM and cores.
  bool dispatch = true;    ///< Whether launching kernels takes time of the launch lane.
  /// Whether copies have a fixed time before their bytes flow, and kernels an overhead.
  bool latency = true;
  bool interference = true;  ///< Whether a lane that runs slows another although no link is full.
  bool boost = true;         ///< Whether a device that rested computes faster.
  friend bool operator==(const CostSwitches&, const CostSwitches&) = default;
};

/// Every term of the model of time: its name, and its switch in CostSwitches.
inline constexpr std::array<std::pair<const char*, bool CostSwitches::*>, 5> kCostTerms = {
    {{"contention", &CostSwitches::contention},
     {"dispatch", &CostSwitches::dispatch},
     {"latency", &CostSwitches::latency},
     {"interference", &CostSwitches::interference},
     {"boost", &CostSwitches::boost}}};

/// Turns the term `name` on or off: `value` is "on" or "off". Throws BadRequest naming the nearest
/// known term.
void switch_term(CostSwitches& switches, const std::string& name, const std::string& value);

/// Throws BadRequest naming a term that is off. Call it before a prediction is executed or advice
/// is given by it.
void require_all_terms(const CostSwitches& switches);

/// Names of the terms that are off, in kCostTerms' order.
[[nodiscard]] std::vector<std::string> terms_off(const CostSwitches& switches);

}  // namespace sluice::planner
