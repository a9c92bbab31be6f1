// What one plan does on one machine: step time with an interval, its bound, memory, and where the
// time goes.
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
#include "planner/predictions/stalls.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Share of the step's critical path whose costs rest on each kind of evidence; they sum to 1.
struct EvidenceShares {
  double measured = 0, fitted = 0, datasheet = 0;
};

struct Prediction {
  std::int64_t parameters = 0;
  bool fits = true;
  Duration step{0};  ///< The steady period, exact.
  Seconds step_low{0}, step_high{0};
  double tokens_per_s = 0;
  FlopsPerSecond model_flops{0};
  std::optional<double> mfu;  ///< None where the profile has no dense bf16 peak.
  Bound bound;  ///< Where the plan does not fit: of a machine with the memory that it takes.
  Memory memory;
  std::vector<std::pair<std::string, double>> busy;  ///< Share of the period, by lane.
  StallTimes stalls;
  EvidenceShares evidence;
  CostSwitches terms;  ///< Of the model of time; what is off here was left out.
  Plan plan;
  std::string plan_hash, job_hash, profile_hash, cost_model_hash;
  std::string numerics_id;  ///< What this machine's runs are expected to state (numerics_class).
  std::vector<LayoutRow> layout;

  [[nodiscard]] double bound_ratio() const { return to_seconds(step) / bound.time; }
};

/// A prediction and the graph it was read from.
struct PredictedStep {
  Prediction prediction;
  StepGraph graph;
  std::vector<TaskTimes> times;  ///< One a task.
};

/// Step time and memory alone: what a search compares.
struct PlanScore {
  Duration step{0};
  Seconds chain{0};       ///< At least so long, by chains of tasks alone, where that was asked.
  Bytes hbm{0}, host{0};  ///< Peaks, as Memory has them.
};

/// Predicts plans of one job on one machine. Immutable; safe to share between threads.
class Predictor {
 public:
  Predictor(Job job, ResolvedMachine machine, Calibration calibration,
            Residency residency = Residency::automatic, CostSwitches switches = {});

  /// Throws BadRequest where the plan is not one of this job's. A plan that does not fit is
  /// predicted all the same, with `fits` false.
  [[nodiscard]] PredictedStep predict(const Plan& plan) const;
  /// Step time is 0 and not simulated where the plan exceeds a capacity.
  /// With `enough`, `chain` is said too, and what its chains alone hold up so long is not
  /// simulated.
  [[nodiscard]] PlanScore score(const Plan& plan,
                                std::optional<Duration> enough = std::nullopt) const;

  /// The step of a prediction alone, whatever memory it takes: in half of a score's time.
  [[nodiscard]] Duration step(const Plan& plan) const;

  /// Of the same machine with another host memory.
  [[nodiscard]] Predictor with_host(Bytes host) const;
  /// Of another number of sequences a step.
  [[nodiscard]] Predictor with_batch(std::int64_t batch_size) const;

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const ResolvedMachine& machine() const { return machine_; }
  [[nodiscard]] const ProfileCostModel& costs() const { return *costs_; }
  [[nodiscard]] const Bound& bound() const { return bound_; }
  [[nodiscard]] const PassTimes& pass_times() const { return pass_times_; }
  [[nodiscard]] Residency residency() const { return residency_; }

 private:
  [[nodiscard]] Bound bound_on(const ResolvedMachine& machine) const;
  /// Of plans that take as much memory, whether the machine has it or not.
  [[nodiscard]] Bound bound_with(const Memory& memory) const;

  Job job_;
  ResolvedMachine machine_;
  Residency residency_;
  std::shared_ptr<const ProfileCostModel> costs_;
  PassTimes pass_times_;
  Bound bound_;
};

[[nodiscard]] Prediction predict(const Job& job, const Plan& plan, const ResolvedMachine& machine,
                                 const Calibration& calibration);

/// The prediction as plan files keep it, with the layout of `step`.
[[nodiscard]] PlanFile to_plan_file(const Prediction& prediction);

/// Hash of what the profile says about numerics: device kind and architecture. Runs state the full
/// id, which library versions and kernels enter too.
[[nodiscard]] std::string numerics_class(const MachineProfile& profile);

}  // namespace sluice::planner
