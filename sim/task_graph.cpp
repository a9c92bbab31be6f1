#include "sim/task_graph.hpp"

#include <algorithm>

namespace sluice::sim {
namespace {

template <class Id, class Named>
std::optional<Id> find_by_name(const std::vector<Named>& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [name](const Named& item) { return item.name == name; });
  if (found == items.end()) return std::nullopt;
  return Id(static_cast<std::uint32_t>(found - items.begin()));
}

template <class Id, class Item>
Id append(std::vector<Item>& items, Item item) {
  items.push_back(std::move(item));
  return Id(static_cast<std::uint32_t>(items.size() - 1));
}

}  // namespace

LaneId TaskGraph::add_lane(std::string name) {
  return append<LaneId>(lanes_, Lane{std::move(name)});
}
LinkId TaskGraph::add_link(std::string name, Rate capacity) {
  return append<LinkId>(links_, Link{std::move(name), capacity});
}
PoolId TaskGraph::add_pool(std::string name, Amount capacity) {
  return append<PoolId>(pools_, Pool{std::move(name), capacity});
}
void TaskGraph::add_interference(Interference interference) {
  interference_.push_back(interference);
}
void TaskGraph::add_boost(Boost boost) { boosts_.push_back(boost); }
const Boost* TaskGraph::boost_of(LaneId lane) const {
  const auto found = std::ranges::find(boosts_, lane, &Boost::lane);
  return found == boosts_.end() ? nullptr : &*found;
}
TaskId TaskGraph::add_task(Task task) { return append<TaskId>(tasks_, std::move(task)); }

std::optional<LaneId> TaskGraph::find_lane(std::string_view name) const {
  return find_by_name<LaneId>(lanes_, name);
}
std::optional<LinkId> TaskGraph::find_link(std::string_view name) const {
  return find_by_name<LinkId>(links_, name);
}
std::optional<PoolId> TaskGraph::find_pool(std::string_view name) const {
  return find_by_name<PoolId>(pools_, name);
}

}  // namespace sluice::sim
