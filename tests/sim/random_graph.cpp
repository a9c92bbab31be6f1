#include "tests/sim/random_graph.hpp"

#include <ostream>
#include <random>

#include "sim/error.hpp"

namespace sluice::sim {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options) {}

  TaskGraph draw() {
    const std::uint32_t lanes = below(options_.most_lanes) + 1;
    const std::uint32_t links = below(4) + 1;
    for (std::uint32_t i = 0; i < lanes; ++i) graph_.add_lane("lane" + std::to_string(i));
    for (std::uint32_t i = 0; i < links; ++i) {
      graph_.add_link("link" + std::to_string(i), Rate(1e9 * (below(20) + 1)));
    }
    if (options_.pools) graph_.add_pool("scratch", Amount(3));
    if (options_.pools) graph_.add_pool("buffers", Amount(2));
    if (options_.interference) {
      for (std::uint32_t i = below(4); i > 0; --i) {
        graph_.add_interference({LaneId(below(lanes)), LaneId(below(lanes)), 0.5 + 0.5 * real()});
      }
    }
    for (std::uint32_t i = 0; options_.boost && i < lanes; ++i) {
      // Windows about as long as the tasks' times, and some far longer.
      const double window = below(4) == 0 ? 1e-3 : 1e-6 * (1 + below(10));
      const double gain = 0.1 + 0.8 * real(), most = 1 + 0.5 * real();
      const double lasting = below(2) == 0 ? 0.1 * real() : 0;
      graph_.add_boost({LaneId(i), gain, most, Seconds(window), lasting, Seconds(1e-5)});
    }
    for (std::uint32_t i = 0; i < options_.tasks; ++i) add_task(i, lanes, links);
    return std::move(graph_);
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  double real() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  /// A random time, half of them whole microseconds, so that events coincide.
  double time(double scale) {
    if (!options_.fractions || below(2) == 0) return scale * (below(5) + 1);
    return scale * 5 * real();
  }

  void add_task(std::uint32_t i, std::uint32_t lanes, std::uint32_t links) {
    Task task{.id = "t" + std::to_string(i), .lane = LaneId(below(lanes)), .after = {}};
    for (std::uint32_t k = below(3); k > 0 && i > 0; --k) task.after.push_back(TaskId(below(i)));
    if (below(3) == 0) task.latency = Seconds(time(1e-7));
    if (below(4) == 0) {
      task.work = Seconds(below(8) == 0 ? 0 : time(1e-6));
    } else {
      task.work = flow(links);
    }
    if (options_.pools && below(3) == 0) {
      task.acquire.push_back({PoolId(0), Amount(1 + below(3))});
      task.release = task.acquire;
    }
    // A buffer that a later task releases.
    if (options_.pools && below(5) == 0) {
      task.acquire.push_back({PoolId(1), Amount(1)});
      held_.push_back(TaskId(i));
    } else if (!held_.empty() && below(2) == 0) {
      task.after.push_back(held_.back());
      task.release.push_back({PoolId(1), Amount(1)});
      held_.pop_back();
    }
    if (options_.boost && below(2) == 0) {
      const auto* with_links = std::get_if<Flow>(&task.work);
      if (with_links == nullptr || with_links->uses.empty()) task.boosts = 0.25 * (below(4) + 1);
    }
    graph_.add_task(std::move(task));
  }

  Flow flow(std::uint32_t links) {
    Flow flow{.amount = Amount(below(10) == 0 ? 0 : 1e10 * time(1e-6)),
              .cap = std::nullopt,
              .weight = below(2) == 0 ? 1 : 0.25 + 4 * real(),
              .uses = {}};
    for (std::uint32_t link = 0; link < links; ++link) {
      if (below(2) == 0) flow.uses.push_back({LinkId(link), below(2) == 0 ? 1 : 0.1 + 2 * real()});
    }
    if (options_.boost && below(2) == 0) flow.uses.clear();
    if (flow.uses.empty() || below(2) == 0) flow.cap = Rate(1e9 * (below(10) + 1));
    return flow;
  }

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  TaskGraph graph_;
  std::vector<TaskId> held_;
};

}  // namespace

TaskGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).draw();
}

Outcome outcome(const Timeline& timeline) {
  Outcome outcome;
  for (const Timeline::Span& span : timeline.spans) {
    outcome.spans.emplace_back(span.start.time_since_epoch().count(),
                               span.end.time_since_epoch().count());
  }
  return outcome;
}

Outcome outcome(const TaskGraph& graph) {
  try {
    return outcome(simulate(graph));
  } catch (const BadRequest&) {
    return {.spans = {}, .deadlock = true};
  }
}

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  if (outcome.deadlock) return out << "deadlock";
  for (const auto& [start, end] : outcome.spans) out << start << "-" << end << " ";
  return out;
}

}  // namespace sluice::sim
