#include "planner/layout/live_range.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::planner {

void LiveRange::touch(LaneKind lane, sim::TaskId task) {
  auto& ends = lanes[static_cast<std::size_t>(lane)];
  if (!ends) ends = Ends{task, task};
  ends->first = std::min(ends->first, task);
  ends->last = std::max(ends->last, task);
}

bool LiveRange::empty() const {
  return std::none_of(lanes.begin(), lanes.end(),
                      [](const auto& ends) { return ends.has_value(); });
}

sim::TaskId LiveRange::first() const {
  std::optional<sim::TaskId> first;
  for (const auto& ends : lanes) {
    if (ends && (!first || ends->first < *first)) first = ends->first;
  }
  return first.value();
}

sim::TaskId LiveRange::last() const {
  std::optional<sim::TaskId> last;
  for (const auto& ends : lanes) {
    if (ends && (!last || *last < ends->last)) last = ends->last;
  }
  return last.value();
}

bool precedes(const LiveRange& a, const LiveRange& b, const HappensBefore& happens_before) {
  for (const auto& before : a.lanes) {
    if (!before) continue;
    for (const auto& after : b.lanes) {
      if (after && !happens_before(before->last, after->first)) return false;
    }
  }
  return true;
}

std::vector<std::array<LiveRange, 3>> live_ranges(const StepGraph& graph) {
  std::vector<std::array<LiveRange, 3>> ranges(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const StepTask& task = graph.tasks[i];
    for (const Access& access : task.accesses) {
      ranges[static_cast<std::size_t>(access.tensor)][static_cast<std::size_t>(task.step - 1)]
          .touch(task.lane, sim::TaskId(static_cast<std::uint32_t>(i)));
    }
  }
  return ranges;
}

bool alternate(const std::array<LiveRange, 3>& first, const std::array<LiveRange, 3>& second,
               const HappensBefore& happens_before) {
  for (std::size_t step = 0; step < 3; ++step) {
    if (!precedes(first[step], second[step], happens_before)) return false;
    if (step < 2 && !precedes(second[step], first[step + 1], happens_before)) return false;
  }
  return true;
}

bool never_overlap(const std::array<LiveRange, 3>& a, const std::array<LiveRange, 3>& b,
                   const HappensBefore& happens_before) {
  return alternate(a, b, happens_before) || alternate(b, a, happens_before);
}

}  // namespace sluice::planner
