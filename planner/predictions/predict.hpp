// The prediction of one plan on one machine: step time with an interval, its bound, memory, and
// where the time goes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/predictions/bound.hpp"
#include "planner/predictions/ratio_interval.hpp"
#include "planner/predictions/stalls.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Shares (0 to 1) of the step's critical path whose costs rest on each kind of evidence; they sum
/// to 1.
struct EvidenceShares {
  double measured = 0, fitted = 0, datasheet = 0;
};

/// What is predicted of a plan on a machine: its step time with an interval, memory and where the
/// time goes.
struct Prediction {
  std::int64_t parameters = 0;
  bool fits = true;
  /// Predicted step time: the period of the simulated step graph, to the nanosecond.
  Duration step{0};
  /// Times of the steps of one cycle, in order, where the steps of a long run differ in a pattern
  /// that repeats; `step` is their mean. Empty where all steps are alike.
  std::vector<Duration> cycle;
  Seconds step_low{0}, step_high{0};  ///< 90 % interval of the step.
  double tokens_per_s = 0;
  FlopsPerSecond model_flops{0};
  /// FLOP/s that the model needs (model_flops) over the dense bf16 peak; none where the profile has
  /// no peak.
  std::optional<double> mfu;
  /// The job's bound on the machine; where the plan does not fit, the bound on a machine with the
  /// memory that it takes.
  Bound bound;
  Memory memory;
  /// Share (0 to 1) of the period for which each lane is busy, by the lane's name.
  std::vector<std::pair<std::string, double>> busy;
  StallTimes stalls;
  EvidenceShares evidence;
  /// The numbers that the step rests on, the largest share of its variance first.
  std::vector<BasisLine> basis;
  StepErrors errors;  ///< Causes of the step's error, for comparisons (ratio_interval).
  /// What a ledger says of the prediction beside its hashes: the name of the machine, the job in
  /// words ("Qwen2.5-7B, 32 x 1024 tokens a step"), and, in `knowledge`, what is known of the
  /// machine.
  std::string machine, job;
  Knowledge knowledge = Knowledge::catalogue;
  CostSwitches terms;  ///< Terms of the model of time that are on in the prediction.
  Plan plan;
  std::string plan_hash, job_hash, profile_hash, cost_model_hash;
  /// Numerics id that runs on this machine are expected to state, so far as the profile tells it
  /// (numerics_class).
  std::string numerics_id;
  std::vector<LayoutRow> layout;

  [[nodiscard]] double bound_ratio() const { return to_seconds(step) / bound.time; }
};

/// A prediction and the step graph that was simulated for it.
struct PredictedStep {
  Prediction prediction;
  StepGraph graph;
  /// Predicted start and end of every task, by task id. Where steps differ (Prediction::cycle),
  /// those of the last three steps of `many`, counted from the first start among them.
  std::vector<TaskTimes> times;
  /// The graph of many steps from which the step was read where steps differ (Prediction::cycle);
  /// none where all steps are alike.
  std::optional<sim::TaskGraph> many = std::nullopt;

  /// The graph whose simulation gives the predicted step as its period.
  [[nodiscard]] const sim::TaskGraph& simulated() const { return many ? *many : graph.graph; }
};

/// Step time and memory of a plan, by which a search compares plans.
struct PlanScore {
  Duration step{0};  ///< Predicted step; 0 where the plan was not simulated.
  /// Lower bound of the step by chains of tasks alone (chain_bound); 0 where it was not asked for.
  Seconds chain{0};
  Bytes hbm{0}, host{0};  ///< Peak of device and of host memory, in bytes, as in Memory.
};

/// Predicts plans of one job on one machine. Immutable; safe to share between threads.
class Predictor {
 public:
  /// A predictor of plans of `job` on `machine`, with costs from its profile and `calibration`.
  /// `switches` turns terms of the model of time off. Searches and bounds are of plans of `ranks`
  /// ranks (Plan::ranks), which must be one of ranks_of(job).
  Predictor(Job job, ResolvedMachine machine, Calibration calibration,
            Residency residency = Residency::automatic, CostSwitches switches = {},
            std::int64_t ranks = 1);

  /// Predicts `plan`. Throws BadRequest where it is not a plan of this job. A plan that does not
  /// fit is predicted all the same, with `fits` false.
  [[nodiscard]] PredictedStep predict(const Plan& plan) const;
  /// Step time and memory of `plan`. A plan that exceeds a capacity is not simulated. With
  /// `enough`, `chain` is computed too, and a plan whose chain alone takes at least that long is
  /// not simulated either.
  [[nodiscard]] PlanScore score(const Plan& plan,
                                std::optional<Duration> enough = std::nullopt) const;

  /// The predicted step time of `plan`, whatever memory it takes. Takes about half as long to
  /// compute as score().
  [[nodiscard]] Duration step(const Plan& plan) const;

  /// A predictor for the same job and the same machine with `host` bytes of host memory.
  [[nodiscard]] Predictor with_host(Bytes host) const;
  /// A predictor for the same machine and the same job with `batch_size` sequences a step.
  [[nodiscard]] Predictor with_batch(std::int64_t batch_size) const;

  [[nodiscard]] const Job& job() const { return job_; }
  /// Number of ranks of the plans that are searched.
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  /// What one rank computes of the job (part_of_rank); with one rank the job itself.
  [[nodiscard]] const Job& part() const { return part_; }
  /// A plan with these ranks of `rounds` rounds, which must divide a rank's micro-batches, in which
  /// every unit has the choices of `unit`; otherwise default values.
  [[nodiscard]] Plan plan_of(const UnitPlan& unit, std::int64_t rounds) const;
  [[nodiscard]] const ResolvedMachine& machine() const { return machine_; }
  [[nodiscard]] const ProfileCostModel& costs() const { return *costs_; }
  /// The bound over all plans of the job with these ranks on the machine.
  [[nodiscard]] const Bound& bound() const { return bound_; }
  /// The bound over plans that take as much memory as `memory`, whether the machine has it or not.
  [[nodiscard]] Bound bound_with(const Memory& memory) const;
  /// Times of the passes of one rank.
  [[nodiscard]] const PassTimes& pass_times() const { return pass_times_; }
  [[nodiscard]] Residency residency() const { return residency_; }

 private:
  [[nodiscard]] Bound bound_on(const ResolvedMachine& machine) const;

  Job job_;
  std::int64_t ranks_;
  Job part_;
  ResolvedMachine machine_;
  Residency residency_;
  bool taught_;  ///< Whether the calibration holds what runs took.
  std::shared_ptr<const ProfileCostModel> costs_;
  PassTimes pass_times_;
  Bound bound_;
};

/// The prediction of `plan` for `job` on `machine`. Throws BadRequest where it is not a plan of the
/// job.
[[nodiscard]] Prediction predict(const Job& job, const Plan& plan, const ResolvedMachine& machine,
                                 const Calibration& calibration);

/// The plan file that holds the prediction's plan, its layout and the prediction.
[[nodiscard]] PlanFile to_plan_file(const Prediction& prediction);

/// Part of a numerics id that the profile tells: device kind and architecture. Runs state the full
/// numerics id, which library versions and kernels enter too.
[[nodiscard]] std::string numerics_class(const MachineProfile& profile);

}  // namespace sluice::planner
