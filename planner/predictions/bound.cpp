#include "planner/predictions/bound.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/fastest_rates.hpp"
#include "planner/costs/lane_boost.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

Seconds alone(const TaskCost& cost) {
  return cost.amount.count() > 0 ? cost.latency + cost.amount / cost.cap : cost.latency;
}

Seconds seconds(double count) { return Seconds(count); }

/// Times of one pass through blocks of several kinds.
struct KindTimes {
  Seconds mean{0}, least{0}, most{0};
};

template <class TimeOf>
KindTimes times_of_kinds(const std::vector<BlockClass>& blocks, Pass pass, const TimeOf& time_of) {
  KindTimes times;
  std::int64_t layers = 0;
  for (const BlockClass& each : blocks) layers += each.layers;
  for (const BlockClass& each : blocks) {
    const Seconds time = time_of(pass, each.unit);
    const bool first = &each == &blocks.front();
    // A single kind's mean is its time to the last bit.
    times.mean += blocks.size() == 1
                      ? time
                      : time * (static_cast<double>(each.layers) / static_cast<double>(layers));
    times.least = first ? time : std::min(times.least, time);
    times.most = first ? time : std::max(times.most, time);
  }
  return times;
}

/// Numbers of parameters: of the embedding, of all blocks, and of all units.
struct ParameterCounts {
  double embed = 0, blocks = 0, all = 0;
};

ParameterCounts parameter_counts(const ModelShape& shape) {
  ParameterCounts sizes;
  for (std::size_t unit = 0; unit < unit_count(shape); ++unit) {
    const bool block = unit_at(shape, unit).kind == UnitKind::block;
    if (class_representative(shape, unit) != unit) continue;
    const std::int64_t size = unit_padded_size(shape, unit);
    const double count = block ? static_cast<double>(layers_of_kind(
                                     shape, kind_index(shape, static_cast<std::int64_t>(unit) - 1)))
                               : 1;
    if (unit == 0) sizes.embed = static_cast<double>(size);
    if (block) sizes.blocks += count * static_cast<double>(size);
    sizes.all += count * static_cast<double>(size);
  }
  return sizes;
}

/// Least time that every plan of a job takes of a machine, by how much state is staged.
class MachineLimits {
 public:
  MachineLimits(const Job& job, const ProfileCostModel& costs, const ResolvedMachine& machine,
                Residency residency)
      : job_(job), costs_(costs), sizes_(parameter_counts(job.model)) {
    const PassTimes times = pass_times(job, costs);
    const double micro = static_cast<double>(job.micro_batches());
    const double layers = static_cast<double>(job.model.layers);
    tail_ = micro * (times.loss + layers * times.block_backward + times.embed_backward) +
            times.once + times.group_sums;
    compute_ = micro * (times.embed_forward + layers * times.block_forward) + tail_;
    updates_ = layers * times.block_update;
    // Second moments of embedding and head alone do not count.
    if (muon_updates(job, 1)) state_ = kState - kGradient;
    hbm_ = static_cast<double>(machine.hbm.count());
    resident_ = residency == Residency::host ? 0 : hbm_ / state_;
    streamed_ = std::max(0.0, sizes_.all - resident_);
    streamed_blocks_ = std::max(0.0, sizes_.blocks - resident_);
    weight_ = static_cast<double>(job.weight_element().count());
    wire_ = static_cast<double>(job.gradient_wire_element().count());
    const FastestRates fastest = fastest_rates(job, costs);
    h2d_rate_ = fastest.h2d;
    d2h_rate_ = fastest.d2h;
    update_ = {fastest.update, fastest.update_cores};
    const double in_memory =
        (residency == Residency::host ? 0 : hbm_) + static_cast<double>(machine.host.count());
    const double on_disk = std::max(0.0, state_ * sizes_.all - in_memory);
    if (fastest.disk_read > 0 && fastest.disk_write > 0) {
      disk_ = seconds(on_disk / std::min(fastest.disk_read, fastest.disk_write));
      const double both = costs.profile().disk_both.value.count();
      if (both > 0) disk_ = std::max(disk_, seconds(2 * on_disk / both));
    }
  }

  /// Largest number of parameters whose state may be staged.
  [[nodiscard]] double most_staged() const { return streamed_; }

