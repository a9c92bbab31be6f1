#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "python/core/bindings.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/step_columns.hpp"
#include "sim/graph_file.hpp"
#include "sim/result_json.hpp"
#include "sim/simulate.hpp"

namespace sluice::python {

namespace py = pybind11;

void bind_simulation(py::module_& module) {
  module.def(
      "simulate",
      [](const std::string& json, const std::string& where,
         const std::vector<std::string>& overrides) {
        struct Simulated {
          sim::TaskGraph graph;
          sim::Timeline timeline;
          std::string json;
        };
        const Simulated done = interruptible([&](const std::stop_token&) {
          sim::TaskGraph graph = sim::read_graph(json, where);
          for (const std::string& assignment : overrides) sim::apply_override(graph, assignment);
          sim::Timeline timeline = sim::simulate(graph);
          std::string result = sim::write_result(graph, timeline);
          return Simulated{std::move(graph), std::move(timeline), std::move(result)};
        });
        return py::make_tuple(done.json, timeline_columns(done.graph, done.timeline));
      },
      py::arg("graph"), py::arg("where"), py::arg("overrides"),
      "As `sluice sim --json`, and the tasks as columns.");
}

}  // namespace sluice::python
