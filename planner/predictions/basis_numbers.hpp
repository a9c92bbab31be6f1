// The numbers that one cost on the critical path is made from: calibrated samples, or facts of the
// profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/predictions/interval.hpp"

namespace sluice::planner {

/// Where a number on which a prediction rests comes from.
enum class Grounds : std::uint8_t {
  measured,   ///< The task itself was measured on the machine.
  fitted,     ///< The number follows from measurements of other tasks on the machine.
  datasheet,  ///< The number stands in a datasheet.
  estimated,  ///< The number follows from a rule of thumb.
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

/// One number that a task's cost rests on. Members with a name of BasisLine mean the same there,
/// but `time` is of one task.
struct BasisNumber {
  std::string name, cause, origin;
  double value = 0;
  BasisUnit unit = BasisUnit::none;
  double time = 0;  ///< Seconds of one task alone that rest on the number.
  double relative_deviation = 0;
  Grounds grounds = Grounds::measured;
  std::string note;
};

/// The numbers that the cost of `task` is made from; at least one. `cost` is the entry of the
/// critical path that counts `task`.
[[nodiscard]] std::vector<BasisNumber> basis_numbers(const StepTask& task,
                                                     const ProfileCostModel& costs,
                                                     const CriticalCost& cost);

/// What says how much other lanes slow `lane` (or rest speeds it up): only name, grounds and note
/// are set.
[[nodiscard]] BasisNumber slowing_number(const ProfileCostModel& costs, LaneKind lane);

/// Text that says where run_deviation(profile, lane, learnt) comes from.
[[nodiscard]] std::string run_deviation_note(const MachineProfile& profile, LaneKind lane,
                                             bool learnt);

}  // namespace sluice::planner
