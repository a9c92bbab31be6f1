// A rehearsal: the run's true step graph on a host that is too small for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/run_folders/run_folder.hpp"
#include "planner/requests/request.hpp"
#include "profiler/training/rehearsal_plan.hpp"
#include "profiler/training/rehearsed_run.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// Number of steps of a rehearsal, unless the run states a number of steps that is not the default.
inline constexpr std::int64_t kRehearsedSteps = 5;

/// One rehearsal, from making its folder to writing its result.
class RehearsalRun {
 public:
  /// Makes the rehearsal's folder and writes the prediction to it. All arguments must outlive this
  /// object.
  RehearsalRun(const planner::RunConfig& config, const planner::Request& planning,
               const RehearsalPlan& plan, RunObserver& observer);
  RehearsalRun(const RehearsalRun&) = delete;  // Parts of it refer to others.
  RehearsalRun& operator=(const RehearsalRun&) = delete;

  /// Runs the steps until the last, or until `interrupted` is set and the current step has ended;
  /// then writes the measurement to the folder, and the measured trace to it and to the file
  /// `trace_out` where given. Throws Error(not_converged) if values did not stay finite.
  void rehearse(const std::atomic<bool>& interrupted, const std::optional<std::string>& trace_out);

  /// Results of the rehearsal; complete once rehearse() has returned.
  [[nodiscard]] const Rehearsed& rehearsed() const { return run_; }

 private:
  void execute(const std::atomic<bool>& interrupted);

  const planner::ResolvedMachine& machine_;
  const RehearsalPlan& plan_;
  RunObserver& observer_;
  engine::RunFolder folder_;
  Rehearsed run_;
  engine::RunBeginning beginning_;
};

}  // namespace sluice::profiler
