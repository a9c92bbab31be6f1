// Task graphs that a test states in a line or two, with lanes, links, pools and tasks by name.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "sim/error.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {

using Named = std::initializer_list<std::pair<const char*, double>>;

/// Flow of a task as a test states it; names are resolved in the system.
struct FlowSpec {
  double amount = 0;
  std::optional<double> cap = std::nullopt;
  double weight = 1;
  Named uses = {};
};

class System {
 public:
  System(std::initializer_list<const char*> lanes, Named links = {}, Named pools = {}) {
    for (const char* lane : lanes) graph.add_lane(lane);
    for (const auto& [name, capacity] : links) graph.add_link(name, Rate(capacity));
    for (const auto& [name, capacity] : pools) graph.add_pool(name, Amount(capacity));
  }

  System& interference(const char* on, const char* from, double factor) {
    graph.add_interference({*graph.find_lane(on), *graph.find_lane(from), factor});
    return *this;
  }
  System& fixed(const char* id, const char* lane, double seconds,
                std::initializer_list<const char*> after = {}, double latency = 0) {
    return add(id, lane, Seconds(seconds), after, latency);
  }
  System& flow(const char* id, const char* lane, const FlowSpec& spec,
               std::initializer_list<const char*> after = {}, double latency = 0) {
    Flow flow{.amount = Amount(spec.amount),
              .cap = spec.cap ? std::optional(Rate(*spec.cap)) : std::nullopt,
              .weight = spec.weight,
              .uses = {}};
    for (const auto& [link, per_unit] : spec.uses) {
      flow.uses.push_back({*graph.find_link(link), per_unit});
    }
    return add(id, lane, flow, after, latency);
  }
  /// Makes the task added last acquire `amount` of a pool.
  System& acquire(const char* pool, double amount) {
    graph.mutable_tasks().back().acquire.push_back({*graph.find_pool(pool), Amount(amount)});
    return *this;
  }
  System& release(const char* pool, double amount) {
    graph.mutable_tasks().back().release.push_back({*graph.find_pool(pool), Amount(amount)});
    return *this;
  }

  [[nodiscard]] TaskId task(std::string_view id) const {
    for (std::uint32_t i = 0; i < graph.tasks().size(); ++i) {
      if (graph.tasks()[i].id == id) return TaskId(i);
    }
    throw std::logic_error("no task " + std::string(id));
  }
  [[nodiscard]] std::string id(TaskId task) const { return graph.task(task).id; }

  TaskGraph graph;

 private:
  System& add(const char* id, const char* lane, std::variant<Seconds, Flow> work,
              std::initializer_list<const char*> after, double latency) {
    Task added{.id = id,
               .lane = *graph.find_lane(lane),
               .latency = Seconds(latency),
               .work = std::move(work)};
    for (const char* before : after) added.after.push_back(task(before));
    graph.add_task(std::move(added));
    return *this;
  }
};

/// Start and end of one task, in nanoseconds.
inline std::pair<std::int64_t, std::int64_t> span_ns(const System& system, const Timeline& timeline,
                                                     std::string_view id) {
  const Timeline::Span& span = timeline.spans[index(system.task(id))];
  return {span.start.time_since_epoch().count(), span.end.time_since_epoch().count()};
}
inline std::int64_t end_ns(const System& system, const Timeline& timeline, std::string_view id) {
  return span_ns(system, timeline, id).second;
}

/// The message with which `action` is refused; empty if it is not.
template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const BadRequest& error) {
    return error.what();
  }
  return {};
}

}  // namespace sluice::sim
