#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/catalogue/store.hpp"
#include "planner/effort/search_effort.hpp"
#include "planner/files/whole_file.hpp"
#include "profiler/ablation/baseline_override.hpp"
#include "profiler/ablation/cell_columns.hpp"
#include "profiler/ablation/cell_plan.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"
#include "profiler/ablation/known_names.hpp"
#include "python/core/bindings.hpp"
#include "python/core/interruptible.hpp"

namespace sluice::python {

namespace py = pybind11;

namespace {

/// An experiment whose cells are predicted one at a time. Changed models are stored in the folder
/// `models`.
class Ablation {
 public:
  Ablation(const std::string& yaml, const std::string& where,
           const std::vector<std::pair<std::string, std::string>>& baseline,
           std::optional<double> effort, const std::filesystem::path& models)
      : experiment_(profiler::experiment_from_yaml(yaml, where)) {
    for (const auto& [path, value] : baseline) {
      override_baseline(experiment_, {path, value});
    }
    require_known_names(experiment_);
    if (effort) experiment_.effort = *effort;
    effort_ = planner::search_effort(experiment_.effort, "effort");
    cells_ = cells_of(experiment_, models);
    for (const profiler::Cell& cell : cells_) {
      if (!cell.model_text) continue;
      std::filesystem::create_directories(models);
      planner::write_whole_file(cell.config.model, *cell.model_text);
    }
  }

  [[nodiscard]] const profiler::Experiment& experiment() const { return experiment_; }
  [[nodiscard]] std::size_t size() const { return cells_.size(); }

  [[nodiscard]] py::dict predict(std::size_t index) const {
    const profiler::CellResult result = interruptible([&](const std::stop_token& stop) {
      const profiler::Cell& cell = cells_.at(index);
      return profiler::plan_cell(cell, profiler::prepare_cell(cell, experiment_),
                                 cell.name(experiment_), effort_, stop)
          .result;
    });
    py::dict row;
    row["name"] = result.name;
    row["levels"] = result.levels;
    row["status"] = to_string(result.status);
    row["reason"] = result.reason;
    row["tier"] = result.tier ? py::object(py::str(to_string(*result.tier))) : py::none();
    row["short_bytes"] = result.short_by.count();
    row["plan"] = result.plan;
    row["optimality_gap"] = result.optimality_gap;
    row["prediction"] =
        result.prediction ? py::object(py::str(result.prediction->json)) : py::none();
    return row;
  }

 private:
  profiler::Experiment experiment_;
  std::int64_t effort_ = 0;  ///< Search effort for each cell.
  std::vector<profiler::Cell> cells_;
};

}  // namespace

void bind_ablations(py::module_& module) {
  py::class_<Ablation>(module, "Ablation", "An experiment whose cells are predicted one at a time.")
      .def(py::init([](const std::string& yaml, const std::string& where,
                       const std::vector<std::pair<std::string, std::string>>& baseline,
                       std::optional<double> effort, const std::string& models) {
             return Ablation(yaml, where, baseline, effort, models);
           }),
           py::arg("yaml"), py::arg("where"), py::arg("baseline"), py::arg("effort"),
           py::arg("models"))
      .def_property_readonly("name", [](const Ablation& self) { return self.experiment().name; })
      .def_property_readonly("question",
                             [](const Ablation& self) { return self.experiment().question; })
      .def_property_readonly("factors",
                             [](const Ablation& self) {
                               std::vector<std::string> names;
                               for (const profiler::Factor& factor : self.experiment().factors) {
                                 names.push_back(factor.name);
                               }
                               return names;
                             })
      .def_property_readonly("columns",
                             [](const Ablation& self) {
                               std::vector<std::string> names;
                               for (const profiler::Factor& factor : self.experiment().factors) {
                                 names.push_back(column_of(factor));
                               }
                               return names;
                             })
      .def("__len__", &Ablation::size)
      .def("predict", &Ablation::predict, py::arg("index"));
}

}  // namespace sluice::python
