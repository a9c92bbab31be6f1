#include "sim/result_json.hpp"

#include "sim/json_text.hpp"

namespace sluice::sim {
namespace {

template <class Named, class Text>
std::string by_name(std::span<const Named> items, const Text& text_of) {
  std::string text = "{";
  JsonSeparator separator;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += separator.next();
    text += json_string(items[i].name) + ": {" + text_of(i) + "}";
  }
  return text + "}";
}

void append_tasks(std::string& text, const TaskGraph& graph, const Timeline& timeline) {
  text += "[";
  JsonSeparator separator(",\n  ");
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    text += separator.next();
    text += "{\"id\": ";
    append_json_string(text, graph.tasks()[i].id);
    text += ", \"start_s\": ";
    append_json_seconds(text, timeline.spans[i].start.time_since_epoch());
    text += ", \"end_s\": ";
    append_json_seconds(text, timeline.spans[i].end.time_since_epoch());
    text += "}";
  }
  text += "]";
}

std::string bounds_text(const TaskGraph& graph, const Bounds& bounds) {
  std::string text = "{\"chain_s\": " + json_number(bounds.chain.count()) +
                     ", \"lane_s\": " + json_number(bounds.lane.count()) +
                     ", \"link_s\": " + json_number(bounds.link.count());
  if (bounds.busiest_lane) {
    text += ", \"busiest_lane\": " + json_string(graph.lanes()[index(*bounds.busiest_lane)].name);
  }
  if (bounds.busiest_link) {
    text += ", \"busiest_link\": " + json_string(graph.links()[index(*bounds.busiest_link)].name);
  }
  return text + "}";
}

}  // namespace

std::string write_result(const TaskGraph& graph, const Timeline& timeline) {
  const Bounds bounds = sim::bounds(graph);
  std::string text = "{\"makespan_s\": " + json_seconds(timeline.makespan);
  if (const auto period = period_of(graph, timeline)) {
    text += ",\n \"period_s\": " + json_seconds(*period);
  }
  text += ",\n \"bound_s\": " + json_number(bounds.bound().count());
  text += ",\n \"bounds\": " + bounds_text(graph, bounds);
  text += ",\n \"lanes\": " + by_name(graph.lanes(), [&timeline](std::size_t i) {
            return "\"busy_s\": " + json_seconds(timeline.lane_busy[i]);
          });
  text += ",\n \"links\": " + by_name(graph.links(), [&timeline](std::size_t i) {
            return "\"moved\": " + json_number(timeline.link_moved[i].count());
          });
  text += ",\n \"pools\": " + by_name(graph.pools(), [&timeline](std::size_t i) {
            return "\"peak\": " + json_number(timeline.pool_peak[i].count());
          });
  text += ",\n \"critical_path\": [";
  JsonSeparator separator;
  for (const TaskId task : critical_path(graph, timeline)) {
    text += separator.next();
    append_json_string(text, graph.task(task).id);
  }
  text += "],\n \"tasks\": ";
  append_tasks(text, graph, timeline);
  return text += "}\n";
}

}  // namespace sluice::sim
