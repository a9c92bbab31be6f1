// The same random graphs in SimGrid, wherever the two models coincide.
//
// SimGrid's network model CM02 with its TCP corrections off shares links by max-min fairness, but
// without weights and coefficients of ours. A cap is there a link of the flow's own. A flow of
// amount A, cap c, weight w and use u of each of its links, with w u = 1, is there a plain flow of
// amount u A and cap u c: so both are drawn, and cancel. Latencies and fixed times are sleeps.
// SimGrid keeps time in double seconds and ours rounds each end up to a nanosecond: a task may
// differ by the nanoseconds of the tasks before it.
//
// SimGrid has one engine a process, so all graphs run in it side by side, on hosts and links of
// their own.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <simgrid/s4u.hpp>

#include "sim/simulate.hpp"

namespace sluice::sim {
namespace {

namespace sg = simgrid::s4u;

constexpr std::size_t kGraphs = 60;
constexpr std::uint32_t kTasks = 40;
// Tolerance in seconds: each end here is rounded up to 1 ns.
constexpr double kTolerance = kTasks * 2e-9;

class CommonGraph {
 public:
  explicit CommonGraph(std::uint64_t seed) : random_(seed) {
    const std::uint32_t lanes = 2 + below(5);
    const std::uint32_t links = 1 + below(4);
    for (std::uint32_t i = 0; i < lanes; ++i) graph_.add_lane("lane" + std::to_string(i));
    for (std::uint32_t i = 0; i < links; ++i) {
      graph_.add_link("link" + std::to_string(i), Rate(1e8 * (1 + 9 * real())));
    }
    for (std::uint32_t i = 0; i < kTasks; ++i) {
      Task task{.id = "t" + std::to_string(i), .lane = LaneId(below(lanes))};
      for (std::uint32_t k = below(3); k > 0 && i > 0; --k) task.after.push_back(TaskId(below(i)));
      if (below(3) == 0) task.latency = Seconds(0.01 * real());
      if (below(4) == 0) {
        task.work = Seconds(0.5 * real());
      } else {
        task.work = flow(links);
      }
      graph_.add_task(std::move(task));
    }
  }
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  double real() { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }

  Flow flow(std::uint32_t links) {
    const double use = 0.25 + 4 * real();
    Flow flow{.amount = Amount(std::ceil(1e8 * real()) / use), .weight = 1 / use};
    const std::uint32_t one = below(links);
    for (std::uint32_t link = 0; link < links; ++link) {
      if (link == one || below(2) == 0) flow.uses.push_back({LinkId(link), use});
    }
    if (below(2) == 0) flow.cap = Rate(5e8 * real() / use);
    return flow;
  }

  std::mt19937_64 random_;
  TaskGraph graph_;
};

/// One graph as hosts, links and actors: an actor per lane, a route per flow.
class Model {
 public:
  Model(sg::NetZone* zone, const TaskGraph& graph, const std::string& name)
      : graph_(graph), ends_(graph.tasks().size()), finished_(graph.tasks().size()) {
    std::vector<sg::Link*> links;
    for (const Link& link : graph.links()) {
      links.push_back(zone->create_link(name + link.name, link.capacity.count())->seal());
    }
    home_ = zone->create_host(name + "home", 1e9)->seal();
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      finished_[i] = sg::Semaphore::create(0);
      hosts_.push_back({nullptr, nullptr});
      const auto* flow = std::get_if<Flow>(&graph.tasks()[i].work);
      if (flow == nullptr) continue;
      const std::string host = name + graph.tasks()[i].id;
      hosts_[i] = {zone->create_host(host + "from", 1e9)->seal(),
                   zone->create_host(host + "to", 1e9)->seal()};
      std::vector<sg::LinkInRoute> route;
      for (const Use& use : flow->uses) route.emplace_back(links[index(use.link)]);
      if (flow->cap) {
        const double cap = flow->cap->count() * flow->uses.front().per_unit;
        route.emplace_back(zone->create_link(host + "cap", cap)->seal());
      }
      zone->add_route(hosts_[i].first->get_netpoint(), hosts_[i].second->get_netpoint(), nullptr,
                      nullptr, route, false);
    }
  }

