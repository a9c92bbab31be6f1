// Finds accesses in flight that share bytes of a rehearsal's window, from the graph and not from
// the rules by which the window was laid out.
#include <algorithm>
#include <array>

#include "planner/graph/happens_before.hpp"
#include "planner/layout/host_window.hpp"

namespace sluice::planner {

std::optional<std::string> find_window_fault(const StepGraph& graph, const HostWindow& window) {
  struct Touched {
    Bytes begin, end;
    std::size_t task;
    TensorIndex tensor;
    LaneKind lane;
  };
  const std::size_t n = graph.tasks_per_step;
  const Bytes shared_end = window.part(WindowUse::shared).bytes;
  std::vector<Touched> touched;
  for (std::size_t i = 0; i < n; ++i) {
    const StepTask& task = graph.tasks[n + i];
    for (std::size_t j = 0; j < task.accesses.size(); ++j) {
      const Access& access = task.accesses[j];
      if (graph.tensors[static_cast<std::size_t>(access.tensor)].arena != Arena::host) continue;
      const Bytes begin = window.offset(i, j);
      const Bytes end = begin + access.bytes;
      if (begin < Bytes(0) || end > window.bytes()) {
        return graph.graph.tasks()[n + i].id + ": outside the window";
      }
      if (begin >= shared_end) touched.push_back({begin, end, i, access.tensor, task.lane});
    }
  }
  std::sort(touched.begin(), touched.end(),
            [](const Touched& a, const Touched& b) { return a.begin < b.begin; });
  const HappensBefore happens_before(graph.graph);
  const auto id = [](std::size_t task) { return sim::TaskId(static_cast<std::uint32_t>(task)); };
  // In whichever of the three steps the other task is: the step before, the same, or the one after.
  const auto apart = [&](std::size_t a, std::size_t b) {
    const std::size_t middle = n + a;
    return std::ranges::all_of(std::array{b, n + b, 2 * n + b}, [&](std::size_t other) {
      return happens_before(id(middle), id(other)) || happens_before(id(other), id(middle));
    });
  };
  for (std::size_t a = 0; a < touched.size(); ++a) {
    for (std::size_t b = a + 1; b < touched.size() && touched[b].begin < touched[a].end; ++b) {
      const Touched& one = touched[a];
      const Touched& other = touched[b];
      if (one.task != other.task && (one.lane == other.lane || apart(one.task, other.task))) {
        continue;
      }
      return graph.graph.tasks()[n + one.task].id + " and " +
             graph.graph.tasks()[n + other.task].id + " share bytes of the window in flight";
    }
  }
  return std::nullopt;
}

}  // namespace sluice::planner
