// sluice autotune RUN: plan, measure, recalibrate and replan until the prediction holds.
#include "profiler/tuning/autotune.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/shown/autotune_output.hpp"
#include "cli/shown/autotune_report.hpp"
#include "cli/shown/plan_choices_table.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/shown/progress_stream.hpp"
#include "cli/words/parse_run.hpp"
#include "engine/backends/backend.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/plan_words.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_devices.hpp"
#include "profiler/doctor/doctor.hpp"
#include "profiler/report/tune_report.hpp"
#include "profiler/tuning/sweep.hpp"
#include "profiler/tuning/verification.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using planner::format_seconds;

/// Throws the error that names the cost that the model could not predict, after an iteration whose
/// prediction failed.
[[noreturn]] void refuse(const profiler::TuneIteration& last) {
  throw Error(
      ExitCode::not_converged,
      fmt::format("the prediction does not hold: {} predicted, {} measured ({:+.1f} %); "
                  "the worst cost is {} ({} predicted, {} measured a step); try "
                  "--minutes, or a quieter machine",
                  format_seconds(last.predicted), format_seconds(last.measured), 100 * last.error(),
                  last.largest_miss.key.name(), format_seconds(last.largest_miss.predicted),
                  format_seconds(last.largest_miss.measured)));
}

/// Time after which no further iteration begins, from a text in minutes; there is always at least
/// one iteration.
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

/// Tracing by CUPTI on a machine with a GPU; where CUPTI is not available, one line on stderr says
/// why.
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

constexpr char kUsage[] =
    "sluice autotune RUN [--minutes N] [--sweep FIELDS] [--verify] [--report FILE] [--json] [run "
    "flags]";

std::vector<planner::VerbFlag> autotune_flags() {
  using Takes = planner::VerbFlag::Takes;
  return {
      {"--minutes", Takes::value, "begin no iteration after this many minutes (10)"},
      {"--steps", Takes::value, "steps of an iteration (10)"},
      {"--sweep", Takes::value, "then FIELD,...: the tuned plan over that field's values, run"},
      {"--verify", Takes::nothing, "then predict two plans that never ran, run them and compare"},
      {"--free", Takes::value, "choose micro_batch,loss_chunk first: they change bits"},
      {"--ledger", Takes::value, "ledger of --verify (ledger.jsonl of the store)"},
      {"--report", Takes::value, "the HTML page (reports/autotune-JOB-PROFILE.html of the store)"},
      {"--json", Takes::nothing, "one JSON object (docs/schemas/autotune.schema.json)"}};
}

/// Stores an estimated profile, because calibrations are keyed by profile and a new estimate would
/// be another one.
void keep_estimate(const planner::RunConfig& config, const planner::Store& store,
                   const Printer& print) {
  if (config.machine != "here" || store.newest_profile(planner::DeviceKind::host)) return;
  store.save(planner::here_estimate());
  print("this machine was not probed: starting from estimates (sluice probe measures it)\n");
}

/// Chooses the job sizes that the request leaves free, and sets them in the request; none where
/// none are free.
std::optional<planner::ChosenSizes> settle_sizes(planner::RunArguments& request,
                                                 const planner::Store& store,
                                                 const Printer& print) {
  const auto free = request.value("--free");
  if (!free) return std::nullopt;
  planner::ChosenSizes sizes =
      planner::choose_sizes(planner::resolve(request.config, store, request.policy),
                            planner::parse_free_sizes(*free), {});
  print(sizes_table(sizes, request.config));
  request.config = sizes.config;
  return sizes;
}

void require_tunable(const planner::RunArguments& request, const planner::Predictor& predictor) {
  require_executable(predictor.job());
  for (const char* flag : {"--report", "--ledger"}) {
    if (const auto path = request.value(flag)) planner::require_writable(*path);
  }
  engine::require_backend(predictor.machine().profile.device);
}

profiler::TuneOptions options_of(const planner::RunArguments& request, const planner::Request& run,
                                 const Printer& print) {
  profiler::TuneOptions options;
  options.tolerance = kTuneTolerance;
  if (const auto minutes = request.value("--minutes")) options.budget = budget_of(*minutes);
  if (const auto steps = request.value("--steps")) {
    options.steps = planner::parse_count(*steps, "--steps");
    if (options.steps < 4) throw BadRequest("--steps: must be at least 4");
  }
  options.given = planner::given_plan(run);
  if (options.given) require_executable(options.given->plan);
  options.iteration_done = [&print](const profiler::TuneIteration& iteration) {
    print(iteration_line(iteration) + "           " + planner::describe_plan(iteration.plan) +
          "\n");
    if (!iteration.refusal.empty()) print("           " + iteration.refusal + "\n");
    stream_progress("tuning", iteration.number, std::nullopt,
                    {{"predicted_s", iteration.predicted.count()},
                     {"measured_s", iteration.measured.count()},
                     {"error", iteration.error()}});
  };
  return options;
}