  void start_actors() {
    for (std::uint32_t lane = 0; lane < graph_.lanes().size(); ++lane) {
      sg::Actor::create("lane", home_, [this, lane] { run_lane(LaneId(lane)); });
    }
  }
  [[nodiscard]] double end(std::size_t task) const { return ends_[task]; }

 private:
  void run_lane(LaneId lane) {
    for (std::size_t i = 0; i < graph_.tasks().size(); ++i) {
      const Task& task = graph_.tasks()[i];
      if (task.lane != lane) continue;
      for (const TaskId before : task.after) {
        finished_[index(before)]->acquire();
        finished_[index(before)]->release();
      }
      if (task.latency > Seconds(0)) sg::this_actor::sleep_for(task.latency.count());
      if (const auto* flow = std::get_if<Flow>(&task.work)) {
        const double use = flow->uses.front().per_unit;
        sg::CommPtr comm = sg::Comm::sendto_init();
        comm->set_payload_size(
            static_cast<std::uint64_t>(std::llround(flow->amount.count() * use)));
        comm->set_source(hosts_[i].first)->set_destination(hosts_[i].second);
        comm->wait();
      } else {
        sg::this_actor::sleep_for(std::get<Seconds>(task.work).count());
      }
      ends_[i] = sg::Engine::get_clock();
      finished_[i]->release();
    }
  }

  const TaskGraph& graph_;
  sg::Host* home_ = nullptr;
  std::vector<std::pair<sg::Host*, sg::Host*>> hosts_;
  std::vector<double> ends_;
  std::vector<sg::SemaphorePtr> finished_;
};

std::vector<std::string> arguments;  // SimGrid takes its settings from a command line.

TEST(SimGrid, RandomGraphsTakeTheSameTime) {
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  int count = static_cast<int>(words.size());
  sg::Engine engine(&count, words.data());
  sg::NetZone* zone = sg::create_full_zone("graphs");
  std::vector<CommonGraph> graphs;
  std::vector<std::unique_ptr<Model>> models;
  for (std::uint64_t seed = 0; seed < kGraphs; ++seed) graphs.emplace_back(seed);
  for (std::size_t i = 0; i < kGraphs; ++i) {
    models.push_back(
        std::make_unique<Model>(zone, graphs[i].graph(), "g" + std::to_string(i) + "-"));
  }
  zone->seal();
  for (const auto& model : models) model->start_actors();
  engine.run();
  for (std::size_t i = 0; i < kGraphs; ++i) {
    const Timeline ours = simulate(graphs[i].graph());
    double makespan = 0;
    for (std::size_t task = 0; task < kTasks; ++task) {
      makespan = std::max(makespan, models[i]->end(task));
      EXPECT_NEAR(to_seconds(ours.spans[task].end).count(), models[i]->end(task), kTolerance)
          << "graph " << i << " task " << task;
    }
    EXPECT_NEAR(to_seconds(ours.makespan).count(), makespan, kTolerance) << "graph " << i;
  }
}

}  // namespace
}  // namespace sluice::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sluice::sim::arguments = {argv[0],
                            "--cfg=network/model:CM02",
                            "--cfg=network/TCP-gamma:1e30",
                            "--cfg=network/weight-S:0",
                            "--cfg=network/crosstraffic:0",
                            "--cfg=network/bandwidth-factor:1",
                            "--cfg=network/latency-factor:1",
                            "--cfg=network/loopback-bw:1e30",
                            "--cfg=surf/precision:1e-12",
                            "--cfg=maxmin/precision:1e-12",
                            "--log=root.threshold:warning"};
  return RUN_ALL_TESTS();
}
