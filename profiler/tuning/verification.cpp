#include "profiler/tuning/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/backends/backend.hpp"
#include "engine/run_folders/ledger.hpp"
#include "planner/plans/plan_words.hpp"
#include "profiler/tuning/measuring_session.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

using planner::Plan;

/// `base` with every block streamed, in `rounds` rounds, with `buffers` weight buffers.
Plan streaming_plan(const planner::Job& job, const Plan& base, std::int64_t rounds,
                    std::int64_t buffers) {
  Plan plan = base;
  plan.rounds = rounds;
  plan.micro_batches_per_round = job.micro_batches() / rounds;
  set_weight_buffers(plan, buffers);
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    plan.units[unit] = planner::UnitPlan{.keep = base.units[unit].keep};
  }
  return plan;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

class Verifier {
 public:
  Verifier(const planner::Request& run, const TuneOutcome& tuned,
           const VerificationOptions& options)
      : run_(run), tuned_(tuned), options_(options), runs_(tuned.runs) {
    result_.calibration = tuned.calibration;
  }

  Verification verify() {
    const std::int64_t chosen = choose_rounds();
    for (const std::int64_t rounds : rounds_) {
      if (rounds != chosen) tune_on(rounds);
    }
    for (const MeasuredRun& run : runs_) result_.tuned.push_back(planner::plan_hash(run.plan));
    promise(result_.best_depth, "best depth", best_depth(chosen));
    promise(result_.one_buffer, "one buffer", plan_with(chosen, 1));
    for (const VerifiedPlan* plan : {&result_.best_depth, &result_.one_buffer}) {
      check(std::find(result_.tuned.begin(), result_.tuned.end(), plan->plan_hash) ==
                result_.tuned.end(),
            "a verified plan has never run");
    }
    measure();
    return result_;
  }

 private:
  [[nodiscard]] const planner::Job& job() const { return run_.predictor.job(); }
  [[nodiscard]] planner::Predictor predictor() const {
    return {job(), run_.predictor.machine(), result_.calibration, run_.predictor.residency()};
  }
  [[nodiscard]] Plan plan_with(std::int64_t rounds, std::int64_t buffers) const {
    return streaming_plan(job(), tuned_.step.prediction.plan, rounds, buffers);
  }
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  /// The plan of fewest buffers among those within a thousandth of the fastest that fits.
  [[nodiscard]] Plan best_depth(std::int64_t rounds) const {
    const planner::Predictor predictor = this->predictor();
    const std::int64_t most = std::min<std::int64_t>(job().model.layers, 6);
    std::optional<std::pair<Duration, Plan>> best;
    for (std::int64_t buffers = 2; buffers <= most; ++buffers) {
      const Plan plan = plan_with(rounds, buffers);
      const Duration step = predictor.score(plan).step;
      if (step.count() == 0) break;  // more buffers only need more memory
      if (!best || to_seconds(step) < 0.999 * to_seconds(best->first)) best = {step, plan};
    }
    if (!best) throw BadRequest("limits.hbm: two weight buffers do not fit; allow more");
    return best->second;
  }

  [[nodiscard]] bool ran_in(std::int64_t rounds) const {
    return std::any_of(runs_.begin(), runs_.end(),
                       [&](const MeasuredRun& run) { return run.plan.rounds == rounds; });
  }
  [[nodiscard]] bool ran_streaming_in(std::int64_t rounds) const {
    return std::any_of(runs_.begin(), runs_.end(), [&](const MeasuredRun& run) {
      return run.plan.rounds == rounds &&
             run.plan.units == plan_with(rounds, run.plan.weight_buffers).units;
    });
  }

  /// The number of rounds, among those that never ran, with which one buffer costs most; at most
  /// two of the others are kept for tuning. If tuning tried every number, chooses among those that
  /// never ran with every block streaming.
  std::int64_t choose_rounds() {
    rounds_ = divisors(job().micro_batches());
    std::vector<std::int64_t> never;
    std::copy_if(rounds_.begin(), rounds_.end(), std::back_inserter(never),
                 [&](std::int64_t rounds) { return !ran_in(rounds); });
    if (never.empty()) {
      std::copy_if(rounds_.begin(), rounds_.end(), std::back_inserter(never),
                   [&](std::int64_t rounds) { return !ran_streaming_in(rounds); });
    }
    if (never.empty() || rounds_.size() < 3) {
      throw BadRequest(
          "batch_size: verifying takes three numbers of rounds, one of them not run "
          "yet; make batch_size / micro_batch a multiple of 4, or 8");
    }
    const planner::Predictor predictor = this->predictor();
    std::int64_t chosen = never.front();
    double most = 0;
    for (const std::int64_t rounds : never) {
      const Duration one = predictor.score(plan_with(rounds, 1)).step;
      if (one.count() == 0) continue;
      const double ratio = to_seconds(one) / to_seconds(predictor.score(best_depth(rounds)).step);
      if (ratio > most) {
        most = ratio;
        chosen = rounds;
      }
    }
    if (most == 0) throw BadRequest("limits.hbm: no streaming plan fits; allow more");
    // The neighbours on both sides: their tasks are those of the chosen plan.
    std::erase(rounds_, chosen);
    std::stable_sort(rounds_.begin(), rounds_.end(), [&](std::int64_t a, std::int64_t b) {
      const auto distance = [&](std::int64_t rounds) {
        return std::abs(std::log2(static_cast<double>(rounds) / static_cast<double>(chosen)));
      };
      return distance(a) < distance(b);
    });
    rounds_.resize(std::min<std::size_t>(rounds_.size(), 2));
    return chosen;
  }

