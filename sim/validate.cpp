// Checks of a graph before it runs, as listed in CONTRACTS (docs/contracts.md).
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sim/error.hpp"
#include "sim/name_index.hpp"
#include "sim/simulate.hpp"
#include "sim/topology.hpp"

namespace sluice::sim {
namespace {

std::string shown(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

[[noreturn]] void refuse(const std::string& what, const std::string& reason) {
  throw BadRequest(what + ": " + reason);
}

/// A task and one thing that it has, whose names are put together only where it is refused.
struct TaskPart {
  const Task& task;
  const char* part = "";
  std::optional<std::string_view> of = std::nullopt;  ///< The link or pool that the part names.
  explicit operator std::string() const {
    const std::string text = "task \"" + task.id + "\"" + part;
    return of ? text + "\"" + std::string(*of) + "\"" : text;
  }
};

template <class What>
void require_finite_not_negative(double number, const What& what) {
  if (!std::isfinite(number)) refuse(std::string(what), "must be a finite number");
  if (number < 0) refuse(std::string(what), "must not be negative, is " + shown(number));
}

template <class What>
void require_positive(double number, const What& what, const char* fix) {
  if (!std::isfinite(number)) refuse(std::string(what), "must be a finite number");
  if (number <= 0) refuse(std::string(what), "must be above 0, is " + shown(number) + "; " + fix);
}

template <class Named>
void require_distinct(std::span<const Named> items, const char* noun) {
  std::unordered_set<std::string_view> seen;
  for (const Named& item : items) {
    if (!seen.insert(item.name).second) {
      refuse(std::string(noun) + " \"" + item.name + "\"", "is given twice; rename one");
    }
  }
}

void validate_resources(const TaskGraph& graph) {
  require_distinct(graph.lanes(), "lane");
  require_distinct(graph.links(), "link");
  require_distinct(graph.pools(), "pool");
  for (const Link& link : graph.links()) {
    require_positive(link.capacity.count(), "link \"" + link.name + "\": capacity",
                     "give it what it moves a second");
  }
  for (const Pool& pool : graph.pools()) {
    require_positive(pool.capacity.count(), "pool \"" + pool.name + "\": capacity",
                     "give it bytes or slots");
  }
  for (const Interference& entry : graph.interference()) {
    check(index(entry.on) < graph.lanes().size() && index(entry.from) < graph.lanes().size(),
          "interference names lanes of its graph");
    require_finite_not_negative(
        entry.factor, "interference on \"" + graph.lanes()[index(entry.on)].name + "\" from \"" +
                          graph.lanes()[index(entry.from)].name + "\": factor");
  }
}

void validate_boosts(const TaskGraph& graph) {
  for (const Boost& boost : graph.boosts()) {
    check(index(boost.lane) < graph.lanes().size(), "a boost names a lane of its graph");
    const std::string name = "boost of \"" + graph.lanes()[index(boost.lane)].name + "\"";
    if (graph.boost_of(boost.lane) != &boost) refuse(name, "is given twice; keep one");
    require_finite_not_negative(boost.gain, name + ": gain");
    require_finite_not_negative(boost.lasting_gain, name + ": lasting_gain");
    if (boost.gain + boost.lasting_gain > 1) {
      refuse(name + ": gain", "must be at most 1, is " + shown(boost.gain + boost.lasting_gain) +
                                  (boost.lasting_gain > 0 ? " with what lasts" : "") +
                                  "; resting would pay otherwise");
    }
    if (!std::isfinite(boost.most) || boost.most < 1) {
      refuse(name + ": most", "must be a finite number of 1 or more");
    }
    require_positive(boost.window.count(), name + ": window", "give it seconds, such as 0.05");
    require_positive(boost.lasting_window.count(), name + ": lasting_window",
                     "give it seconds, such as 0.4");
  }
}

void validate_flow(const TaskGraph& graph, const Task& task, const Flow& flow) {
  require_finite_not_negative(flow.amount.count(), TaskPart{task, ": amount"});
  require_positive(flow.weight, TaskPart{task, ": weight"}, "leave it out for 1");
  if (flow.cap) {
    require_positive(flow.cap->count(), TaskPart{task, ": cap"}, "leave it out for no cap");
  }
  bool limited = flow.cap.has_value();
  for (const Use& use : flow.uses) {
    check(index(use.link) < graph.links().size(), "uses name links of their graph");
    require_finite_not_negative(
        use.per_unit, TaskPart{task, ": uses of link ", graph.links()[index(use.link)].name});
    limited |= use.per_unit > 0;
  }
  if (!limited) {
    refuse(std::string(TaskPart{task}),
           "has an amount with neither cap nor uses, so nothing limits its rate; add one");
  }
}

void validate_holds(const TaskGraph& graph, const Task& task, std::vector<double>& acquired,
                    std::vector<double>& released) {
  for (const Hold& hold : task.acquire) {
    check(index(hold.pool) < graph.pools().size(), "holds name pools of their graph");
    const Pool& pool = graph.pools()[index(hold.pool)];
    const double amount = hold.amount.count();
    require_finite_not_negative(amount, TaskPart{task, ": acquire of pool ", pool.name});
    const double capacity = pool.capacity.count();
    if (amount > capacity * (1 + 1e-12)) {
      refuse("deadlock: " + std::string(TaskPart{task}),
             "waits for ever for " + shown(amount) + " of pool \"" + pool.name +
                 "\", which holds " + shown(capacity) + "; enlarge the pool or acquire less");
    }
    acquired[index(hold.pool)] += amount;
  }
  for (const Hold& hold : task.release) {
    check(index(hold.pool) < graph.pools().size(), "holds name pools of their graph");
    const Pool& pool = graph.pools()[index(hold.pool)];
    require_finite_not_negative(hold.amount.count(),
                                TaskPart{task, ": release of pool ", pool.name});
    released[index(hold.pool)] += hold.amount.count();
  }
}

/// Refuses a graph that releases more than it ever acquires; releases that come too early are found
/// when they run.
void validate_balance(const TaskGraph& graph, const std::vector<double>& acquired,
                      const std::vector<double>& released) {
  for (std::size_t pool = 0; pool < acquired.size(); ++pool) {
    if (released[pool] <= acquired[pool] * (1 + 1e-12)) continue;
    for (const Task& task : graph.tasks()) {
      for (const Hold& hold : task.release) {
        if (index(hold.pool) != pool || hold.amount.count() <= 0) continue;
        refuse("task \"" + task.id + "\"",
               "pool \"" + graph.pools()[pool].name + "\" has " + shown(released[pool]) +
                   " released by this and other tasks but only " + shown(acquired[pool]) +
                   " acquired; release what is held");
      }
    }
  }
}

}  // namespace

void validate(const TaskGraph& graph) {
  validate_resources(graph);
  validate_boosts(graph);
  NameIndex ids(graph.tasks().size());
  std::vector<double> acquired(graph.pools().size());
  std::vector<double> released(graph.pools().size());
  for (const Task& task : graph.tasks()) {
    if (!ids.add(task.id))
      refuse(std::string(TaskPart{task}), "this id is given twice; rename one");
    check(index(task.lane) < graph.lanes().size(), "tasks name lanes of their graph");
    for (const TaskId before : task.after) {
      check(index(before) < graph.tasks().size(), "predecessors are tasks of their graph");
    }
    require_finite_not_negative(task.latency.count(), TaskPart{task, ": latency"});
    require_finite_not_negative(task.boosts, TaskPart{task, ": boosts"});
    if (task.boosts > 1) {
      refuse(std::string(TaskPart{task, ": boosts"}), "must be at most 1, the whole of its lane's");
    }
    if (const auto* flow = std::get_if<Flow>(&task.work)) {
      validate_flow(graph, task, *flow);
      if (task.boosts > 0 && !flow->uses.empty()) {
        refuse(std::string(TaskPart{task}),
               "boosts and uses links, whose capacity rest cannot raise; drop one");
      }
    } else {
      require_finite_not_negative(std::get<Seconds>(task.work).count(),
                                  TaskPart{task, ": seconds"});
    }
    validate_holds(graph, task, acquired, released);
  }
  (void)topological_order(graph, Edges::dependencies);
  (void)topological_order(graph, Edges::dependencies_and_lanes);
  validate_balance(graph, acquired, released);
}

}  // namespace sluice::sim
