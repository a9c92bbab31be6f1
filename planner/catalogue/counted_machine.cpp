#include "planner/catalogue/counted_machine.hpp"

#include <regex>

namespace sluice::planner {

CountedMachine counted_machine(const std::string& name) {
  static const std::regex form(R"(([2-8])x[- ]?\s*([A-Za-z].*))");
  std::smatch found;
  if (!std::regex_match(name, found, form)) return {.machine = name};
  return {.gpus = std::stoll(found[1]), .machine = found[2]};
}

std::string counted_name(const CountedMachine& machine) {
  if (machine.gpus == 1) return machine.machine;
  return std::to_string(machine.gpus) + "x-" + machine.machine;
}

}  // namespace sluice::planner
