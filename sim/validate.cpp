// Checks of a graph before it runs, as listed in CONTRACTS (docs/contracts.md).
#include <cmath>
#include <string>
#include <unordered_set>

#include "sim/error.hpp"
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

void require_finite_not_negative(double number, const std::string& what) {
  if (!std::isfinite(number)) refuse(what, "must be a finite number");
  if (number < 0) refuse(what, "must not be negative, is " + shown(number));
}

void require_positive(double number, const std::string& what, const char* fix) {
  if (!std::isfinite(number)) refuse(what, "must be a finite number");
  if (number <= 0) refuse(what, "must be above 0, is " + shown(number) + "; " + fix);
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

void validate_flow(const TaskGraph& graph, const Flow& flow, const std::string& name) {
  require_finite_not_negative(flow.amount.count(), name + ": amount");
  require_positive(flow.weight, name + ": weight", "leave it out for 1");
  if (flow.cap) require_positive(flow.cap->count(), name + ": cap", "leave it out for no cap");
  bool limited = flow.cap.has_value();
  for (const Use& use : flow.uses) {
    check(index(use.link) < graph.links().size(), "uses name links of their graph");
    require_finite_not_negative(
        use.per_unit, name + ": uses of link \"" + graph.links()[index(use.link)].name + "\"");
    limited |= use.per_unit > 0;
  }
  if (!limited) {
    refuse(name, "has an amount with neither cap nor uses, so nothing limits its rate; add one");
  }
}

void validate_holds(const TaskGraph& graph, const Task& task, const std::string& name,
                    std::vector<double>& acquired, std::vector<double>& released) {
  const auto pool_name = [&graph](const Hold& hold) {
    return "pool \"" + graph.pools()[index(hold.pool)].name + "\"";
  };
  for (const Hold& hold : task.acquire) {
    check(index(hold.pool) < graph.pools().size(), "holds name pools of their graph");
    const double amount = hold.amount.count();
    require_finite_not_negative(amount, name + ": acquire of " + pool_name(hold));
    const double capacity = graph.pools()[index(hold.pool)].capacity.count();
    if (amount > capacity * (1 + 1e-12)) {
      refuse("deadlock: " + name, "waits for ever for " + shown(amount) + " of " + pool_name(hold) +
                                      ", which holds " + shown(capacity) +
                                      "; enlarge the pool or acquire less");
    }
    acquired[index(hold.pool)] += amount;
  }
  for (const Hold& hold : task.release) {
    check(index(hold.pool) < graph.pools().size(), "holds name pools of their graph");
    require_finite_not_negative(hold.amount.count(), name + ": release of " + pool_name(hold));
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
  std::unordered_set<std::string_view> ids;
  ids.reserve(graph.tasks().size());
  std::vector<double> acquired(graph.pools().size());
  std::vector<double> released(graph.pools().size());
  for (const Task& task : graph.tasks()) {
    const std::string name = "task \"" + task.id + "\"";
    if (!ids.insert(task.id).second) refuse(name, "this id is given twice; rename one");
    check(index(task.lane) < graph.lanes().size(), "tasks name lanes of their graph");
    for (const TaskId before : task.after) {
      check(index(before) < graph.tasks().size(), "predecessors are tasks of their graph");
    }
    require_finite_not_negative(task.latency.count(), name + ": latency");
    require_finite_not_negative(task.boosts, name + ": boosts");
    if (task.boosts > 1) refuse(name + ": boosts", "must be at most 1, the whole of its lane's");
    if (const auto* flow = std::get_if<Flow>(&task.work)) {
      validate_flow(graph, *flow, name);
      if (task.boosts > 0 && !flow->uses.empty()) {
        refuse(name, "boosts and uses links, whose capacity rest cannot raise; drop one");
      }
    } else {
      require_finite_not_negative(std::get<Seconds>(task.work).count(), name + ": seconds");
    }
    validate_holds(graph, task, name, acquired, released);
  }
  (void)topological_order(graph, Edges::dependencies);
  (void)topological_order(graph, Edges::dependencies_and_lanes);
  validate_balance(graph, acquired, released);
}

}  // namespace sluice::sim
