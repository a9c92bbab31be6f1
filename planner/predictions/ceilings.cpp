#include "planner/predictions/ceilings.hpp"

#include <algorithm>
#include <utility>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

/// The stated ceiling, or the dense peak; `seen` where that is higher.
FlopRate ceiling(const FlopRate& stated, const FlopRate& peak, const FlopRate& seen) {
  FlopRate most = stated.value > FlopsPerSecond(0) ? stated : peak;
  if (seen.value > most.value) most = seen;
  most.deviation = FlopsPerSecond(0);
  return most;
}

/// Calibration of copies and CPU updates alone, without our kernels.
Calibration without_kernels(const Calibration& calibration) {
  Calibration kept;
  for (const auto& [key, sample] : calibration) {
    if (is_copy(key.kind()) || key.kind() == CostKind::cpu_update) {
      kept.emplace(key, sample);
    }
  }
  return kept;
}

Seconds at_rate(Flops work, const FlopRate& rate) {
  return rate.value > FlopsPerSecond(0) ? work / rate.value : Seconds(0);
}

Seconds at_rate(Bytes bytes, const Bandwidth& rate) {
  return rate.value > BytesPerSecond(0) ? bytes / rate.value : Seconds(0);
}

/// Adds the times of `times` tasks of this work at the ceilings.
void add(Ceilings& sum, const Work& work, double times, const MachineProfile& ceilings) {
  for (const Gemm& g : work.gemms) {
    sum.products += times * at_rate(flops(g) * fp8_time_factor(g, fp8_speedup(ceilings, g).value),
                                    ceilings.peak_bf16);
  }
  for (const AttentionWork& a : work.attention) {
    sum.attention += times * at_rate(flops(a), a.backward ? ceilings.attention_backward
                                                          : ceilings.attention_forward);
  }
  sum.element_wise += times * at_rate(work.streamed, ceilings.hbm_bandwidth);
}

/// Raises the ceilings of `top` to the rates of large kernels of `model`, where these are higher.
void raise_to_kernels(MachineProfile& top, const KernelModel& model) {
  constexpr std::int64_t kLarge = 16384;
  const auto raise = [](FlopRate& ceiling, Flops work, const std::optional<KernelTime>& time) {
    if (!time) return;
    ceiling.value = std::max(ceiling.value, FlopsPerSecond(work.count() / time->time.count()));
  };
  const Gemm product{kLarge, kLarge, kLarge};
  raise(top.peak_bf16, flops(product), model.time(product));
  for (const bool backward : {false, true}) {
    const AttentionWork attention{.sequences = 1,
                                  .length = kLarge,
                                  .heads = 32,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .backward = backward};
    raise(backward ? top.attention_backward : top.attention_forward, flops(attention),
          model.time(attention, top.architecture));
  }
}

}  // namespace

MachineProfile at_ceilings(const MachineProfile& profile) {
  MachineProfile top = profile;
  FlopRate fastest;
  for (const ProductPoint& point : profile.gemm) {
    if (point.rate.value > fastest.value) fastest = point.rate;
  }
  // One rate for products of all sizes: an empty curve stands for the peak (gemm_rate).
  top.peak_bf16 = ceiling(profile.gemm_ceiling, profile.peak_bf16, fastest);
  top.gemm.clear();
  top.attention_forward =
      ceiling(profile.attention_forward_ceiling, top.peak_bf16, profile.attention_forward);
  top.attention_backward =
      ceiling(profile.attention_backward_ceiling, top.peak_bf16, profile.attention_backward);
  for (const AttentionPoint& point : profile.attention) {
    for (auto [top_rate, rate] : {std::pair{&top.attention_forward, &point.forward},
                                  std::pair{&top.attention_backward, &point.backward}}) {
      if (rate->value > top_rate->value) *top_rate = *rate;
    }
  }
  top.attention.clear();
  if (profile.kernels) raise_to_kernels(top, *profile.kernels);
  top.kernels.reset();
  top.kernel_overhead.value = Seconds(0);
  return top;
}

Ceilings ceilings_of(const Job& job, const ResolvedMachine& machine, const Calibration& calibration,
                     Residency residency) {
  ResolvedMachine top = machine;
  top.profile = at_ceilings(machine.profile);
  const ProfileCostModel costs(top.profile, without_kernels(calibration));
  Ceilings ceilings{.bound = bound_of(job, costs, top, residency)};
  const double micro = static_cast<double>(job.micro_batches());
  const std::size_t head = unit_count(job.model) - 1;
  const auto of = [&](Pass pass, std::size_t unit, double times) {
    add(ceilings, work_of(job, pass, unit), times, top.profile);
  };
  of(Pass::embed_forward, 0, micro);
  for (const BlockClass& each : block_classes(job.model)) {
    of(Pass::block_forward, each.unit, micro * static_cast<double>(each.layers));
  }
  of(Pass::loss, head, micro);
  for (const BlockClass& each : block_classes(job.model)) {
    of(Pass::block_backward, each.unit, micro * static_cast<double>(each.layers));
  }
  of(Pass::embed_backward, 0, micro);
  of(Pass::norm, 0, 1);
  of(Pass::norm, head, 1);
  for (const BlockClass& each : block_classes(job.model)) {
    of(Pass::norm, each.unit, static_cast<double>(each.layers));
  }
  if (job.model.tied_head) of(Pass::combine, 0, 1);
  if (muon_updates(job, 1)) {
    for (const BlockClass& each : block_classes(job.model)) {
      of(Pass::block_update, each.unit, static_cast<double>(each.layers));
    }
  }
  if (job.groups > 1) {
    const auto sums = static_cast<double>(job.groups - 1);
    of(Pass::sum_groups, 0, job.model.tied_head ? 2 * sums : sums);
    of(Pass::sum_groups, head, sums);
    for (const BlockClass& each : block_classes(job.model)) {
      of(Pass::sum_groups, each.unit, static_cast<double>(each.layers) * sums);
    }
  }
  return ceilings;
}

Seconds ceiling_time(const Work& work, const MachineProfile& profile) {
  Ceilings sum;
  add(sum, work, 1, at_ceilings(profile));
  if (work.parameters > 0) {
    const double rate = profile.device_update.value;
    return Seconds(rate > 0 ? static_cast<double>(work.parameters) / rate : 0);
  }
  return sum.products + sum.attention + sum.element_wise;
}

}  // namespace sluice::planner
