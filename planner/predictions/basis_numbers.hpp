// The numbers that one cost on the critical path is made from: calibrated samples, or facts of the
// profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/predictions/interval.hpp"

namespace sluice::planner {

/// Where a number of the basis comes from.
enum class Grounds : std::uint8_t {
  measured,   ///< The task itself was measured.
  fitted,     ///< The number follows from other measurements of the machine.
  datasheet,  ///< The number is a datasheet's.
  estimated,  ///< The number follows from a rule.
};
const char* to_string(Grounds grounds);

/// The unit of a number of the basis.
enum class BasisUnit : std::uint8_t {
  flops_per_second,
  bytes_per_second,
  parameters_per_second,
  seconds,  ///< Seconds of one task, kernel or launch.
  ratio,    ///< Time taken over time alone.
  none,     ///< The line states a deviation alone.
};
/// Unit in JSON, such as "FLOP/s"; empty for BasisUnit::none.
const char* to_string(BasisUnit unit);

/// One number that a task's cost rests on; the members are those of BasisLine.
struct BasisNumber {
  std::string name, cause, origin;
  double value = 0;
  BasisUnit unit = BasisUnit::none;
  double time = 0;  ///< Seconds of one task alone that rest on the number.
  double relative_deviation = 0;
  Grounds grounds = Grounds::measured;
  std::string note;
};

/// The numbers of the cost of `task`, one of the tasks of `cost`; at least one.
[[nodiscard]] std::vector<BasisNumber> basis_numbers(const StepTask& task,
                                                     const ProfileCostModel& costs,
                                                     const CriticalCost& cost);

/// The number that says how lanes slow this one: its name, its grounds and its note.
[[nodiscard]] BasisNumber slowing_number(const ProfileCostModel& costs, LaneKind lane);

/// Note on run_deviation() of the lane.
[[nodiscard]] std::string run_deviation_note(const MachineProfile& profile, LaneKind lane);

}  // namespace sluice::planner
