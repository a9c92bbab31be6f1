#include "planner/data_dependencies.hpp"

namespace sluice::planner {

void DataDependencies::add(sim::TaskId task, std::span<const Access> accesses,
                           std::vector<sim::TaskId>& before) {
  for (const Access& access : accesses) {
    const auto tensor = static_cast<std::size_t>(access.tensor);
    if (by_tensor_.size() <= tensor) by_tensor_.resize(tensor + 1);
    auto& touches = by_tensor_[tensor];
    const std::int64_t begin = access.offset.count();
    const std::int64_t end = begin + access.bytes.count();
    const bool writes = access.mode != Mode::read;
    std::erase_if(touches, [&](const Touch& touch) {
      const bool overlaps = touch.begin < end && begin < touch.end;
      if (!overlaps) return false;
      if ((writes || touch.writes) && touch.task != task) before.push_back(touch.task);
      // What this write covers is ordered behind it for everyone who comes later.
      return writes && begin <= touch.begin && touch.end <= end && touch.task != task;
    });
    touches.push_back({begin, end, task, writes});
  }
}

}  // namespace sluice::planner