  /// The bound of plans that stage the state of `staged` parameters.
  [[nodiscard]] Bound with(double staged) const {
    const MachineProfile& profile = costs_.profile();
    const double on_cpu = streamed_ - staged;
    const double load = state_ - weight_;
    const double h2d_bytes = weight_ * on_cpu + load * staged +
                             std::max(0.0, weight_ * (streamed_blocks_ - staged) - hbm_);
    const double d2h_bytes = wire_ * on_cpu + state_ * staged;
    Bound bound;
    const auto at = [&bound](BoundBy by) -> Seconds& {
      return bound.each[static_cast<std::size_t>(by)];
    };
    at(BoundBy::compute) = compute_ + updates_;
    at(BoundBy::h2d) = seconds(h2d_bytes / h2d_rate_);
    at(BoundBy::d2h) = seconds(d2h_bytes / d2h_rate_);
    at(BoundBy::disk) = disk_;
    at(BoundBy::cpu) = seconds(on_cpu / update_.rate);
    const bool contention = costs_.switches().contention;
    if (contention && profile.dram.value > BytesPerSecond(0)) {
      at(BoundBy::dram) =
          seconds((h2d_bytes * profile.h2d_dram.value + d2h_bytes * profile.d2h_dram.value +
                   on_cpu * profile.update_dram.value) /
                  profile.dram.value.count());
    }
    if (contention && profile.cores.value > 0) {
      const double busy = on_cpu * update_.cores +
                          (h2d_bytes + d2h_bytes) * profile.copy_cores.value +
                          (profile.device == DeviceKind::host ? compute_.count() : 0);
      at(BoundBy::cpu) = std::max(at(BoundBy::cpu), seconds(busy / profile.cores.value));
    }
    if (job_.optimizer.clip) at(BoundBy::chain) = chain(on_cpu, staged);
    for (std::size_t i = 0; i < kBounds; ++i) {
      const bool is_chain = static_cast<BoundBy>(i) == BoundBy::chain;
      if (bound.each[i] > bound.time * (is_chain ? 1.02 : 1.0)) bound.by = static_cast<BoundBy>(i);
      bound.time = std::max(bound.time, bound.each[i]);
    }
    return bound;
  }

 private:
  [[nodiscard]] Seconds chain(double on_cpu, double staged) const {
    const double load = state_ - weight_;
    // Parameters staged when the norm is known, with gradients that wait or came from the host.
    const double before = hbm_ / (load + std::min(kGradient, wire_));
    const bool embed_may_stay = resident_ >= sizes_.embed || before >= sizes_.embed;
    const Seconds embedding =
        embed_may_stay ? Seconds(0)
                       : seconds(sizes_.embed / update_.rate + weight_ * sizes_.embed / h2d_rate_);
    // The lane may have rested before a part of the step.
    const Seconds compute = rested(compute_, costs_.boost());
    const Seconds tail = rested(tail_, costs_.boost());
    const double late = weight_ * on_cpu + load * std::max(0.0, staged - before);
    return std::max({embedding + compute, seconds(on_cpu / update_.rate) + tail,
                     seconds(late / h2d_rate_) + tail});
  }

  static constexpr double kState = 12;    ///< Bytes of a parameter's master weight, m and v.
  static constexpr double kGradient = 4;  ///< Bytes of a parameter's waiting gradient.
  const Job& job_;
  const ProfileCostModel& costs_;
  ParameterCounts sizes_;
  Seconds tail_{0}, compute_{0}, disk_{0};
  Seconds updates_{0};  ///< Seconds of updates that the device makes in every plan.
  double state_ = kState;
  double hbm_ = 0, resident_ = 0, streamed_ = 0, streamed_blocks_ = 0;
  double weight_ = 0, wire_ = 0, h2d_rate_ = 0, d2h_rate_ = 0;
  struct {
    double rate = 0, cores = 0;
  } update_;
};

}  // namespace

