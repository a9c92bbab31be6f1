#include "sim/frozen_graph.hpp"

#include <algorithm>

#include "sim/simulate.hpp"

namespace sluice::sim {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

void append_holds(std::vector<FrozenHold>& holds, const decltype(Task::acquire)& added) {
  for (const Hold& hold : added) {
    if (hold.amount.count() > 0) {
      holds.push_back({static_cast<std::uint32_t>(index(hold.pool)), hold.amount.count()});
    }
  }
}

}  // namespace

void FrozenGraph::copy_resources(const TaskGraph& graph) {
  lane_first_.assign(graph.lanes().size(), kNone);
  slowed_by_.resize(graph.lanes().size());
  slows_.resize(graph.lanes().size());
  for (const Interference& entry : graph.interference()) {
    const auto on = static_cast<std::uint32_t>(index(entry.on));
    const auto from = static_cast<std::uint32_t>(index(entry.from));
    slowed_by_[on].push_back({from, entry.factor});
    slows_[from].push_back({on, entry.factor});
  }
  for (const Boost& boost : graph.boosts()) {
    boosts_.push_back({static_cast<std::uint32_t>(index(boost.lane)),
                       {boost.gain, boost.most, boost.window.count() * kNanosecondsPerSecond,
                        boost.lasting_gain, boost.lasting_window.count() * kNanosecondsPerSecond}});
  }
  for (const Link& link : graph.links()) link_capacity_.push_back(link.capacity.count());
  for (const Pool& pool : graph.pools()) {
    pool_capacity_.push_back(pool.capacity.count());
    pool_name_.push_back(pool.name);
  }
}

void FrozenGraph::copy_tasks(const TaskGraph& graph) {
  const std::span<const Task> tasks = graph.tasks();
  tasks_.resize(tasks.size() + 1);
  waits_.reserve(tasks.size());
  uses_.reserve(tasks.size());
  id_begin_.reserve(tasks.size() + 1);
  std::vector<std::uint32_t> last_in_lane(graph.lanes().size(), kNone);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    FrozenTask& record = tasks_[i];
    record.lane = static_cast<std::uint32_t>(index(task.lane));
    record.next_in_lane = kNone;
    record.boosts = graph.boost_of(task.lane) != nullptr ? static_cast<float>(task.boosts) : 0.0F;
    record.latency_ns = task.latency.count() * kNanosecondsPerSecond;
    record.uses = static_cast<std::uint32_t>(uses_.size());
    record.acquires = static_cast<std::uint32_t>(acquires_.size());
    record.releases = static_cast<std::uint32_t>(releases_.size());
    if (const auto* flow = std::get_if<Flow>(&task.work)) {
      record.amount = flow->amount.count();
      record.cap = flow->cap ? flow->cap->count() : std::numeric_limits<double>::infinity();
      record.weight = flow->weight;
      for (const Use& use : flow->uses) {
        if (use.per_unit <= 0) continue;
        const auto link = static_cast<std::uint32_t>(index(use.link));
        const auto same = std::find_if(uses_.begin() + record.uses, uses_.end(),
                                       [link](const FrozenUse& u) { return u.link == link; });
        if (same != uses_.end()) {
          same->per_unit += use.per_unit;
        } else {
          uses_.push_back({link, use.per_unit});
        }
      }
    } else {
      record.amount = std::get<Seconds>(task.work).count();
      record.cap = 1;
      record.weight = 1;
    }
    append_holds(acquires_, task.acquire);
    append_holds(releases_, task.release);
    std::uint32_t& last = last_in_lane[record.lane];
    waits_.push_back(static_cast<std::uint32_t>(task.after.size()) + (last == kNone ? 0 : 1));
    (last == kNone ? lane_first_[record.lane] : tasks_[last].next_in_lane) =
        static_cast<std::uint32_t>(i);
    last = static_cast<std::uint32_t>(i);
    id_begin_.push_back(static_cast<std::uint32_t>(ids_.size()));
    ids_ += task.id;
  }
  id_begin_.push_back(static_cast<std::uint32_t>(ids_.size()));
  tasks_.back() = {};
  tasks_.back().uses = static_cast<std::uint32_t>(uses_.size());
  tasks_.back().acquires = static_cast<std::uint32_t>(acquires_.size());
  tasks_.back().releases = static_cast<std::uint32_t>(releases_.size());
}

void FrozenGraph::link_successors(const TaskGraph& graph) {
  const std::span<const Task> tasks = graph.tasks();
  for (const Task& task : tasks) {
    for (const TaskId before : task.after) ++tasks_[index(before)].successors;
  }
  std::uint32_t edges = 0;
  for (FrozenTask& record : tasks_) edges += std::exchange(record.successors, edges);
  successors_.resize(edges);
  std::vector<std::uint32_t> filled(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const TaskId before : tasks[i].after) {
      const std::size_t b = index(before);
      successors_[tasks_[b].successors + filled[b]++] = static_cast<std::uint32_t>(i);
    }
  }
}

FrozenGraph freeze(const TaskGraph& graph, Trust trust) {
  if (trust == Trust::check) validate(graph);
  FrozenGraph frozen;
  frozen.copy_resources(graph);
  frozen.copy_tasks(graph);
  frozen.link_successors(graph);
  return frozen;
}

}  // namespace sluice::sim
