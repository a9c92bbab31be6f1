#include "planner/costs/fastest_rates.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/costs/cost_key.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::planner {
namespace {

/// The fastest bytes/s of copies of these sizes. A line through samples is fastest at one of its
/// ends, so the smallest chunk and the largest copy stand for all sizes.
double fastest_copy(const ProfileCostModel& costs, CopyDirection direction,
                    const std::vector<std::int64_t>& sizes) {
  double best = 0;
  for (const std::int64_t size : sizes) {
    const Bytes bytes(size);
    best = std::max(best, costs.copy(copy_key(direction, bytes), direction, bytes).cap.count());
  }
  return best;
}

void add_fastest_update(const Job& job, const ProfileCostModel& costs,
                        const std::vector<std::int64_t>& sizes, std::int64_t ranks,
                        FastestRates& fastest) {
  fastest.update_cores = std::numeric_limits<double>::infinity();
  const auto& rates = costs.profile().update;
  const std::int64_t most_profiled = rates.empty() ? 1 : rates.rbegin()->first;
  const auto most =
      std::max<std::int64_t>(most_profiled, static_cast<std::int64_t>(costs.profile().cores.value));
  for (std::int64_t each = 1; each <= std::max<std::int64_t>(1, most / ranks); ++each) {
    const std::int64_t threads = each * ranks;
    fastest.update_of.push_back(0);
    for (const std::int64_t size : sizes) {
      Work work;
      work.parameters = slice_parameters(size, ranks) * ranks;
      work.threads = threads;
      const CostKey key = cpu_update_key(job, threads, work.parameters);
      const double rate = costs.cpu_update(key, work).cap.count() / static_cast<double>(ranks);
      fastest.update = std::max(fastest.update, rate);
      fastest.update_of.back() = std::max(fastest.update_of.back(), rate);
      fastest.update_cores = std::min(fastest.update_cores, static_cast<double>(each) / rate);
    }
  }
}

/// Sizes of copies to look at: the smallest chunk, and every unit whole.
std::vector<std::int64_t> copied_sizes(const std::vector<std::int64_t>& units,
                                       std::int64_t element) {
  std::vector<std::int64_t> all{4096};
  for (const std::int64_t size : units) {
    all.push_back(size * element);
    all.push_back(size * 4);
  }
  return all;
}

/// Sizes of disk transfers to look at: the smallest, and every unit's state whole.
std::vector<std::int64_t> disk_sizes(const Job& job, const std::vector<std::int64_t>& units) {
  std::vector<std::int64_t> all{kDiskAlign.count()};
  for (const std::int64_t size : units) all.push_back(disk_state_bytes(job, size).count());
  return all;
}

}  // namespace

FastestRates fastest_rates(const Job& job, const ProfileCostModel& costs, std::int64_t ranks) {
  std::vector<std::int64_t> units;  // One block stands for all of its kind.
  for (const std::size_t unit : representatives(job.model)) {
    units.push_back(unit_padded_size(job.model, unit));
  }
  std::vector<std::int64_t> copied = units;
  if (ranks > 1) {
    for (const std::int64_t size : units) copied.push_back(slice_parameters(size, ranks));
  }
  FastestRates fastest;
  fastest.h2d =
      fastest_copy(costs, CopyDirection::h2d, copied_sizes(copied, job.weight_element().count()));
  fastest.d2h = fastest_copy(costs, CopyDirection::d2h,
                             copied_sizes(copied, job.gradient_wire_element().count()));
  constexpr BytesPerSecond kNone(0);
  if (costs.profile().disk_read.value > kNone && costs.profile().disk_write.value > kNone) {
    const std::vector<std::int64_t> sizes = disk_sizes(job, units);
    fastest.disk_read = fastest_copy(costs, CopyDirection::disk_read, sizes);
    fastest.disk_write = fastest_copy(costs, CopyDirection::disk_write, sizes);
  }
  add_fastest_update(job, costs, units, ranks, fastest);
  return fastest;
}

}  // namespace sluice::planner
