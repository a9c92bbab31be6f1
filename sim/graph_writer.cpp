#include <algorithm>
#include <functional>
#include <vector>

#include "sim/graph_file.hpp"
#include "sim/json_text.hpp"

namespace sluice::sim {
namespace {

/// `{"name": number, ...}`; amounts with one name are summed and written once.
template <class Range>
std::string object_of(const Range& range,
                      const std::function<std::string(decltype(*range.begin()))>& name,
                      const std::function<double(decltype(*range.begin()))>& number) {
  std::vector<std::pair<std::string, double>> members;
  for (const auto& item : range) {
    const std::string key = name(item);
    const auto same = std::find_if(members.begin(), members.end(),
                                   [&key](const auto& member) { return member.first == key; });
    if (same == members.end()) {
      members.emplace_back(key, number(item));
    } else {
      same->second += number(item);
    }
  }
  std::string text = "{";
  JsonSeparator separator;
  for (const auto& [key, value] : members) {
    text += separator.next();
    text += json_string(key) + ": " + json_number(value);
  }
  return text + "}";
}

std::string lasting(const Boost& boost) {
  if (boost.lasting_gain == 0) return "";
  return ", \"lasting_gain\": " + json_number(boost.lasting_gain) +
         ", \"lasting_window\": " + json_number(boost.lasting_window.count());
}

template <class Range>
std::string list_of(const Range& range,
                    const std::function<std::string(decltype(*range.begin()))>& item_text,
                    std::string_view between = ", ") {
  std::string text = "[";
  JsonSeparator separator(between);
  for (const auto& item : range) {
    text += separator.next();
    text += item_text(item);
  }
  return text + "]";
}

std::string holds_text(const TaskGraph& graph, const decltype(Task::acquire)& holds) {
  return object_of(
      holds, [&graph](const Hold& hold) { return graph.pools()[index(hold.pool)].name; },
      [](const Hold& hold) { return hold.amount.count(); });
}

std::string flow_text(const TaskGraph& graph, const Flow& flow) {
  std::string text = ", \"amount\": " + json_number(flow.amount.count());
  if (flow.cap) text += ", \"cap\": " + json_number(flow.cap->count());
  if (flow.weight != 1) text += ", \"weight\": " + json_number(flow.weight);
  if (!flow.uses.empty()) {
    text += ", \"uses\": " +
            object_of(
                flow.uses, [&graph](const Use& use) { return graph.links()[index(use.link)].name; },
                [](const Use& use) { return use.per_unit; });
  }
  return text;
}

std::string task_text(const TaskGraph& graph, const Task& task) {
  std::string text = "{\"id\": " + json_string(task.id) +
                     ", \"lane\": " + json_string(graph.lanes()[index(task.lane)].name);
  if (!task.after.empty()) {
    text += ", \"after\": " + list_of(task.after, [&graph](const TaskId& before) {
              return json_string(graph.task(before).id);
            });
  }
  if (task.latency.count() != 0) text += ", \"latency\": " + json_number(task.latency.count());
  if (const auto* flow = std::get_if<Flow>(&task.work)) {
    text += flow_text(graph, *flow);
  } else {
    text += ", \"seconds\": " + json_number(std::get<Seconds>(task.work).count());
  }
  if (!task.acquire.empty()) text += ", \"acquire\": " + holds_text(graph, task.acquire);
  if (!task.release.empty()) text += ", \"release\": " + holds_text(graph, task.release);
  if (task.boosts > 0) text += ", \"boosts\": " + json_number(task.boosts);
  return text + "}";
}

}  // namespace

std::string write_graph(const TaskGraph& graph) {
  std::string text = "{\"lanes\": " + list_of(graph.lanes(), [](const Lane& lane) {
                       return json_string(lane.name);
                     });
  text += ",\n \"links\": " + object_of(
                                  graph.links(), [](const Link& link) { return link.name; },
                                  [](const Link& link) { return link.capacity.count(); });
  text += ",\n \"pools\": " + object_of(
                                  graph.pools(), [](const Pool& pool) { return pool.name; },
                                  [](const Pool& pool) { return pool.capacity.count(); });
  if (!graph.interference().empty()) {
    text +=
        ",\n \"interference\": " + list_of(graph.interference(), [&](const Interference& entry) {
          return "{\"on\": " + json_string(graph.lanes()[index(entry.on)].name) +
                 ", \"from\": " + json_string(graph.lanes()[index(entry.from)].name) +
                 ", \"factor\": " + json_number(entry.factor) + "}";
        });
  }
  if (!graph.boosts().empty()) {
    text += ",\n \"boost\": " + list_of(graph.boosts(), [&](const Boost& boost) {
              return "{\"lane\": " + json_string(graph.lanes()[index(boost.lane)].name) +
                     ", \"gain\": " + json_number(boost.gain) +
                     ", \"most\": " + json_number(boost.most) +
                     ", \"window\": " + json_number(boost.window.count()) + lasting(boost) + "}";
            });
  }
  if (graph.period()) {
    text += ",\n \"period\": [" + json_string(graph.task(graph.period()->first).id) + ", " +
            json_string(graph.task(graph.period()->last).id) + "]";
    if (graph.period()->steps != 1) {
      text += ",\n \"period_steps\": " + std::to_string(graph.period()->steps);
    }
  }
  text +=
      ",\n \"tasks\": " +
      list_of(
          graph.tasks(), [&graph](const Task& task) { return task_text(graph, task); }, ",\n  ");
  return text + "}\n";
}

}  // namespace sluice::sim