PassTimes pass_times(const Job& job, const CostModel& costs, std::int64_t ranks) {
  const auto of = [&](Pass pass, std::size_t unit) {
    return alone(costs.compute(compute_key(job, pass, unit), work_of(job, pass, unit)));
  };
  const std::size_t head = unit_count(job.model) - 1;
  PassTimes times;
  times.embed_forward = of(Pass::embed_forward, 0);
  times.loss = of(Pass::loss, head);
  times.embed_backward = of(Pass::embed_backward, 0);
  const std::vector<BlockClass> blocks = block_classes(job.model);
  const auto over = [&](Pass pass) { return times_of_kinds(blocks, pass, of); };
  const KindTimes forward = over(Pass::block_forward), backward = over(Pass::block_backward);
  times.block_forward = forward.mean;
  times.least_block_forward = forward.least;
  times.most_block_forward = forward.most;
  times.block_backward = backward.mean;
  times.least_block_backward = backward.least;
  times.most_block_backward = backward.most;
  const KindTimes input = over(Pass::block_recompute_input);
  const KindTimes selective = over(Pass::block_recompute_selective);
  times.recompute_input = input.least;
  times.most_recompute_input = input.most;
  times.mean_recompute_input = input.mean;
  times.recompute_selective = selective.least;
  times.most_recompute_selective = selective.most;
  times.mean_recompute_selective = selective.mean;
  // What a rank does to its slice of a unit's gradient, once a step.
  const auto once = [&](Pass pass, std::size_t unit) {
    if (ranks == 1) return of(pass, unit);
    const std::int64_t slice = slice_parameters(unit_padded_size(job.model, unit), ranks);
    const Work work = slice_work(job, pass, ranks, slice);
    const TaskCost cost = costs.compute(slice_key(job, pass, ranks, slice), work);
    // Sums over ranks are made in pieces, so that the latency of one is not that of a slice's.
    return pass == Pass::sum_ranks ? cost.amount / cost.cap : alone(cost);
  };
  times.embed_norm = once(Pass::norm, 0);
  times.once = times.embed_norm + once(Pass::norm, head);
  for (const BlockClass& each : blocks) {
    times.once += once(Pass::norm, each.unit) * static_cast<double>(each.layers);
  }
  if (job.model.tied_head) times.once += once(Pass::combine, 0);
  if (ranks > 1) {
    times.once +=
        once(Pass::sum_ranks, 0) * (job.model.tied_head ? 2.0 : 1.0) + once(Pass::sum_ranks, head);
    for (const BlockClass& each : blocks) {
      times.once += once(Pass::sum_ranks, each.unit) * static_cast<double>(each.layers);
    }
  }
  if (muon_updates(job, 1)) times.block_update = over(Pass::block_update).mean;
  if (job.groups > 1) {
    const double embeds = job.model.tied_head ? 2 : 1;
    times.group_sums = of(Pass::sum_groups, 0) * embeds + of(Pass::sum_groups, head);
    for (const BlockClass& each : blocks) {
      times.group_sums += of(Pass::sum_groups, each.unit) * static_cast<double>(each.layers);
    }
    times.group_sums = times.group_sums * static_cast<double>(job.groups - 1);
  }
  return times;
}

Bound bound_of(const Job& job, const ProfileCostModel& costs, const ResolvedMachine& machine,
               Residency residency) {
  const MachineLimits limits(job, costs, machine, residency);
  // Every term is a line in what is staged, or the larger of two: their largest has one valley.
  double low = 0;
  double high = limits.most_staged();
  constexpr int kThirds = 100;
  for (int i = 0; i < kThirds; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (limits.with(a).time <= limits.with(b).time) {
      high = b;
    } else {
      low = a;
    }
  }
  const Bound valley = limits.with((low + high) / 2);
  const Bound none = limits.with(0);
  return none.time <= valley.time ? none : valley;
}

Bound bound_of_ranks(const Job& job, std::int64_t ranks, const CostModel& costs) {
  const Job part = part_of_rank(job, ranks);
  const PassTimes times = pass_times(part, costs, ranks);
  const Seconds passes =
      times.embed_forward + times.loss + times.embed_backward +
      static_cast<double>(job.model.layers) * (times.block_forward + times.block_backward);
  Bound bound;
  bound.by = BoundBy::compute;
  bound.time = static_cast<double>(part.micro_batches()) * passes + times.group_sums + times.once;
  bound.each[static_cast<std::size_t>(bound.by)] = bound.time;
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
