// The graph as the event loop reads it: flat arrays, with one cache line per task.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/boost.hpp"
#include "sim/task_graph.hpp"

namespace sluice::sim {

/// Whether freeze() checks the graph; a builder whose graphs are valid by construction may skip
/// that.
enum class Trust : std::uint8_t { check, validated };

/// One task of a frozen graph. `uses`, `successors`, `acquires` and `releases` are indices of the
/// task's first entry in FrozenGraph's arrays; its entries end where the next task's begin.
struct alignas(64) FrozenTask {
  double latency_ns;
  /// Amount that a flow moves, or the seconds of a fixed time, which has cap 1 and no links.
  double amount;
  double cap;  ///< Largest rate of the flow, in amount per second; infinite if only links limit it.
  double weight;
  std::uint32_t lane;
  std::uint32_t next_in_lane;
  std::uint32_t uses;
  std::uint32_t successors;
  std::uint32_t acquires;
  std::uint32_t releases;
  float boosts;  ///< Share (0 to 1) of its lane's boost by which the task gets faster.
};

struct FrozenUse {
  std::uint32_t link;
  double per_unit;  ///< Units of the link that one unit of the flow's amount uses; positive.
};
struct FrozenHold {
  std::uint32_t pool;
  double amount;  ///< Amount of the pool that the task acquires or releases; positive.
};
struct FrozenBoost {
  std::uint32_t lane;
  RestRule rule;  ///< How rest makes the lane's tasks faster; its times are in nanoseconds.
};
struct FrozenInterference {
  /// In a lane's list slowed_by: a lane whose running tasks slow it. In its list slows: a lane that
  /// it slows.
  std::uint32_t lane;
  double factor;
};

/// A compact copy of a task graph for simulations. It is immutable while simulations run, so
/// threads may share it. Between simulations capacities may be changed, which is cheaper than
/// freezing the graph again.
class FrozenGraph {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void set_capacity(LinkId link, Rate capacity) { link_capacity_[index(link)] = capacity.count(); }
  void set_capacity(PoolId pool, Amount capacity) {
    pool_capacity_[index(pool)] = capacity.count();
  }

  [[nodiscard]] std::size_t task_count() const { return tasks_.size() - 1; }
  [[nodiscard]] std::size_t lane_count() const { return lane_first_.size(); }
  [[nodiscard]] std::size_t link_count() const { return link_capacity_.size(); }
  [[nodiscard]] std::size_t pool_count() const { return pool_capacity_.size(); }

  [[nodiscard]] const FrozenTask& task(std::uint32_t task) const { return tasks_[task]; }
  /// Asks the processor to fetch what the next task on the lane of `task` and the one behind it
  /// will need at their starts, and what `task` will need at its end: the records of a large graph
  /// are in memory, whose latency would otherwise cost more than the rest of an event.
  /// Inlined by force: g++ drops calls of functions that do nothing but prefetch.
  [[gnu::always_inline]] void prefetch_behind(const FrozenTask& task) const {
    __builtin_prefetch(successors_.data() + task.successors);
    if (task.next_in_lane == kNone) return;
    const FrozenTask& next = tasks_[task.next_in_lane];
    __builtin_prefetch(uses_.data() + next.uses);
    if (next.next_in_lane == kNone) return;
    __builtin_prefetch(&tasks_[next.next_in_lane]);
    __builtin_prefetch(&tasks_[next.next_in_lane + 1]);
  }
  [[nodiscard]] std::span<const FrozenUse> uses(std::uint32_t task) const {
    return {uses_.data() + tasks_[task].uses, uses_.data() + tasks_[task + 1].uses};
  }
  [[nodiscard]] std::span<const std::uint32_t> successors(std::uint32_t task) const {
    return {successors_.data() + tasks_[task].successors,
            successors_.data() + tasks_[task + 1].successors};
  }
  [[nodiscard]] std::span<const FrozenHold> acquires(std::uint32_t task) const {
    return {acquires_.data() + tasks_[task].acquires, acquires_.data() + tasks_[task + 1].acquires};
  }
  [[nodiscard]] std::span<const FrozenHold> releases(std::uint32_t task) const {
    return {releases_.data() + tasks_[task].releases, releases_.data() + tasks_[task + 1].releases};
  }
  /// Number of tasks that a task waits for, by task: its predecessors, and the task before it on
  /// its lane.
  [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }
  /// Index of the first task on a lane; kNone if the lane has no task.
  [[nodiscard]] std::uint32_t first_in_lane(std::uint32_t lane) const { return lane_first_[lane]; }
  /// Interference by lane, in file order: the lanes that slow tasks of `lane` (slowed_by), and the
  /// lanes whose tasks `lane` slows (slows).
  [[nodiscard]] std::span<const FrozenInterference> slowed_by(std::uint32_t lane) const {
    return slowed_by_[lane];
  }
  [[nodiscard]] std::span<const FrozenInterference> slows(std::uint32_t lane) const {
    return slows_[lane];
  }
  [[nodiscard]] std::span<const FrozenBoost> boosts() const { return boosts_; }
  [[nodiscard]] std::span<const double> link_capacities() const { return link_capacity_; }
  [[nodiscard]] std::span<const double> pool_capacities() const { return pool_capacity_; }

  [[nodiscard]] std::string_view task_id(std::uint32_t task) const {
    return std::string_view(ids_).substr(id_begin_[task], id_begin_[task + 1] - id_begin_[task]);
  }
  [[nodiscard]] const std::string& pool_name(std::uint32_t pool) const { return pool_name_[pool]; }

 private:
  friend FrozenGraph freeze(const TaskGraph& graph, Trust trust);
  void copy_resources(const TaskGraph& graph);
  void copy_tasks(const TaskGraph& graph);
  void link_successors(const TaskGraph& graph);

  /// All tasks, and behind them one more entry, which ends the last task's ranges.
  std::vector<FrozenTask> tasks_;
  std::vector<std::uint32_t> waits_;
  std::vector<FrozenUse> uses_;
  std::vector<std::uint32_t> successors_;
  std::vector<FrozenHold> acquires_;
  std::vector<FrozenHold> releases_;
  std::vector<std::uint32_t> lane_first_;
  std::vector<std::vector<FrozenInterference>> slowed_by_;
  std::vector<std::vector<FrozenInterference>> slows_;
  std::vector<FrozenBoost> boosts_;
  std::vector<double> link_capacity_;
  std::vector<double> pool_capacity_;
  std::vector<std::string> pool_name_;
  std::string ids_;
  std::vector<std::uint32_t> id_begin_;
};

/// Copies `graph`, after validate() unless `trust` says that it is valid. The copy does not refer
/// to `graph`.
[[nodiscard]] FrozenGraph freeze(const TaskGraph& graph, Trust trust = Trust::check);

}  // namespace sluice::sim
