// The step graph as the simulator sees it: lanes, links, pools and the tasks that use them.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/units.hpp"

namespace sluice::sim {

enum class LaneId : std::uint32_t {};
enum class LinkId : std::uint32_t {};
enum class PoolId : std::uint32_t {};
enum class TaskId : std::uint32_t {};

template <class Id>
constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

/// A list that is kept without an allocation of its own where it has up to `count` elements: a
/// graph has many tasks with few of each.
template <class T, std::size_t count>
using ShortList = boost::container::small_vector<T, count>;

/// A serial executor: runs its tasks one at a time, in the order they were added.
struct Lane {
  std::string name;
};
/// A capacity shared by the flows that use it at the moment.
struct Link {
  std::string name;
  Rate capacity;
};
/// A capacity (bytes or slots) that tasks acquire at their start and release at their end.
struct Pool {
  std::string name;
  Amount capacity;
};
/// Slowdown of one lane by another: while a task of lane `from` runs past its latency, tasks of
/// lane `on` run at `factor` times their speed.
struct Interference {
  LaneId on;
  LaneId from;
  double factor;
};

/// Boost of a lane, whose tasks run faster after it rested. sim/boost.hpp has the equation and what
/// the numbers mean.
struct Boost {
  LaneId lane;
  double gain;
  double most;
  Seconds window;
  double lasting_gain = 0;
  Seconds lasting_window{1};
};

/// Use of a link: `per_unit` units of `link` for each unit of the flow's amount.
struct Use {
  LinkId link;
  double per_unit;
};
struct Hold {
  PoolId pool;
  Amount amount;
};

/// Work that moves `amount` at a rate of at most `cap`: the flow's weighted max-min share of its
/// links.
struct Flow {
  Amount amount;
  std::optional<Rate> cap = std::nullopt;
  double weight = 1;
  ShortList<Use, 3> uses = {};
};

struct Task {
  std::string id;
  LaneId lane{};
  /// Tasks that must end before this one starts; they may be added later.
  ShortList<TaskId, 6> after = {};
  Seconds latency{0};
  /// Work that follows the latency: a fixed time, or a flow over links.
  std::variant<Seconds, Flow> work = Seconds(0);
  ShortList<Hold, 1> acquire = {};
  ShortList<Hold, 1> release = {};
  /// Share (0 to 1) of its lane's boost by which the task gets faster; without effect if the lane
  /// has none.
  double boosts = 0;
};

/// The two tasks that delimit a graph's period, which is (end(last) - end(first)) / steps, rounded
/// down to nanoseconds.
struct Period {
  TaskId first;
  TaskId last;
  std::int64_t steps = 1;  ///< Number of steps from `first` to `last`; at least 1.
};

class TaskGraph {
 public:
  LaneId add_lane(std::string name);
  LinkId add_link(std::string name, Rate capacity);
  PoolId add_pool(std::string name, Amount capacity);
  void add_interference(Interference interference);
  void add_boost(Boost boost);
  TaskId add_task(Task task);
  /// Makes room for `count` tasks in all, so that adding them moves none.
  void reserve_tasks(std::size_t count) { tasks_.reserve(count); }
  void set_period(Period period) { period_ = period; }
  void set_capacity(LinkId link, Rate capacity) { links_[index(link)].capacity = capacity; }
  void set_capacity(PoolId pool, Amount capacity) { pools_[index(pool)].capacity = capacity; }

  [[nodiscard]] std::span<const Lane> lanes() const { return lanes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] std::span<const Pool> pools() const { return pools_; }
  [[nodiscard]] std::span<const Interference> interference() const { return interference_; }
  [[nodiscard]] std::span<const Boost> boosts() const { return boosts_; }
  [[nodiscard]] const Boost* boost_of(LaneId lane) const;
  [[nodiscard]] std::span<const Task> tasks() const { return tasks_; }
  [[nodiscard]] std::span<Task> mutable_tasks() { return tasks_; }
  [[nodiscard]] const Task& task(TaskId id) const { return tasks_[index(id)]; }
  [[nodiscard]] const std::optional<Period>& period() const { return period_; }

  [[nodiscard]] std::optional<LaneId> find_lane(std::string_view name) const;
  [[nodiscard]] std::optional<LinkId> find_link(std::string_view name) const;
  [[nodiscard]] std::optional<PoolId> find_pool(std::string_view name) const;

 private:
  std::vector<Lane> lanes_;
  std::vector<Link> links_;
  std::vector<Pool> pools_;
  std::vector<Interference> interference_;
  std::vector<Boost> boosts_;
  std::vector<Task> tasks_;
  std::optional<Period> period_;
};

}  // namespace sluice::sim
