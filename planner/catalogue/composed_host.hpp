// The host of a machine of parts: cores, memory, drives, and how its work slows each other.
#pragma once

#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// Sets memory, cores, updates and interference of `machine` by rules for a CPU and its modules.
void set_host(MachineProfile& machine, const CpuPart& cpu, const MemoryKit& kit);

/// Sets the drives of `machine`: their size, less what is in use, and rates in the board's slots.
void set_disk(MachineProfile& machine, const CpuPart& cpu, const SsdSet& ssd);

}  // namespace sluice::planner
