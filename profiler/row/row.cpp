#include "profiler/row/row.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/backends/backend.hpp"
#include "engine/run_folders/ledger.hpp"
#include "engine/training/session.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/run_devices.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

using Wall = std::chrono::steady_clock;

constexpr std::uint64_t kRowSeed = 1;
/// Learning rate small enough that the loss stays near that of random weights.
constexpr double kLearningRate = 1e-5;

[[noreturn]] void refuse(const planner::Tier tier, Bytes missing) {
  throw Error(ExitCode::does_not_fit, std::string("does not fit: ") + to_string(tier) +
                                          " is short by " + planner::format_bytes(missing) +
                                          " even with the plan of least memory: raise --" +
                                          to_string(tier) + " or lower --micro-batch");
}

planner::PredictedStep planned(const planner::Request& request) {
  auto found = choose_plan(request, {.unfit = planner::Unfit::kept, .remedies = false});
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
    refuse(infeasible->tier, infeasible->short_by);
  }
  planner::ChosenPlan& chosen = std::get<planner::ChosenPlan>(found);
  for (std::size_t i = 0; i < planner::kTiers; ++i) {
    const planner::TierMemory& tier = chosen.step().prediction.memory[i];
    if (tier.fits()) continue;
    const bool file = chosen.source == planner::PlanSource::file;
    const planner::RunConfig& config = request.config;
    throw Error(ExitCode::does_not_fit,
                (file ? "plan: " + config.plan->string() : "policy: " + *config.policy) +
                    " does not fit: " + to_string(static_cast<planner::Tier>(i)) + " is short by " +
                    planner::format_bytes(tier.missing()) + ": leave --" +
                    (file ? "plan" : "policy") + " out to search");
  }
  return std::move(chosen.step());
}

/// Index of the median element; of two, the smaller.
std::size_t middle(const std::vector<Seconds>& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&times](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  return order[(order.size() - 1) / 2];
}

/// Sets the waterfall and the means over the steps after the warm-up.
void explain(const PromisedRow& row, const Recorder& recorder, MeasuredRow& measured) {
  const planner::StepGraph& graph = row.step.graph;
  const std::int64_t first = row.request.warm_up + 1;
  std::vector<planner::Waterfall> falls;
  std::vector<Seconds> periods;
  MeasuredRun run{row.step.prediction.plan, {}};
  for (std::int64_t step = first; step <= row.request.config.steps; ++step) {
    const auto spans = three_steps(recorder, step - 2);
    falls.push_back(planner::waterfall(planner::stall_times_of(graph, spans), row.ceilings));
    periods.push_back(to_seconds(falls.back().step));
    run.steps.push_back(recorder.spans(step));
  }
  measured.waterfall = falls[middle(periods)];
  measured.tasks = task_means(graph, row.job, row.machine.profile, row.step.times, run);
}

}  // namespace

PromisedRow promise_row(const RowRequest& request) {
  const OwnDeviceMemory memory;
  const planner::RunConfig& config = request.config;
  planner::require_one_device(config, "a row");
  if (request.warm_up < 2) throw BadRequest("warm_up: must be at least 2 steps");
  if (config.steps <= request.warm_up) {
    throw BadRequest("steps: " + std::to_string(config.steps) + " must be more than the " +
                     std::to_string(request.warm_up) + " of the warm-up");
  }
  const bool runs = request.purpose == RowRequest::Purpose::run;
  if (runs && config.backend) engine::require_backend(*config.backend);
  const planner::Request planning = planner::resolve(config);
  const planner::Predictor& predictor = planning.predictor;
  if (runs) engine::require_backend(predictor.machine().profile.device);
  PromisedRow row{.request = request,
                  .job = predictor.job(),
                  .machine = predictor.machine(),
                  .step = planned(planning),
                  .ceilings = planner::ceilings_of(predictor.job(), predictor.machine(),
                                                   planning.calibration, config.residency),
                  .waterfall = {},
                  .memory = memory};
  if (row.request.commit.empty()) row.request.commit = std::string(commit());
  if (runs) row.step.prediction.numerics_id = engine::numerics_id(row.job, row.machine);
  row.waterfall = planner::waterfall(row.step.prediction.stalls, row.ceilings);
  return row;
}

MeasuredRow run_row(PromisedRow& row) {
  const planner::Prediction& prediction = row.step.prediction;
  const RowRequest& request = row.request;
  check(request.purpose == RowRequest::Purpose::run, "the row is to run");
  MeasuredRow measured;
  engine::Ledger ledger(request.ledger);
  measured.promise =
      ledger.append(engine::LedgerPrediction{.job_hash = prediction.job_hash,
                                             .plan_hash = prediction.plan_hash,
                                             .cost_model_hash = prediction.cost_model_hash,
                                             .numerics_id = prediction.numerics_id,
                                             .commit = request.commit,
                                             .step = row.predicted(),
                                             .step_low = prediction.step_low,
                                             .step_high = prediction.step_high,
                                             .knowledge = to_string(prediction.knowledge),
                                             .machine = prediction.machine,
                                             .job = prediction.job});
  const Wall::time_point begin = Wall::now();
  const std::int64_t steps = request.config.steps;
  // A step is explained with the two before it.
  Recorder recorder(row.step.graph, {.first = request.warm_up - 1, .count = steps});
  engine::SyntheticTokens tokens(row.job.model.vocab, kRowSeed);
  engine::Session session(
      row.job, row.step.graph,
      engine::make_device(row.job, row.machine, row.step.graph.layout, prediction.plan.threads),
      tokens, [](std::int64_t) { return kLearningRate; }, {kRowSeed, /*repeated=*/true}, &recorder);
  measured.ready = Wall::now() - begin;
  std::optional<Wall::time_point> last;
  session.run_to(steps, [&](std::int64_t step, const engine::StepResult& result) {
    if (step == 1) measured.first_loss = result.loss;
    if (step > request.warm_up) measured.steps.emplace_back(result.end - *last);
    if (step == request.warm_up) row.memory.ask();
    last = result.end;
    measured.last_loss = result.loss;
  });
  row.memory.ask();
  measured.hbm_in_use = row.memory.most();
  measured.hbm_of_all = row.memory.most_of_all();
  measured.device_arena = session.touched(planner::Arena::device);
  measured.host_arena = session.touched(planner::Arena::host);
  std::vector<double> times;
  for (const Seconds time : measured.steps) times.push_back(time.count());
  measured.median = Seconds(median(times));
  measured.fastest = *std::min_element(measured.steps.begin(), measured.steps.end());
  measured.slowest = *std::max_element(measured.steps.begin(), measured.steps.end());
  ledger.append(engine::LedgerMeasurement{.prediction = measured.promise,
                                          .steps = static_cast<std::int64_t>(times.size()),
                                          .median_step = measured.median});
  explain(row, recorder, measured);
  return measured;
}

}  // namespace sluice::profiler
