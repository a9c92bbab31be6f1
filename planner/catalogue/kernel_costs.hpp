// The cost of one kernel on a machine, from the best evidence there is.
#pragma once

#include <optional>
#include <string>

#include "planner/costs/cost.hpp"
#include "planner/kernels/kernel_model.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

struct KernelCost {
  KernelTime time;
  Evidence evidence = Evidence::datasheet;
};

/// Costs of kernels on one machine, each from the best evidence there is: the machine's kernel
/// model where there is one ("fitted"), else the roofline of its profile, kernel_overhead +
/// max(flops / rate, bytes / hbm_bandwidth) ("fitted" where the profile measured the rate, else
/// "datasheet").
class KernelCosts {
 public:
  /// Kernel costs of `machine`: a catalogue name, a profile file, `here`, or a file that `sluice
  /// fit` wrote. Throws BadRequest.
  [[nodiscard]] static KernelCosts of_machine(const std::string& machine);

  /// Cost of one kernel. Throws BadRequest where the machine is a file of `sluice fit` without this
  /// kind of kernel.
  [[nodiscard]] KernelCost cost(KernelKind kind, const KernelShape& shape) const;

 private:
  [[nodiscard]] KernelCost roofline(KernelKind kind, const KernelShape& shape) const;

  std::string machine_;
  std::optional<KernelModel> model_;
  std::optional<MachineProfile> profile_;
};

/// FLOPs that the arithmetic of a matrix product, or of attention's forward pass, needs, without
/// recomputation or masked work.
[[nodiscard]] Flops kernel_flops(KernelKind kind, const KernelShape& shape);
[[nodiscard]] double kernel_bytes(KernelKind kind, const KernelShape& shape);

}  // namespace sluice::planner
