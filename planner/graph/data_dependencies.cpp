#include "planner/graph/data_dependencies.hpp"

#include <algorithm>

namespace sluice::planner {

void DataDependencies::add(sim::TaskId task, LaneKind lane, std::span<const Access> accesses,
                           std::vector<sim::TaskId>& before) {
  for (const Access& access : accesses) {
    const auto tensor = static_cast<std::size_t>(access.tensor);
    if (by_tensor_.size() <= tensor) by_tensor_.resize(tensor + 1);
    const bool writes = access.mode != Mode::read;
    const std::int64_t ranges = ranges_of(access, ranks_, hosts_);
    for (std::int64_t rank = 0; rank < ranges; ++rank) {
      const std::int64_t begin = (access.offset + access.rank_stride * rank).count();
      touch(tensor, {begin, begin + access.bytes.count(), task}, lane, writes, before);
    }
  }
}

void DataDependencies::touch(std::size_t tensor, const Touch& added, LaneKind lane, bool writes,
                             std::vector<sim::TaskId>& before) {
  const auto [begin, end, task] = added;
  std::erase_if(by_tensor_[tensor], [&, begin = begin, end = end, task = task](Run& run) {
    if (run.end <= begin || end <= run.begin) return false;
    const bool waits = writes || run.writes;
    const bool covered = begin <= run.begin && run.end <= end;
    if (covered && run.touches.back().task != task) {
      if (waits) before.push_back(run.touches.back().task);
      // What this task covers is ordered behind it for everyone who comes later; reads of one
      // lane are ordered by the lane.
      return writes || (!run.writes && run.lane == lane);
    }
    // Touches of a run follow each other: those that overlap are next to each other.
    const auto first = std::partition_point(run.touches.begin(), run.touches.end(),
                                            [&](const Touch& touch) { return touch.end <= begin; });
    auto kept = first;
    auto touch = first;
    for (; touch != run.touches.end() && touch->begin < end; ++touch) {
      if (touch->task != task && waits) before.push_back(touch->task);
      const bool covers = touch->task != task && begin <= touch->begin && touch->end <= end;
      const bool over = covers && (writes || (!run.writes && run.lane == lane));
      if (!over) *kept++ = *touch;
    }
    run.touches.erase(kept, touch);
    return run.touches.empty();
  });
  record(by_tensor_[tensor], added, lane, writes);
}

void DataDependencies::record(std::vector<Run>& runs, const Touch& touch, LaneKind lane,
                              bool writes) {
  if (!runs.empty()) {
    Run& last = runs.back();
    if (last.lane == lane && last.writes == writes && last.end == touch.begin) {
      last.end = touch.end;
      last.touches.push_back(touch);
      return;
    }
  }
  runs.push_back({touch.begin, touch.end, lane, writes, {touch}});
}

}  // namespace sluice::planner
