#include "planner/bound.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/cost_key.hpp"

namespace sluice::planner {
namespace {

Seconds alone(const TaskCost& cost) {
  return cost.amount.count() > 0 ? cost.latency + cost.amount / cost.cap : cost.latency;
}

Seconds seconds(double count) { return Seconds(count); }

/// The fastest bytes/s of copies of up to `largest` bytes. A line through samples is fastest at one
/// of its ends, so the smallest chunk and the largest copy stand for all sizes.
double fastest_copy(const ProfileCostModel& costs, CopyDirection direction,
                    const std::vector<std::int64_t>& sizes) {
  double best = 0;
  for (const std::int64_t size : sizes) {
    const Bytes bytes(size);
    best = std::max(best, costs.copy(copy_key(direction, bytes), direction, bytes).cap.count());
  }
  return best;
}

struct UpdateLimits {
  double rate = 0;  ///< Parameters/s, the most of any thread count.
  double cores = std::numeric_limits<double>::infinity();  ///< Core-seconds a parameter, the least.
};

UpdateLimits fastest_update(const Job& job, const ProfileCostModel& costs,
                            const std::vector<std::int64_t>& sizes) {
  UpdateLimits limits;
  const auto& rates = costs.profile().update;
  const std::int64_t most_profiled = rates.empty() ? 1 : rates.rbegin()->first;
  const auto most =
      std::max<std::int64_t>(most_profiled, static_cast<std::int64_t>(costs.profile().cores.value));
  for (std::int64_t threads = 1; threads <= most; ++threads) {
    for (const std::int64_t size : sizes) {
      Work work;
      work.parameters = size;
      work.threads = threads;
      const double rate = costs.cpu_update(cpu_update_key(job, threads, size), work).cap.count();
      limits.rate = std::max(limits.rate, rate);
      limits.cores = std::min(limits.cores, static_cast<double>(threads) / rate);
    }
  }
  return limits;
}

/// Parameters by where they can be.
struct Sizes {
  double embed = 0, blocks = 0, all = 0;
  std::vector<std::int64_t> units;  ///< Distinct.
};

Sizes sizes_of(const ModelShape& shape) {
  Sizes sizes;
  for (std::size_t unit = 0; unit < unit_count(shape); ++unit) {
    const bool block = unit_at(shape, unit).kind == UnitKind::block;
    if (block && unit > 1) continue;  // Blocks are equal.
    const std::int64_t size = unit_tensors(shape, unit).padded_size;
    const double count = block ? static_cast<double>(shape.layers) : 1;
    if (unit == 0) sizes.embed = static_cast<double>(size);
    if (block) sizes.blocks += count * static_cast<double>(size);
    sizes.all += count * static_cast<double>(size);
    sizes.units.push_back(size);
  }
  return sizes;
}

std::vector<std::int64_t> copy_sizes(const Sizes& sizes, std::int64_t element) {
  std::vector<std::int64_t> all{4096};
  for (const std::int64_t size : sizes.units) all.push_back(size * element);
  return all;
}

}  // namespace

PassTimes pass_times(const Job& job, const CostModel& costs) {
  const auto of = [&](Pass pass, std::size_t unit) {
    return alone(costs.compute(compute_key(job, pass, unit), work_of(job, pass, unit)));
  };
  const std::size_t head = unit_count(job.model) - 1;
  PassTimes times;
  times.embed_forward = of(Pass::embed_forward, 0);
  times.block_forward = of(Pass::block_forward, 1);
  times.loss = of(Pass::loss, head);
  times.block_backward = of(Pass::block_backward, 1);
  times.embed_backward = of(Pass::embed_backward, 0);
  times.recompute_input = of(Pass::block_recompute_input, 1);
  times.recompute_selective = of(Pass::block_recompute_selective, 1);
  times.once = of(Pass::norm, 0) + of(Pass::norm, head) +
               of(Pass::norm, 1) * static_cast<double>(job.model.layers);
  if (job.model.tied_head) times.once += of(Pass::combine, 0);
  return times;
}

Bound bound_of(const Job& job, const ProfileCostModel& costs, const ResolvedMachine& machine,
               Residency residency) {
  const MachineProfile& profile = machine.profile;
  const PassTimes times = pass_times(job, costs);
  const double micro = static_cast<double>(job.micro_batches());
  const double layers = static_cast<double>(job.model.layers);
  const Seconds forward = micro * (times.embed_forward + layers * times.block_forward);
  const Seconds tail =
      micro * (times.loss + layers * times.block_backward + times.embed_backward) + times.once;
  const Seconds compute = forward + tail;

  const Sizes sizes = sizes_of(job.model);
  const double hbm = static_cast<double>(machine.hbm.count());
  const double resident = residency == Residency::host ? 0 : hbm / 12;
  const double streamed = std::max(0.0, sizes.all - resident);
  const double streamed_blocks = std::max(0.0, sizes.blocks - resident);
  const auto weight = static_cast<double>(job.weight_element().count());
  const auto wire = static_cast<double>(job.gradient_wire_element().count());
  const double h2d_rate =
      fastest_copy(costs, CopyDirection::h2d, copy_sizes(sizes, job.weight_element().count()));
  const double d2h_rate = fastest_copy(costs, CopyDirection::d2h,
                                       copy_sizes(sizes, job.gradient_wire_element().count()));
  const UpdateLimits update = fastest_update(job, costs, sizes.units);

  const double h2d_bytes = weight * streamed + std::max(0.0, weight * streamed_blocks - hbm);
  const double d2h_bytes = wire * streamed;
  const Seconds updates = seconds(streamed / update.rate);
  Bound bound;
  const auto at = [&bound](BoundBy by) -> Seconds& {
    return bound.each[static_cast<std::size_t>(by)];
  };
  at(BoundBy::compute) = compute;
  at(BoundBy::h2d) = seconds(h2d_bytes / h2d_rate);
  at(BoundBy::d2h) = seconds(d2h_bytes / d2h_rate);
  at(BoundBy::cpu) = updates;
  const bool contention = costs.switches().contention;
  if (contention && profile.dram.value > 0) {
    at(BoundBy::dram) =
        seconds((h2d_bytes * profile.h2d_dram.value + d2h_bytes * profile.d2h_dram.value +
                 streamed * profile.update_dram.value) /
                profile.dram.value);
  }
  if (contention && profile.cores.value > 0) {
    const double busy = streamed * update.cores +
                        (h2d_bytes + d2h_bytes) * profile.copy_cores.value +
                        (profile.device == DeviceKind::host ? compute.count() : 0);
    at(BoundBy::cpu) = std::max(at(BoundBy::cpu), seconds(busy / profile.cores.value));
  }
  if (job.optimizer.clip) {
    const bool embed_may_stay = resident >= sizes.embed;
    const Seconds embedding =
        embed_may_stay ? Seconds(0)
                       : seconds(sizes.embed / update.rate + weight * sizes.embed / h2d_rate);
    at(BoundBy::chain) = std::max(
        {embedding + compute, updates + tail, seconds(weight * streamed / h2d_rate) + tail});
  }
  for (std::size_t i = 0; i < kBounds; ++i) {
    const bool chain = static_cast<BoundBy>(i) == BoundBy::chain;
    if (bound.each[i] > bound.time * (chain ? 1.02 : 1.0)) bound.by = static_cast<BoundBy>(i);
    bound.time = std::max(bound.time, bound.each[i]);
  }
  return bound;
}

const char* to_string(BoundBy by) {
  switch (by) {
    case BoundBy::compute:
      return "compute";
    case BoundBy::h2d:
      return "h2d";
    case BoundBy::d2h:
      return "d2h";
    case BoundBy::dram:
      return "dram";
    case BoundBy::cpu:
      return "cpu";
    case BoundBy::disk:
      return "disk";
    case BoundBy::chain:
      return "chain";
  }
  return "";
}

}  // namespace sluice::planner
