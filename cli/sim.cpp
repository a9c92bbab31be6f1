// sluice sim: simulates a raw graph.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "cli/words/parse.hpp"
#include "sim/error.hpp"
#include "sim/frozen_graph.hpp"
#include "sim/graph_file.hpp"
#include "sim/json_object.hpp"
#include "sim/rate_log.hpp"
#include "sim/result_json.hpp"
#include "sim/simulated_trace.hpp"
#include "sim/trace_file.hpp"

namespace sluice::cli {
namespace {

void write_trace_file(const std::string& path, const sim::TaskGraph& graph,
                      const sim::Timeline& timeline) {
  sim::NamedTrace predicted{.name = "simulated", .trace = sim::simulated_trace(graph, timeline)};
  for (const sim::LinkUse& use : sim::link_use(graph)) {
    predicted.counters.push_back({.counter = "link " + graph.links()[sim::index(use.link)].name,
                                  .at = use.at,
                                  .value = use.used.count()});
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << sim::write_chrome_trace({predicted});
  file.close();
  if (!file) {
    throw EnvironmentError("cannot write trace " + path + ": " +
                           (errno != 0 ? std::strerror(errno) : "write error"));
  }
}

std::string seconds(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9f s", time.count());
  return text;
}

void print_row(const std::string& name, const std::string& value, double share,
               const char* share_of) {
  std::printf("  %-24s %18s  %5.1f %% of %s\n", name.c_str(), value.c_str(), 100 * share, share_of);
}

void print_table(const sim::TaskGraph& graph, const sim::Timeline& timeline) {
  const Seconds makespan = to_seconds(timeline.makespan);
  const sim::Bounds bounds = sim::bounds(graph);
  std::printf("tasks      %zu\nmakespan   %s\n", graph.tasks().size(), seconds(makespan).c_str());
  if (const auto period = sim::period_of(graph, timeline)) {
    std::printf("period     %s\n", seconds(to_seconds(*period)).c_str());
  }
  std::printf("bound      %s (chain %s, lane %s, link %s)\n", seconds(bounds.bound()).c_str(),
              seconds(bounds.chain).c_str(), seconds(bounds.lane).c_str(),
              seconds(bounds.link).c_str());
  const double whole = std::max(makespan.count(), 1e-9);
  std::printf("lanes busy\n");
  for (std::size_t i = 0; i < graph.lanes().size(); ++i) {
    const Seconds busy = to_seconds(timeline.lane_busy[i]);
    print_row(graph.lanes()[i].name, seconds(busy), busy.count() / whole, "makespan");
  }
  std::printf("links moved\n");
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    char moved[32];
    std::snprintf(moved, sizeof moved, "%.6g", timeline.link_moved[i].count());
    const Seconds full = timeline.link_moved[i] / graph.links()[i].capacity;
    print_row(graph.links()[i].name, moved, full.count() / whole, "capacity");
  }
  std::printf("pools peak\n");
  for (std::size_t i = 0; i < graph.pools().size(); ++i) {
    char peak[32];
    std::snprintf(peak, sizeof peak, "%.6g", timeline.pool_peak[i].count());
    print_row(graph.pools()[i].name, peak, timeline.pool_peak[i] / graph.pools()[i].capacity,
              "capacity");
  }
  constexpr std::size_t kShown = 12;
  const std::vector<sim::TaskId> path = sim::critical_path(graph, timeline);
  std::printf("critical path, from the end (%zu tasks)\n", path.size());
  for (std::size_t i = 0; i < std::min(path.size(), kShown); ++i) {
    const sim::Timeline::Span& span = timeline.spans[sim::index(path[i])];
    std::printf("  %-24s %18s  from %s\n", graph.task(path[i]).id.c_str(),
                seconds(to_seconds(span.end - span.start)).c_str(),
                seconds(to_seconds(span.start)).c_str());
  }
}

}  // namespace

int run_sim(const Arguments& arguments) {
  CLI::App app("Simulates a graph of tasks on lanes that share links and pools.", "sim");
  std::string path;
  std::string trace;
  std::vector<std::string> overrides;
  bool json = false;
  app.add_option("graph", path, "graph file (JSON); - reads standard input")->required();
  app.add_flag("--json", json, "one JSON object on stdout");
  app.add_option("--set", overrides,
                 "change a capacity: links.dram=0.5x scales, pools.hbm=80e9 sets; repeat it or "
                 "join several by commas")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--trace", trace, "write a trace file that Perfetto opens");
  parse(app, arguments);
  sim::TaskGraph graph =
      sim::read_graph(sim::read_text_file(path), path == "-" ? "standard input" : path);
  for (const std::string& assignment : overrides) sim::apply_override(graph, assignment);
  // Reading checked the graph; other capacities may make it invalid.
  const sim::Trust trust = overrides.empty() ? sim::Trust::validated : sim::Trust::check;
  const sim::Timeline timeline = sim::simulate(sim::freeze(graph, trust));
  if (!trace.empty()) write_trace_file(trace, graph, timeline);
  if (json) {
    std::cout << sim::write_result(graph, timeline);
  } else {
    print_table(graph, timeline);
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
