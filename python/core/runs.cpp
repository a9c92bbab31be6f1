#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "planner/buying/break_even.hpp"
#include "planner/buying/buy.hpp"
#include "planner/buying/page.hpp"
#include "planner/effort/interruption.hpp"
#include "planner/explanation/plan_run.hpp"
#include "planner/predictions/waterfall.hpp"
#include "planner/requests/basis_json.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/prices.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/requests/run_needs.hpp"
#include "planner/requests/run_prediction.hpp"
#include "planner/runs/several_hosts.hpp"
#include "python/core/bindings.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/step_columns.hpp"
#include "sim/graph_file.hpp"

namespace sluice::python {

namespace py = pybind11;

namespace {

using Words = std::vector<std::string>;

/// Result of predict and plan: the program's JSON, and the step if there is one.
struct StepOutcome {
  std::string json;
  std::shared_ptr<const planner::PredictedStep> step;  ///< Null if no plan fits.
  std::vector<std::string> notes;
  bool fits = false;
};

planner::PriceList prices_of(const std::optional<std::string>& file) {
  return file ? planner::read_prices(*file) : planner::PriceList{};
}

StepOutcome predict(const Words& words, std::optional<double> tokens,
                    const std::optional<std::string>& prices_file) {
  return interruptible([&](const std::stop_token& stop) {
    const planner::RunArguments run = planner::parse_run(words);
    const planner::RunConfig& config = run.config;
    const planner::PriceList prices = prices_of(prices_file);
    auto outcome = planner::prediction_of(config, {.policy = run.policy, .stop = stop});
    if (const auto* lack = std::get_if<planner::Infeasible>(&outcome)) {
      return StepOutcome{to_json_text(*lack), nullptr, config.notes};
    }
    auto& [request, step, remedies, is_kept] = std::get<planner::RunPrediction>(outcome);
    const planner::Prediction& prediction = step.prediction;
    std::string json =
        to_json_text(prediction, remedies, run_needs(prediction, request.predictor, config),
                     money_of(prediction, planner::machine_name(config), tokens, prices));
    const bool fits = prediction.fits;
    return StepOutcome{std::move(json),
                       std::make_shared<const planner::PredictedStep>(std::move(step)),
                       config.notes, fits};
  });
}

StepOutcome plan(const Words& words, std::optional<double> effort, std::optional<double> seconds,
                 const std::optional<std::string>& fronts, const std::optional<std::string>& free,
                 bool hide_link) {
  return interruptible([&](const std::stop_token& stop) {
    planner::RunArguments run = planner::parse_run(words);
    planner::PlanRequest request{.config = std::move(run.config), .policy = std::move(run.policy)};
    request.effort = effort;
    if (seconds) request.seconds = Seconds(*seconds);
    request.hide_link = hide_link;
    request.stop = stop;
    if (fronts) request.fronts = planner::parse_front_axes(*fronts);
    if (free) request.free = planner::parse_free_sizes(*free);
    planner::PlannedRun planned = planner::plan_run(request);
    if (const auto* lack = std::get_if<planner::Infeasible>(&planned.outcome)) {
      return StepOutcome{to_json_text(*lack), nullptr, planned.request.config.notes};
    }
    auto& report = std::get<planner::PlanReport>(planned.outcome);
    std::string json = to_json_text(report);
    return StepOutcome{
        std::move(json),
        std::make_shared<const planner::PredictedStep>(std::move(report.planned.best)),
        planned.request.config.notes, true};
  });
}

/// Advice as JSON text, and as a page of HTML.
std::pair<std::string, std::string> buy(const Words& words, const Words& machines,
                                        std::optional<double> tokens, std::optional<double> days,
                                        std::optional<double> budget_usd,
                                        const std::optional<std::string>& prices_file, bool rent,
                                        bool own, std::optional<double> runs_per_month,
                                        std::optional<double> use,
                                        std::optional<double> usd_per_kwh, double resale,
                                        std::optional<double> seconds) {
  return interruptible([&](const std::stop_token& stop) {
    planner::BuyRequest request;
    request.owned = own;
    request.use = {.runs_per_month = runs_per_month,
                   .share = use,
                   .usd_per_kwh = usd_per_kwh,
                   .resale = resale};
    planner::check_use(request.use);
    if (seconds) planner::answer_within(Seconds(*seconds), request);
    request.machines = machines;
    request.tokens = tokens;
    request.days = days;
    request.budget_usd = budget_usd;
    request.prices = prices_of(prices_file);
    request.payment = rent ? planner::Payment::rent : planner::Payment::buy;
    request.threads = std::max(1U, std::thread::hardware_concurrency());
    request.stop = stop;
    const planner::BuyReport report = planner::buy(planner::parse_run(words).config, request);
    return std::pair(to_json_text(report), planner::advice_page(report, request));
  });
}

std::string step_graph(const StepOutcome& outcome) {
  return sim::write_graph(outcome.step->simulated());
}

std::string step_plan_file(const StepOutcome& outcome) {
  planner::PlanFile file = planner::to_plan_file(outcome.step->prediction);
  file.numerics_id = outcome.step->prediction.numerics_id;
  return to_json_text(file);
}

std::string step_basis(const StepOutcome& outcome) {
  return planner::basis_json(outcome.step->prediction).dump();
}

std::string step_beside(const StepOutcome& outcome, const StepOutcome& other) {
  return planner::ratio_json(planner::ratio_interval(outcome.step->prediction.errors,
                                                     other.step->prediction.errors))
      .dump();
}

py::dict step_waterfall(const StepOutcome& outcome) {
  const planner::Prediction& prediction = outcome.step->prediction;
  const planner::Waterfall falls = waterfall_above(prediction.stalls, prediction.bound);
  py::dict terms;
  for (std::size_t i = 0; i < planner::kWaterfallTerms; ++i) {
    const auto term = static_cast<planner::WaterfallTerm>(i);
    terms[name_above(term)] = to_seconds(falls.at(term)).count();
  }
  py::dict all;
  all["step_s"] = to_seconds(falls.step).count();
  all["bound_s"] = to_seconds(falls.bound).count();
  all["bound_by"] = to_string(falls.bound_by);
  all["bound_ratio"] = falls.bound_ratio();
  all["terms_s"] = terms;
  return all;
}

}  // namespace

void bind_runs(py::module_& module) {
  py::class_<StepOutcome>(module, "StepOutcome", "A predicted step, or what no plan fits.")
      .def_readonly("json", &StepOutcome::json)
      .def_readonly("notes", &StepOutcome::notes)
      .def_readonly("fits", &StepOutcome::fits)
      .def_property_readonly("has_step",
                             [](const StepOutcome& outcome) { return outcome.step != nullptr; })
      .def("graph_json", &step_graph)
      .def("plan_file_json", &step_plan_file)
      .def("waterfall", &step_waterfall)
      .def("basis_json", &step_basis)
      .def("beside_json", &step_beside, py::arg("other"))
      .def("columns", [](const StepOutcome& outcome) { return step_columns(*outcome.step); });
  module.def("predict", &predict, py::arg("words"), py::arg("tokens"), py::arg("prices"));
  module.def("plan", &plan, py::arg("words"), py::arg("effort"), py::arg("seconds"),
             py::arg("front"), py::arg("free"), py::arg("hide_link"));
  module.def("buy", &buy, py::arg("words"), py::arg("machines"), py::arg("tokens"), py::arg("days"),
             py::arg("budget_usd"), py::arg("prices"), py::arg("rent"), py::arg("own"),
             py::arg("runs_per_month"), py::arg("use"), py::arg("usd_per_kwh"), py::arg("resale"),
             py::arg("seconds"));
  module.def(
      "parse_tokens", [](const std::string& text) { return planner::parse_tokens(text, "tokens"); },
      py::arg("text"));
}

}  // namespace sluice::python
