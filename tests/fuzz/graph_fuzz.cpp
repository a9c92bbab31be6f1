#include "sim/graph_file.hpp"
#include "sim/simulate.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const sim::TaskGraph graph = sim::read_graph(fuzz::text_of(data, size), "graph.json");
    const sim::Timeline timeline = sim::simulate(graph);
    check(timeline.spans.size() == graph.tasks().size(), "every task ran");
    (void)sim::read_graph(sim::write_graph(graph), "written");
  });
  return 0;
}
