// sluice autotune RUN: plan, measure, recalibrate and replan until the prediction holds.
#include "profiler/autotune.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "cli/autotune_output.hpp"
#include "cli/parse_run.hpp"
#include "cli/plan_choices_table.hpp"
#include "cli/prediction_table.hpp"
#include "engine/backend.hpp"
#include "planner/catalogue.hpp"
#include "planner/plan_report.hpp"
#include "planner/plan_words.hpp"
#include "planner/prediction_json.hpp"
#include "planner/units_text.hpp"
#include "profiler/doctor/doctor.hpp"
#include "profiler/report/tune_report.hpp"
#include "profiler/sweep.hpp"
#include "profiler/verification.hpp"
#include "sim/error.hpp"
#include "sim/version.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using Json = sim::Json;
using planner::format_seconds;

/// What a round that failed says: the cost that the model cannot hold.
[[noreturn]] void refuse(const profiler::TuneRound& last) {
  throw Error(
      ExitCode::not_converged,
      fmt::format("the prediction does not hold: {} predicted, {} measured ({:+.1f} %); "
                  "the worst cost is {} ({} predicted, {} measured a step); try "
                  "--minutes, or a quieter machine",
                  format_seconds(last.predicted), format_seconds(last.measured), 100 * last.error(),
                  last.largest_miss.key.name, format_seconds(last.largest_miss.predicted),
                  format_seconds(last.largest_miss.measured)));
}

/// Until when rounds begin: one at least does.
Seconds budget_of(const std::string& minutes) {
  const double value = planner::parse_number(minutes, "--minutes");
  if (value < 0) throw BadRequest("--minutes: must not be negative");
  return Seconds(60 * value);
}

class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}
  void operator()(const std::string& text) const {
    if (!json_) std::cout << text << std::flush;
  }

 private:
  bool json_;
};

/// CUPTI where the machine is a GPU; says in one line on stderr why there is none.
class Tracing {
 public:
  explicit Tracing(planner::DeviceKind device) {
    if (device != planner::DeviceKind::cuda) return;
    auto opened = profiler::cupti::Collector::open();
    if (const auto* absence = std::get_if<profiler::cupti::Absence>(&opened)) {
      sim::tell(absence->line);
    } else {
      collector_ = std::move(std::get<0>(opened));
    }
  }
  [[nodiscard]] profiler::cupti::Collector* collector() const { return collector_.get(); }

 private:
  std::unique_ptr<profiler::cupti::Collector> collector_;
};

std::filesystem::path report_file(const planner::Store& store, const planner::Prediction& of) {
  return store.root() / "reports" /
         ("autotune-" + of.job_hash.substr(0, 8) + "-" + of.profile_hash.substr(0, 8) + ".html");
}

profiler::TuneReport report_of(const planner::RunPlanning& run,
                               const profiler::TuneOutcome& outcome,
                               std::optional<profiler::Verification> verification,
                               std::vector<profiler::SweepCurve> sweeps) {
  const planner::Job& job = run.predictor.job();
  const planner::Prediction& prediction = outcome.step.prediction;
  const planner::Predictor tuned(job, run.predictor.machine(), outcome.calibration,
                                 run.predictor.residency());
  std::optional<planner::PredictedStep> last_ran;
  if (profiler::shown_run(outcome, prediction.plan) == nullptr) {
    last_ran = tuned.predict(outcome.rounds.back().plan);
  }
  const planner::Plan shown = last_ran ? last_ran->prediction.plan : prediction.plan;
  return {.title = "Tuning " + job.model.name + " on " + run.predictor.machine().profile.name,
          .subtitle = fmt::format(
              "{} sequences of {} tokens a step, {} round{}; {}", job.batch_size, job.seq_len,
              outcome.rounds.size(), outcome.rounds.size() == 1 ? "" : "s",
              outcome.holds ? "the prediction holds" : "the prediction does not hold yet"),
          .tokens = job.tokens(),
          .outcome = outcome,
          .last_ran = std::move(last_ran),
          .verification = std::move(verification),
          .sweeps = std::move(sweeps),
          .elasticities = planner::elasticities(tuned, outcome.calibration, shown),
          .provenance = {{"program", std::string(version())},
                         {"commit", std::string(commit())},
                         {"written", planner::utc_now()},
                         {"job", prediction.job_hash},
                         {"plan", prediction.plan_hash},
                         {"profile", prediction.profile_hash},
                         {"cost model", prediction.cost_model_hash}}};
}

}  // namespace

