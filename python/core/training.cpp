// The extension sluice._training: runs of training, where the engine is built.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/python/interpreters.hpp"
#include "planner/costs/cost_switches.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/data_json.hpp"
#include "profiler/training/data_notes.hpp"
#include "profiler/training/run_json.hpp"
#include "profiler/training/shown_data.hpp"
#include "profiler/training/training_run.hpp"
#include "python/core/bindings.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/messages.hpp"
#include "python/core/number_array.hpp"

namespace sluice::python {

namespace py = pybind11;

namespace {

/// Outcome of a run: the program's JSON, and numbers of its steps.
struct TrainOutcome {
  std::string json;
  std::vector<std::string> notes;
  std::string data = {};  ///< The data in a line.
  bool fits = false;
  std::vector<double> losses = {}, step_seconds = {};
};

/// Python function that is told of steps. After it has raised it is not called again, and the run
/// is asked to stop.
class StepsInPython {
 public:
  StepsInPython(py::object function, std::atomic<bool>& stop)
      : function_(std::move(function)), stop_(stop) {}

  /// Tells the function of a step. May be called from any thread without the interpreter's lock.
  void tell(const engine::StepMetrics& metrics, std::int64_t steps) {
    if (raised_ || function_.is_none()) return;
    const py::gil_scoped_acquire locked;
    try {
      py::dict step;
      step["step"] = metrics.step;
      step["loss"] = metrics.loss;
      step["grad_norm"] = metrics.grad_norm;
      step["lr"] = metrics.lr;
      step["step_s"] = metrics.step_time.count();
      step["tokens"] = metrics.tokens;
      function_(metrics.step, steps, step);
    } catch (py::error_already_set& error) {
      raised_.emplace(std::move(error));
      stop_.store(true);
    }
  }

  /// Raises what the function raised.
  void raise() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  py::object function_;
  std::atomic<bool>& stop_;
  std::optional<py::error_already_set> raised_;
};

class FollowedInPython : public profiler::StepFollower {
 public:
  FollowedInPython(StepsInPython& told, std::int64_t steps) : told_(told), steps_(steps) {}
  void step(const engine::StepMetrics& metrics) override { told_.tell(metrics, steps_); }

 private:
  StepsInPython& told_;
  std::int64_t steps_;
};

class ObservedInPython : public profiler::RunObserver {
 public:
  explicit ObservedInPython(StepsInPython& told) : told_(told) {}
  std::unique_ptr<profiler::StepFollower> follow(const profiler::LaneMeter& /*meter*/,
                                                 const planner::Prediction& /*prediction*/,
                                                 profiler::StepsAhead steps) override {
    return std::make_unique<FollowedInPython>(told_, steps.all);
  }

 private:
  StepsInPython& told_;
};

TrainOutcome outcome_of(const profiler::TrainedRun& run) {
  TrainOutcome outcome{.json = result_json(run), .notes = run.config.notes, .fits = true};
  for (const engine::StepMetrics& each : run.metrics) {
    outcome.losses.push_back(each.loss);
    outcome.step_seconds.push_back(each.step_time.count());
  }
  return outcome;
}

/// Runs the training on its own thread; `told` hears of its steps.
TrainOutcome run_of(const planner::RunArguments& words, profiler::TrainOptions options,
                    StepsInPython& told, const std::stop_token& stop,
                    const std::atomic<bool>& stopped) {
  ObservedInPython observer(told);
  profiler::TrainRequest request =
      profiler::read_train_request(words.config, std::move(options), observer);
  request.planning.search.stop = stop;
  const auto promised = promise_of(request);
  if (const auto* lack = std::get_if<planner::Infeasible>(&promised)) {
    return {.json = to_json_text(*lack), .notes = request.config.notes};
  }
  profiler::TrainingRun run(request, std::get<profiler::RunPromise>(promised), observer);
  if (!run.train(stopped)) return {.json = "", .notes = {}};  // Someone raised, who is heard.
  TrainOutcome outcome = outcome_of(run.trained());
  constexpr std::int64_t kNoRows = 0;
  const engine::DataSummary summary = request.text->summary(kNoRows);
  outcome.data = profiler::data_line(*request.text, summary);
  for (std::string& warning : profiler::data_warnings(summary)) {
    outcome.notes.push_back(std::move(warning));
  }
  return outcome;
}

TrainOutcome train(const std::vector<std::string>& words, bool resume, bool checkpoint,
                   py::object progress) {
  std::atomic<bool> stopped{false};
  StepsInPython told(std::move(progress), stopped);
  TrainOutcome outcome = interruptible([&](const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [&] { stopped.store(true); });
    const planner::RunArguments run = planner::parse_run(words);
    require_all_terms(run.config.terms);
    profiler::TrainOptions options{.saves = checkpoint};
    if (resume) options.resumed = profiler::folder_to_resume(run);
    return run_of(run, std::move(options), told, stop, stopped);
  });
  told.raise();
  return outcome;
}

/// The JSON of a run's data, and warnings about them.
std::pair<std::string, std::vector<std::string>> data(const std::vector<std::string>& words,
                                                      std::int64_t rows, bool strict) {
  return interruptible([&](const std::stop_token&) {
    const planner::RunArguments run = planner::parse_run(words);
    const profiler::ShownData shown = profiler::show_data(run, rows, strict, nullptr);
    std::vector<std::string> notes = run.config.notes;
    for (std::string& warning : profiler::data_warnings(shown.summary)) {
      notes.push_back(std::move(warning));
    }
    return std::pair(profiler::data_json(shown), std::move(notes));
  });
}

}  // namespace

}  // namespace sluice::python

PYBIND11_MODULE(_training, module) {
  namespace py = pybind11;
  using sluice::python::TrainOutcome;
  module.doc() = "Runs of training and their data; use sluice.train and sluice.data.";
  const py::object interpreter = py::module_::import("sys").attr("executable");
  if (!interpreter.is_none()) sluice::engine::prefer_python(interpreter.cast<std::string>());
  sluice::python::bind_errors();
  sluice::python::take_messages();
  py::class_<TrainOutcome>(module, "TrainOutcome", "What a run came to, or what no plan fits.")
      .def_readonly("json", &TrainOutcome::json)
      .def_readonly("notes", &TrainOutcome::notes)
      .def_readonly("data", &TrainOutcome::data)
      .def_readonly("fits", &TrainOutcome::fits)
      .def_property_readonly(
          "losses",
          [](const TrainOutcome& outcome) {
            return sluice::python::number_array(std::span<const double>(outcome.losses));
          })
      .def_property_readonly("step_times_s", [](const TrainOutcome& outcome) {
        return sluice::python::number_array(std::span<const double>(outcome.step_seconds));
      });
  module.def("train", &sluice::python::train, py::arg("words"), py::arg("resume"),
             py::arg("checkpoint"), py::arg("progress"));
  module.def("data", &sluice::python::data, py::arg("words"), py::arg("rows"), py::arg("strict"));
}
