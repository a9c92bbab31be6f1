// Observers that show a run on the terminal (bars, a line per step), and tell the signal handlers
// of it.
#pragma once

#include "cli/shown/progress.hpp"
#include "cli/words/interrupt.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::cli {

/// Observer that shows the progress of any run, and tells `interrupt` which files to remove and
/// when a save is possible.
class ShownRun : public profiler::RunObserver {
 public:
  /// Observes one run; `interrupt` must outlive this object.
  explicit ShownRun(InterruptFlag& interrupt) : interrupt_(interrupt) {}

  profiler::AmountShown amount(const std::string& what) override;
  void will_write(const std::vector<std::filesystem::path>& files) override;
  void begun() override;

 private:
  InterruptFlag& interrupt_;
};

/// Observer of a run of `sluice train`: shows steps by a bar if stderr is a terminal, else as
/// `otherwise` says.
class ShownTraining : public ShownRun {
 public:
  ShownTraining(InterruptFlag& interrupt, Progress::Where otherwise)
      : ShownRun(interrupt), otherwise_(otherwise) {}
  std::unique_ptr<profiler::StepFollower> follow(const profiler::LaneMeter& meter,
                                                 const planner::Prediction& prediction,
                                                 profiler::StepsAhead steps) override;

 private:
  Progress::Where otherwise_;
};

/// Observer of a rehearsal: prints a line for each step, or none.
class ShownRehearsal : public ShownRun {
 public:
  enum class Lines { none, each };
  ShownRehearsal(InterruptFlag& interrupt, Lines lines) : ShownRun(interrupt), lines_(lines) {}
  std::unique_ptr<profiler::StepFollower> follow(const profiler::LaneMeter& meter,
                                                 const planner::Prediction& prediction,
                                                 profiler::StepsAhead steps) override;

 private:
  Lines lines_;
};

}  // namespace sluice::cli
