#include "cli/shown/step_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/shown/terminal_width.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

/// The lane that is predicted to be busiest of those whose work shows progress; the launch lane is
/// left out, because launches are asked for long before they run.
StepWatch::LaneWork busiest_of(const planner::Prediction& prediction) {
  StepWatch::LaneWork busiest;
  for (std::size_t i = 0; i < planner::kLaneKinds; ++i) {
    const auto lane = static_cast<planner::LaneKind>(i);
    if (lane == planner::LaneKind::launch) continue;
    for (const auto& [name, share] : prediction.busy) {
      const Duration work(std::llround(share * static_cast<double>(prediction.step.count())));
      if (name == planner::to_string(lane) && work > busiest.work) busiest = {lane, work};
    }
  }
  return busiest;
}

}  // namespace

StepWatch::StepWatch(const profiler::LaneMeter& meter, const planner::Prediction& prediction,
                     Times times)
    : meter_(meter),
      busiest_(busiest_of(prediction)),
      predicted_(to_seconds(prediction.step)),
      times_(times),
      terminal_(isatty(STDERR_FILENO) != 0),
      thread_([this] { watch(); }) {}

StepWatch::~StepWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StepWatch::begins(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  began_ = said_ = Clock::now();
}

void StepWatch::ends() {
  const std::lock_guard lock(mutex_);
  step_ = 0;
}

void StepWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, times_.look_every, [this] { return over_; })) {
    const auto now = Clock::now();
    if (step_ > 0 && busiest_.work > Duration(0) && now - began_ >= times_.silent) say(now);
  }
}

void StepWatch::say(Clock::time_point now) {
  if (!terminal_ && now - said_ < times_.line_every) return;
  said_ = now;
  // Lanes report some of their tasks late, so this share says little about the time left; the
  // prediction does.
  const double share = std::min(1.0, static_cast<double>(meter_.worked(busiest_.lane).count()) /
                                         static_cast<double>(busiest_.work.count()));
  const std::string text = "step " + std::to_string(step_) + " " +
                           std::to_string(static_cast<int>(100 * share)) + " %, " +
                           planner::format_seconds(now - began_) + " of " +
                           planner::format_seconds(predicted_) + " predicted";
  if (terminal_) {
    show_in_place(text);
  } else {
    sim::tell(text);
  }
}

}  // namespace sluice::cli
