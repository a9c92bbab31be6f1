#include "planner/costs/tabulated_kernels.hpp"

#include <cmath>

namespace sluice::planner {
namespace {

Evidence evidence_of(const KernelModel& model, KernelKind kind) {
  return model.family(kind)->rows > 0 ? Evidence::fitted : Evidence::datasheet;
}

bool has_kernels(const MachineProfile& profile) {
  return profile.device == DeviceKind::cuda && profile.kernels != nullptr;
}

}  // namespace

std::optional<TabulatedTime> tabulated_time(const MachineProfile& profile, const Gemm& gemm) {
  if (!has_kernels(profile) || gemm.dealt != Gemm::Dealt::nothing) return std::nullopt;
  const auto one = profile.kernels->time(gemm);
  if (!one) return std::nullopt;
  return TabulatedTime{
      .time = one->time * (kInStep * gemm.slowing * static_cast<double>(gemm.count)),
      .relative_deviation = std::hypot(one->relative_deviation(), kInStepDeviation),
      .evidence = evidence_of(*profile.kernels, KernelKind::gemm)};
}

std::optional<TabulatedTime> tabulated_time(const MachineProfile& profile,
                                            const AttentionWork& attention) {
  if (!has_kernels(profile)) return std::nullopt;
  const auto time = profile.kernels->time(attention, profile.architecture);
  if (!time) return std::nullopt;
  return TabulatedTime{
      .time = time->time,
      .relative_deviation = std::hypot(time->relative_deviation(), kInStepDeviation),
      .evidence = evidence_of(*profile.kernels, KernelKind::attention)};
}

}  // namespace sluice::planner
