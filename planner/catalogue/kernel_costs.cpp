#include "planner/catalogue/kernel_costs.hpp"

#include <algorithm>
#include <filesystem>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/machine_kernels.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/costs/cost_parts.hpp"
#include "planner/costs/profile_rates.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/kernels/attention.hpp"
#include "planner/kernels/file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

Flops kernel_flops(KernelKind kind, const KernelShape& shape) {
  const auto [a, b, c, d, e, f] = shape.size;
  if (kind == KernelKind::gemm) return Flops(2 * a * b * c);
  return Flops(4 * a * c * e * attention_pairs(b, f));
}

double kernel_bytes(KernelKind kind, const KernelShape& shape) {
  const auto [a, b, c, d, e, f] = shape.size;
  if (kind == KernelKind::gemm) return 2 * (a * c + c * b + a * b);
  return 4 * a * b * e * (c + d);
}

KernelCosts KernelCosts::of_machine(const std::string& machine) {
  KernelCosts costs;
  costs.machine_ = machine;
  if (std::filesystem::is_regular_file(machine)) {
    const std::string text = read_whole_file(machine);
    if (is_kernels_json(text)) {
      costs.model_ = kernels_from_json(text, machine);
      return costs;
    }
  }
  costs.profile_ = find_machine(machine);
  costs.model_ = catalogue_kernels(machine);
  if (costs.profile_->kernels) costs.model_ = *costs.profile_->kernels;
  return costs;
}

KernelCost KernelCosts::cost(KernelKind kind, const KernelShape& shape) const {
  if (model_) {
    if (const auto time = model_->time(kind, shape)) return {*time, Evidence::fitted};
  }
  if (!profile_) {
    throw BadRequest(machine_ + ": has no " + to_string(kind) +
                     " kernels: sluice fit kernels TABLE" + " --kind " + to_string(kind) + " -o " +
                     machine_ + " adds them");
  }
  return roofline(kind, shape);
}

KernelCost KernelCosts::roofline(KernelKind kind, const KernelShape& shape) const {
  // Half the width of a 90 % interval, in standard deviations.
  constexpr double kHalfWidth = 1.645;
  const Flops flops = kernel_flops(kind, shape);
  const bool attention =
      kind == KernelKind::attention && profile_->attention_forward.value > FlopsPerSecond(0);
  const Fact rate =
      number_of(attention ? profile_->attention_forward : gemm_rate(*profile_, flops));
  const Fact memory = number_of(profile_->hbm_bandwidth);
  const double compute = rate.value > 0 ? flops.count() / rate.value : 0;
  const double move = memory.value > 0 ? kernel_bytes(kind, shape) / memory.value : 0;
  const Fact& bound = compute >= move ? rate : memory;
  const Seconds time = profile_->kernel_overhead.value + Seconds(std::max(compute, move));
  const double share = std::min(kHalfWidth * deviation_of(bound), 0.9);
  return {.time = {.time = time, .low = time * (1 - share), .high = time * (1 + share)},
          .evidence = evidence_of(bound)};
}

}  // namespace sluice::planner
