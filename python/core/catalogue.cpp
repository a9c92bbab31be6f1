#include "planner/catalogue/catalogue.hpp"

#include <pybind11/pybind11.h>

#include <string>

#include "planner/catalogue/machine_kernels.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/model_list.hpp"
#include "planner/costs/rescaled_passes.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"
#include "python/core/bindings.hpp"

namespace sluice::python {

namespace py = pybind11;

void bind_catalogue(py::module_& module) {
  module.def("models_json", &planner::model_list_json, "As `sluice models --json`.");
  module.def(
      "model_json",
      [](const std::string& name) { return planner::model_json(planner::find_model(name)); },
      py::arg("name"), "As `sluice models NAME --json`.");
  module.def("machines_json", &planner::machine_list_json, "As `sluice machines --json`.");
  module.def(
      "machine_json",
      [](const std::string& name) { return to_json_text(planner::find_machine(name)); },
      py::arg("name"), "As `sluice machines NAME --json`.");
  module.def(
      "changed_machine_json",
      [](const std::string& json, const std::string& name, const std::string& value) {
        const planner::MachineProfile before = planner::profile_from_json(json, "machine");
        planner::MachineProfile profile = before;
        if (name == planner::kKernelsFile) {
          planner::set_kernels(profile, value, profile.name);
        } else {
          planner::set_fact(profile, name, value);
          profile.passes = planner::rescaled_passes(before, profile);
        }
        return to_json_text(profile);
      },
      py::arg("json"), py::arg("name"), py::arg("value"),
      "The profile with `--set machine.NAME=VALUE`.");
  module.def(
      "machine_hash",
      [](const std::string& json) {
        return profile_hash(planner::profile_from_json(json, "machine"));
      },
      py::arg("json"), "Hash of every number of the profile.");
  module.def(
      "policies",
      [] {
        py::dict all;
        for (const std::string& name : planner::policy_names()) {
          all[py::str(name)] = planner::policy_summary(name);
        }
        return all;
      },
      "What each built-in policy does, by name.");
}

}  // namespace sluice::python
