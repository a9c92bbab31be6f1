#include "sim/rate_log.hpp"

#include <algorithm>

namespace sluice::sim {
namespace {

struct Running {
  TaskId task{};
  Rate rate{0};
};

std::vector<Rate> used_by(const TaskGraph& graph, const std::vector<Running>& lanes) {
  std::vector<Rate> used(graph.links().size());
  for (const Running& running : lanes) {
    if (running.rate.count() == 0) continue;
    const auto* flow = std::get_if<Flow>(&graph.task(running.task).work);
    if (flow == nullptr) continue;
    for (const Use& use : flow->uses) used[index(use.link)] += running.rate * use.per_unit;
  }
  return used;
}

}  // namespace

std::vector<LinkUse> link_use(const TaskGraph& graph) {
  std::vector<RateChange> log;
  const Timeline timeline = simulate(freeze(graph, Trust::validated), log);
  for (std::uint32_t task = 0; task < timeline.spans.size(); ++task) {
    log.push_back({TaskId(task), timeline.spans[task].end, 0, Rate(0)});
  }
  std::stable_sort(log.begin(), log.end(),
                   [](const RateChange& a, const RateChange& b) { return a.at < b.at; });
  std::vector<Running> lanes(graph.lanes().size());
  std::vector<Rate> before(graph.links().size());
  std::vector<LinkUse> changes;
  for (std::size_t i = 0; i < log.size();) {
    const Instant at = log[i].at;
    for (; i < log.size() && log[i].at == at; ++i) {
      Running& lane = lanes[index(graph.task(log[i].task).lane)];
      // An end comes after the start of the lane's next task at the same instant.
      if (log[i].rate.count() > 0 || lane.task == log[i].task) lane = {log[i].task, log[i].rate};
    }
    std::vector<Rate> used = used_by(graph, lanes);
    for (std::uint32_t link = 0; link < used.size(); ++link) {
      if (used[link] != before[link]) changes.push_back({LinkId(link), at, used[link]});
    }
    before = std::move(used);
  }
  return changes;
}

}  // namespace sluice::sim
