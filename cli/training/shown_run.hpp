// A run on the terminal: bars, a line a step, and signals that ask it to stop.
#pragma once

#include "cli/shown/progress.hpp"
#include "cli/words/interrupt.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::cli {

/// What every run shows, and what signals are told of it.
class ShownRun : public profiler::RunObserver {
 public:
  /// `interrupt` outlives it.
  explicit ShownRun(InterruptFlag& interrupt) : interrupt_(interrupt) {}

  profiler::AmountShown amount(const std::string& what) override;
  void will_write(const std::vector<std::filesystem::path>& files) override;
  void begun() override;

 private:
  InterruptFlag& interrupt_;
};

/// A run of `sluice train`: lines where stderr is no terminal and `otherwise` says so.
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

/// A rehearsal: a line a step, or none.
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