/// Number of devices of the plans that are tuned. Refuses what knows one.
std::int64_t tuned_devices(const planner::RunArguments& request, const planner::Request& run,
                           const profiler::TuneOptions& options) {
  const std::int64_t devices = options.given ? options.given->plan.ranks : run.predictor.ranks();
  for (const char* flag : {"--sweep", "--verify"}) {
    if (devices == 1 || !request.has(flag)) continue;
    throw BadRequest(std::string("devices: ") + flag +
                     " knows one device in this version: leave it out, or set devices to 1");
  }
  return devices;
}

void require_healthy(const planner::Store& store, const Printer& print) {
  const profiler::Findings findings = profiler::examine_machine({.store = store.root()});
  profiler::require_healthy(findings);
  print(profiler::findings_text(profiler::warnings(findings)));
}

/// Predicts and runs plans that have not been run before; calibrations from them are in the
/// outcome, too.
profiler::Verification verify(const planner::RunArguments& request, const planner::Request& run,
                              const planner::Store& store, profiler::TuneOutcome& outcome,
                              const Printer& print) {
  profiler::VerificationOptions checks;
  checks.ledger = request.value("--ledger").value_or((store.root() / "ledger.jsonl").string());
  checks.say = [&print](const std::string& line) { print(line + "\n"); };
  profiler::Verification verification = profiler::verify_prediction(run, outcome, checks);
  outcome.calibration = verification.calibration;
  outcome.step = planner::Predictor(run.predictor.job(), run.predictor.machine(),
                                    outcome.calibration, run.predictor.residency())
                     .predict(outcome.step.prediction.plan);
  print(verification_table(verification));
  return verification;
}

std::vector<profiler::SweepCurve> sweep_fields(const std::vector<std::string>& fields,
                                               const planner::Request& run,
                                               const profiler::TuneOutcome& outcome,
                                               std::int64_t steps, const Printer& print) {
  profiler::SweepOptions options;
  options.steps = steps;
  options.point_done = [&print](const auto& curve, const auto& point) {
    print((curve.points.size() == 1 ? sweep_head(curve) : "") + sweep_line(point));
  };
  std::vector<profiler::SweepCurve> curves;
  for (const std::string& field : fields) {
    curves.push_back(profiler::sweep(run, outcome, {field}, options).front());
    print(sweep_end(curves.back()));
  }
  return curves;
}

}  // namespace

int run_autotune(const Arguments& arguments) {
  planner::RunArguments request = parse_run(arguments, kUsage, autotune_flags());
  const bool json = request.has("--json");
  const Printer print(json);
  if (request.has("--free")) planner::require_one_device(request.config, "--free");
  if (request.config.backend) engine::require_backend(*request.config.backend);
  std::vector<std::string> swept;
  if (const auto fields = request.value("--sweep")) swept = profiler::parse_sweep(*fields);
  const planner::Store store = planner::Store::of_user();
  keep_estimate(request.config, store, print);
  const std::optional<planner::ChosenSizes> sizes = settle_sizes(request, store, print);
  const planner::Request run = planner::resolve(request.config, store, request.policy);
  require_tunable(request, run.predictor);
  profiler::TuneOptions options = options_of(request, run, print);
  const std::int64_t devices = tuned_devices(request, run, options);
  require_healthy(store, print);
  // Must come before any CUDA call loads code.
  const Tracing tracing(run.predictor.machine().profile.device);
  // The tasks of several GPUs are timed by events.
  if (devices == 1) options.collector = tracing.collector();
  const auto pinned_once = engine::keep_host_memory();
  print(iteration_head());
  const auto result = profiler::autotune(run, options);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&result)) {
    std::fputs((json ? to_json_text(*infeasible) : infeasible_table(*infeasible)).c_str(), stdout);
    return static_cast<int>(ExitCode::does_not_fit);
  }
  profiler::TuneOutcome outcome = std::get<profiler::TuneOutcome>(result);
  std::optional<profiler::Verification> verification;
  if (request.has("--verify")) verification = verify(request, run, store, outcome, print);
  const auto curves = sweep_fields(swept, run, outcome, options.steps, print);

  const auto plan = profiler::keep(outcome, run);
  const std::string calibration =
      store.calibration_file(run.predictor.machine().calibration_hash).string();
  print(fmt::format("kept, and picked up by train: {}calibration {}\n",
                    plan ? "plan " + plan->string() + ", " : "", calibration));
  const std::filesystem::path page =
      request.value("--report").value_or(report_file(store, outcome.step.prediction).string());
  planner::write_whole_file(page,
                            profiler::tune_report(report_of(run, outcome, verification, curves)));
  print("report: " + page.string() + "\n");
  if (json) {
    sim::Json out = tuned_json(outcome, sizes, verification, curves);
    out["plan_file"] = plan ? sim::Json(plan->string()) : sim::Json(nullptr);
    out["calibration_file"] = calibration;
    out["report_file"] = page.string();
    std::cout << out.dump(2) << '\n';
  }
  if (!outcome.holds) refuse(outcome.iterations.back());
  if (verification && !verification->holds(kTuneTolerance)) {
    throw Error(ExitCode::not_converged,
                "a plan that had never run missed its prediction by more than 5 % (table above)");
  }
  return 0;
}

}  // namespace sluice::cli