  void tune_on(std::int64_t rounds) {
    const planner::Predictor predictor = this->predictor();
    const Plan plan = best_depth(rounds);
    const planner::PredictedStep step = predictor.predict(plan);
    const std::int64_t steps = std::max<std::int64_t>(5, options_.steps / 2) + 2;
    MeasuringSession session(predictor, step, steps);
    MeasuredRun measured = session.run(steps);
    const RunResidual missed =
        residual(job(), run_.predictor.machine().profile, result_.calibration, measured);
    say(fmt::format("tuning on {}: predicted {}, measured {}", planner::describe_plan(plan),
                    planner::format_seconds(missed.predicted),
                    planner::format_seconds(missed.measured)));
    runs_.push_back(std::move(measured));
    result_.calibration =
        fit_calibration(job(), run_.predictor.machine().profile, result_.calibration, runs_)
            .calibration;
  }

  void promise(VerifiedPlan& verified, const char* name, const Plan& plan) {
    const planner::PredictedStep step = predictor().predict(plan);
    const planner::Prediction& prediction = step.prediction;
    verified.name = name;
    verified.plan = plan;
    verified.plan_hash = prediction.plan_hash;
    verified.predicted = to_seconds(prediction.step);
    verified.errors = prediction.errors;
    verified.low = prediction.step_low;
    verified.high = prediction.step_high;
    const std::string numerics_id = engine::numerics_id(job(), run_.predictor.machine());
    engine::Ledger ledger(options_.ledger);
    verified.ledger_line =
        ledger.append(engine::LedgerPrediction{.job_hash = prediction.job_hash,
                                               .plan_hash = prediction.plan_hash,
                                               .cost_model_hash = prediction.cost_model_hash,
                                               .numerics_id = numerics_id,
                                               .commit = std::string(commit()),
                                               .step = verified.predicted,
                                               .step_low = verified.low,
                                               .step_high = verified.high,
                                               .knowledge = to_string(prediction.knowledge),
                                               .machine = prediction.machine,
                                               .job = prediction.job});
    say(fmt::format("predicted, never run: {} ({}): {}", name, planner::describe_plan(plan),
                    planner::format_seconds(verified.predicted)));
  }

  /// Bursts of the two plans alternate, so that drift affects both.
  void measure() {
    const planner::Predictor predictor = this->predictor();
    const std::int64_t steps = (options_.steps + options_.bursts - 1) / options_.bursts + 1;
    struct Runner {
      VerifiedPlan* verified;
      planner::PredictedStep step;
      std::unique_ptr<MeasuringSession> session;
      std::vector<double> times;
    };
    std::vector<Runner> runners;
    for (VerifiedPlan* plan : {&result_.best_depth, &result_.one_buffer}) {
      runners.push_back({plan, predictor.predict(plan->plan), nullptr, {}});
      runners.back().session =
          std::make_unique<MeasuringSession>(predictor, runners.back().step, steps);
    }
    for (std::int64_t burst = 0; burst < options_.bursts; ++burst) {
      for (Runner& runner : runners) {
        const MeasuredRun run = runner.session->run(steps);
        // The first step of all warms caches and page tables up.
        const auto times = step_times(runner.step.graph, run);
        for (std::size_t i = burst == 0 ? 1 : 0; i < times.size(); ++i) {
          runner.times.push_back(times[i].count());
        }
      }
    }
    engine::Ledger ledger(options_.ledger);
    for (Runner& runner : runners) {
      runner.verified->steps = static_cast<std::int64_t>(runner.times.size());
      runner.verified->measured = Seconds(median(runner.times));
      ledger.append(engine::LedgerMeasurement{.prediction = runner.verified->ledger_line,
                                              .steps = runner.verified->steps,
                                              .median_step = runner.verified->measured});
    }
  }

  const planner::Request& run_;
  const TuneOutcome& tuned_;
  const VerificationOptions& options_;
  std::vector<MeasuredRun> runs_;
  std::vector<std::int64_t> rounds_;
  Verification result_;
};

}  // namespace

bool Verification::holds(double tolerance) const {
  return std::abs(best_depth.error()) <= tolerance && std::abs(one_buffer.error()) <= tolerance &&
         std::abs(ratio_error()) <= tolerance;
}

Verification verify_prediction(const planner::Request& run, const TuneOutcome& tuned,
                               const VerificationOptions& options) {
  return Verifier(run, tuned, options).verify();
}

}  // namespace sluice::profiler