int run_autotune(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  planner::RunArguments request = parse_run(
      arguments,
      "sluice autotune RUN [--minutes N] [--sweep FIELDS] [--verify] [--report FILE] [--json] [run "
      "flags]",
      {{"--minutes", Takes::value, "begin no round after this many minutes (10)"},
       {"--steps", Takes::value, "steps a round (10)"},
       {"--sweep", Takes::value, "then FIELD,...: the tuned plan over that field's values, run"},
       {"--verify", Takes::nothing, "then predict two plans that never ran, run them and compare"},
       {"--free", Takes::value, "choose micro_batch,loss_chunk first: they change bits"},
       {"--ledger", Takes::value, "ledger of --verify (ledger.jsonl of the store)"},
       {"--report", Takes::value, "the HTML page (reports/autotune-JOB-PROFILE.html of the store)"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/autotune.schema.json)"}});
  const bool json = request.has("--json");
  const Printer print(json);
  if (request.config.backend) engine::require_backend(*request.config.backend);
  std::vector<std::string> swept;
  if (const auto fields = request.value("--sweep")) swept = profiler::parse_sweep(*fields);
  const planner::Store store = planner::Store::of_user();
  if (request.config.machine == "here" && !store.newest_profile(planner::DeviceKind::host)) {
    // What is learnt is keyed by the profile, and an estimate made anew would be another one.
    store.save(planner::here_estimate());
    print("this machine was not probed: starting from estimates (sluice probe measures it)\n");
  }
  std::optional<planner::ChosenSizes> sizes;
  if (const auto free = request.value("--free")) {
    sizes = planner::choose_sizes(request.config, planner::parse_free_sizes(*free), {}, store);
    print(sizes_table(*sizes, request.config));
    request.config = sizes->config;
  }
  const planner::RunPlanning run = planner::planning_of(request.config, store);
  require_executable(run.predictor.job());
  for (const char* flag : {"--report", "--ledger"}) {
    if (const auto path = request.value(flag)) planner::require_writable(*path);
  }
  engine::require_backend(run.predictor.machine().profile.device);

  profiler::TuneOptions options;
  options.tolerance = kTuneTolerance;
  if (const auto minutes = request.value("--minutes")) options.budget = budget_of(*minutes);
  if (const auto steps = request.value("--steps")) {
    options.steps = planner::parse_count(*steps, "--steps");
    if (options.steps < 4) throw BadRequest("--steps: at least 4, of which 2 are neighbours");
  }
  if (auto plan = planner::given_plan(request.config, run.predictor.job())) {
    require_executable(*plan);
    options.given = {std::move(*plan), request.config.plan ? "--plan" : "--policy"};
  }
  const profiler::Findings findings = profiler::examine_machine({.store = store.root()});
  profiler::require_healthy(findings);
  print(profiler::findings_text(profiler::warnings(findings)));
  // Before anything of CUDA loads code.
  const Tracing tracing(run.predictor.machine().profile.device);
  options.collector = tracing.collector();
  options.round_done = [&](const profiler::TuneRound& round) {
    print(round_line(round) + "       " + planner::describe_plan(round.plan) + "\n");
    if (!round.refusal.empty()) print("       " + round.refusal + "\n");
  };
  const auto pinned_once = engine::keep_host_memory();
  print(fmt::format("{:>5}  {:<10}{:>12}{:>12}{:>9}  {}\n", "round", "plan", "predicted",
                    "measured", "error", "largest miss, a step"));
  const auto result = profiler::autotune(run, options);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&result)) {
    std::fputs((json ? to_json_text(*infeasible) : infeasible_table(*infeasible)).c_str(), stdout);
    return static_cast<int>(ExitCode::does_not_fit);
  }
  profiler::TuneOutcome outcome = std::get<profiler::TuneOutcome>(result);

  Json report;
  report["version"] = 1;
  report["holds"] = outcome.holds;
  if (sizes) report["free"] = planner::sizes_json(*sizes);
  for (const auto& round : outcome.rounds) report["rounds"].push_back(to_json(round));
  report["verification"] = nullptr;
  bool verified = true;
  std::optional<profiler::Verification> verification;
  if (request.has("--verify")) {
    profiler::VerificationOptions checks;
    checks.ledger = request.value("--ledger").value_or((store.root() / "ledger.jsonl").string());
    checks.say = [&](const std::string& line) { print(line + "\n"); };
    verification = profiler::verify_prediction(run, outcome, checks);
    outcome.calibration = verification->calibration;
    outcome.step = planner::Predictor(run.predictor.job(), run.predictor.machine(),
                                      outcome.calibration, run.predictor.residency())
                       .predict(outcome.step.prediction.plan);
    verified = verification->holds(kTuneTolerance);
    print(verification_table(*verification));
    report["verification"] = to_json(*verification);
  }
  report["sweep"] = Json::array();
  profiler::SweepOptions sweeping;
  sweeping.steps = options.steps;
  sweeping.point_done = [&](const auto& curve, const auto& point) {
    print((curve.points.size() == 1 ? sweep_head(curve) : "") + sweep_line(point));
  };
  std::vector<profiler::SweepCurve> curves;
  for (const std::string& field : swept) {
    curves.push_back(profiler::sweep(run, outcome, {field}, sweeping).front());
    print(sweep_end(curves.back()));
    report["sweep"].push_back(to_json(curves.back()));
  }
  const auto plan = profiler::keep(outcome, request.config, run.predictor, store);
  report["plan_hash"] = outcome.step.prediction.plan_hash;
  report["plan_file"] = plan ? Json(plan->string()) : Json(nullptr);
  report["calibration_file"] =
      store.calibration_file(run.predictor.machine().calibration_hash).string();
  print(fmt::format("kept, and picked up by train: {}calibration {}\n",
                    plan ? "plan " + plan->string() + ", " : "",
                    report["calibration_file"].get<std::string>()));
  const std::filesystem::path page =
      request.value("--report").value_or(report_file(store, outcome.step.prediction).string());
  planner::write_whole_file(page, profiler::tune_report(report_of(
                                      run, outcome, std::move(verification), std::move(curves))));
  report["report_file"] = page.string();
  print("report: " + page.string() + "\n");
  if (json) std::cout << report.dump(2) << '\n';
  if (!outcome.holds) refuse(outcome.rounds.back());
  if (!verified) {
    throw Error(ExitCode::not_converged,
                "a plan that had never run missed its prediction by more than 5 % (table above)");
  }
  return 0;
}

}  // namespace sluice::cli
