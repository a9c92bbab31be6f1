#include "cli/training/shown_run.hpp"

#include <cstdio>

#include "cli/shown/amount_bar.hpp"
#include "cli/shown/step_watch.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

/// Follower that shows how far a long step is.
class WatchedSteps : public profiler::StepFollower {
 public:
  WatchedSteps(const profiler::LaneMeter& meter, const planner::Prediction& prediction)
      : watch_(meter, prediction) {}
  void begins(std::int64_t step) override { watch_.begins(step); }
  void ends() override { watch_.ends(); }

 private:
  StepWatch watch_;
};

class TrainedSteps : public WatchedSteps {
 public:
  TrainedSteps(const profiler::LaneMeter& meter, const planner::Prediction& prediction,
               profiler::StepsAhead steps, Progress::Where otherwise)
      : WatchedSteps(meter, prediction), progress_(steps.done, steps.all, otherwise) {}
  void step(const engine::StepMetrics& metrics) override { progress_.step(metrics); }
  void validation(std::int64_t step, double loss) override { progress_.validation(step, loss); }
  void gives_way() override { progress_.finish(); }

 private:
  Progress progress_;
};

class RehearsedSteps : public WatchedSteps {
 public:
  using WatchedSteps::WatchedSteps;
  void step(const engine::StepMetrics& metrics) override {
    std::printf("step %lld  %s (predicted %s)\n", static_cast<long long>(metrics.step),
                planner::format_seconds(metrics.step_time).c_str(),
                planner::format_seconds(metrics.predicted).c_str());
    std::fflush(stdout);
  }
};

}  // namespace

profiler::AmountShown ShownRun::amount(const std::string& what) { return amount_shown(what); }

void ShownRun::will_write(const std::vector<std::filesystem::path>& files) {
  interrupt_.will_take_back(files);
}

void ShownRun::begun() { interrupt_.will_save(); }

std::unique_ptr<profiler::StepFollower> ShownTraining::follow(const profiler::LaneMeter& meter,
                                                              const planner::Prediction& prediction,
                                                              profiler::StepsAhead steps) {
  return std::make_unique<TrainedSteps>(meter, prediction, steps, otherwise_);
}

std::unique_ptr<profiler::StepFollower> ShownRehearsal::follow(
    const profiler::LaneMeter& meter, const planner::Prediction& prediction,
    profiler::StepsAhead /*steps*/) {
  if (lines_ == Lines::none) return std::make_unique<WatchedSteps>(meter, prediction);
  return std::make_unique<RehearsedSteps>(meter, prediction);
}

}  // namespace sluice::cli
