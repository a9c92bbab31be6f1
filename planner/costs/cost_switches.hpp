// The terms of the model of time that can be turned off, to see what each is worth.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace sluice::planner {

/// Terms of the model (docs/explanation/model-of-time.md).
struct CostSwitches {
  bool contention = true;    ///< Tasks share host DRAM and cores.
  bool dispatch = true;      ///< The launcher's time.
  bool latency = true;       ///< Fixed time before a copy flows, and kernel overheads.
  bool interference = true;  ///< A lane slows another although no link is full.
  bool boost = true;         ///< A device that rested computes faster.
  friend bool operator==(const CostSwitches&, const CostSwitches&) = default;
};

/// Every term with its name.
inline constexpr std::array<std::pair<const char*, bool CostSwitches::*>, 5> kCostTerms = {
    {{"contention", &CostSwitches::contention},
     {"dispatch", &CostSwitches::dispatch},
     {"latency", &CostSwitches::latency},
     {"interference", &CostSwitches::interference},
     {"boost", &CostSwitches::boost}}};

/// Turns the term `name` on or off, as `value` says. Throws BadRequest naming the term, with the
/// nearest known one.
void switch_term(CostSwitches& switches, const std::string& name, const std::string& value);

/// For what runs a prediction or advises by it. Throws BadRequest naming a term that is off.
void require_all_terms(const CostSwitches& switches);

/// Names of the terms that are off, in kCostTerms' order.
[[nodiscard]] std::vector<std::string> terms_off(const CostSwitches& switches);

}  // namespace sluice::planner
