// Machines with several GPUs of one kind, named by their number.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::planner {

/// "2x-rtx-4090", "2x rtx-4090" or "2xrtx-4090" (2 to 8): a machine with so many GPUs; one GPU for
/// other names.
struct CountedMachine {
  std::int64_t gpus = 1;
  std::string machine;  ///< Name of the machine with one of them.
};
[[nodiscard]] CountedMachine counted_machine(const std::string& name);

/// The name that counted_machine() takes apart: "2x-rtx-4090"; `machine` itself for one GPU.
[[nodiscard]] std::string counted_name(const CountedMachine& machine);

}  // namespace sluice::planner
