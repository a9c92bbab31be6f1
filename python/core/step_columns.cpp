#include "python/core/step_columns.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "python/core/number_array.hpp"

namespace sluice::python {

namespace py = pybind11;

namespace {

/// One number of each item as a NumPy array.
template <class Number, class Item, class Read>
py::object numbers(std::span<const Item> items, const Read& read) {
  std::vector<Number> column;
  column.reserve(items.size());
  for (const Item& item : items) column.push_back(static_cast<Number>(read(item)));
  return number_array(std::span<const Number>(column));
}

/// One text of each item as a list.
template <class Item, class Read>
py::list texts(std::span<const Item> items, const Read& read) {
  py::list column(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) column[i] = py::str(std::string(read(items[i])));
  return column;
}

}  // namespace

py::dict step_columns(const planner::PredictedStep& step) {
  using planner::StepTask;
  using planner::TaskTimes;
  const std::span<const StepTask> tasks(step.graph.tasks);
  const std::span<const TaskTimes> times(step.times);
  py::dict columns;
  columns["id"] = texts(step.graph.graph.tasks(), [](const sim::Task& task) { return task.id; });
  columns["lane"] = texts(tasks, [](const StepTask& task) { return to_string(task.lane); });
  columns["kind"] = texts(tasks, [](const StepTask& task) { return to_string(task.kind); });
  columns["step"] = numbers<std::int64_t>(tasks, [](const StepTask& task) { return task.step; });
  columns["round"] = numbers<std::int64_t>(tasks, [](const StepTask& task) { return task.round; });
  columns["unit"] = numbers<std::int64_t>(tasks, [](const StepTask& task) { return task.unit; });
  columns["micro_batch"] =
      numbers<std::int64_t>(tasks, [](const StepTask& task) { return task.micro_batch; });
  columns["bytes"] =
      numbers<std::int64_t>(tasks, [](const StepTask& task) { return task.bytes.count(); });
  columns["start_s"] =
      numbers<double>(times, [](const TaskTimes& time) { return to_seconds(time.start).count(); });
  columns["end_s"] =
      numbers<double>(times, [](const TaskTimes& time) { return to_seconds(time.end).count(); });
  return columns;
}

py::dict timeline_columns(const sim::TaskGraph& graph, const sim::Timeline& timeline) {
  using Span = sim::Timeline::Span;
  const std::span<const Span> spans(timeline.spans);
  py::dict columns;
  columns["id"] = texts(graph.tasks(), [](const sim::Task& task) { return task.id; });
  columns["lane"] = texts(graph.tasks(), [&graph](const sim::Task& task) {
    return graph.lanes()[sim::index(task.lane)].name;
  });
  columns["kind"] = texts(graph.tasks(), [](const sim::Task& task) {
    return std::holds_alternative<sim::Flow>(task.work) ? "flow" : "fixed";
  });
  columns["start_s"] =
      numbers<double>(spans, [](const Span& span) { return to_seconds(span.start).count(); });
  columns["end_s"] =
      numbers<double>(spans, [](const Span& span) { return to_seconds(span.end).count(); });
  return columns;
}

}  // namespace sluice::python
