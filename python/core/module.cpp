#include <pybind11/pybind11.h>

#include <string>

#include "python/core/bindings.hpp"
#include "python/core/messages.hpp"
#include "sim/version.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "What the sluice package is built on; use the package.";
  module.attr("version") = std::string(sluice::version());
  module.attr("commit") = std::string(sluice::commit());
  sluice::python::bind_errors();
  sluice::python::take_messages();
  sluice::python::bind_catalogue(module);
  sluice::python::bind_runs(module);
  sluice::python::bind_simulation(module);
  sluice::python::bind_ablations(module);
}
