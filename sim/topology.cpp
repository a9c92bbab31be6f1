#include "sim/topology.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <string>

#include "sim/error.hpp"

namespace sluice::sim {
namespace {

/// Graph whose edges point from a task to what it waits for, so that depth-first finishing order is
/// the topological one.
using Waits =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;
using Vertex = boost::graph_traits<Waits>::vertex_descriptor;
using Arc = boost::graph_traits<Waits>::edge_descriptor;

constexpr std::uint32_t kNone = UINT32_MAX;

Waits waits_of(const TaskGraph& graph, Edges edges) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> arcs;
  std::vector<std::uint32_t> last_in_lane(graph.lanes().size(), kNone);
  const std::span<const Task> tasks = graph.tasks();
  arcs.reserve(2 * tasks.size());
  for (std::uint32_t task = 0; task < tasks.size(); ++task) {
    for (const TaskId before : tasks[task].after) {
      arcs.emplace_back(task, static_cast<std::uint32_t>(index(before)));
    }
    if (edges == Edges::dependencies) continue;
    std::uint32_t& last = last_in_lane[index(tasks[task].lane)];
    if (last != kNone) arcs.emplace_back(task, last);
    last = task;
  }
  return {boost::edges_are_sorted, arcs.begin(), arcs.end(),
          static_cast<std::uint32_t>(tasks.size())};
}

struct Cycle {
  /// Tasks of a cycle of which each waits for the next, and the last for the first.
  std::vector<std::uint32_t> tasks;
};

/// Records finished vertices in order, and throws the first cycle.
class OrderVisitor : public boost::default_dfs_visitor {
 public:
  OrderVisitor(std::vector<TaskId>& order, std::vector<std::uint32_t>& parent)
      : order_(&order), parent_(&parent) {}
  void tree_edge(const Arc& arc, const Waits& waits) {
    (*parent_)[target(arc, waits)] = static_cast<std::uint32_t>(source(arc, waits));
  }
  void back_edge(const Arc& arc, const Waits& waits) {
    Cycle cycle;
    const auto first = static_cast<std::uint32_t>(target(arc, waits));
    auto task = static_cast<std::uint32_t>(source(arc, waits));
    for (; task != first; task = (*parent_)[task]) cycle.tasks.push_back(task);
    cycle.tasks.push_back(first);
    std::reverse(cycle.tasks.begin(), cycle.tasks.end());
    throw cycle;
  }
  void finish_vertex(Vertex vertex, const Waits&) {
    order_->push_back(TaskId(static_cast<std::uint32_t>(vertex)));
  }

 private:
  std::vector<TaskId>* order_;
  std::vector<std::uint32_t>* parent_;
};

bool depends(const TaskGraph& graph, std::uint32_t task, std::uint32_t before) {
  const auto& after = graph.tasks()[task].after;
  return std::find(after.begin(), after.end(), TaskId(before)) != after.end();
}

[[noreturn]] void refuse(const TaskGraph& graph, const Cycle& cycle) {
  constexpr std::size_t kShown = 6;  // Number of tasks of a long cycle that the message names.
  const auto id = [&graph](std::uint32_t task) { return "\"" + graph.tasks()[task].id + "\""; };
  std::string chain;
  bool through_lane = false;
  const std::size_t count = cycle.tasks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t task = cycle.tasks[i];
    const std::uint32_t before = cycle.tasks[(i + 1) % count];
    const bool by_lane = !depends(graph, task, before);
    through_lane |= by_lane;
    if (i < kShown) {
      chain += id(task);
      chain += by_lane ? " comes in lane \"" + graph.lanes()[index(graph.tasks()[task].lane)].name +
                             "\" behind "
                       : " waits for ";
    } else if (i == kShown) {
      chain += "... ";
    }
  }
  chain += id(cycle.tasks.front());
  throw BadRequest((through_lane ? "deadlock: task " : "cycle: task ") + chain +
                   (through_lane ? "; reorder the lane or drop one \"after\""
                                 : "; drop one of these \"after\" entries"));
}

}  // namespace

std::vector<TaskId> topological_order(const TaskGraph& graph, Edges edges) {
  const Waits waits = waits_of(graph, edges);
  std::vector<TaskId> order;
  order.reserve(graph.tasks().size());
  std::vector<std::uint32_t> parent(graph.tasks().size(), kNone);
  std::vector<boost::default_color_type> color(graph.tasks().size());
  try {
    if (!graph.tasks().empty()) {
      boost::depth_first_search(
          waits, OrderVisitor(order, parent),
          boost::make_iterator_property_map(color.begin(), get(boost::vertex_index, waits)));
    }
  } catch (const Cycle& cycle) {
    refuse(graph, cycle);
  }
  return order;
}

}  // namespace sluice::sim
