// A lane that works faster after it rested: the clocks of a processor under a power cap.
#pragma once

namespace sluice::sim {

/// A processor that draws more than its power cap lets it at full clock slows down, and how far
/// follows from what it drew over some tens of milliseconds. Of a lane, with `rest` r the leaky
/// average of its idleness,
///   dr/dt = (i - r) / window,   i = 1 while it idles, 0 while a task of it runs, in its latency
///   too,
/// a task of which the share b boosts (0 to 1: what it draws less leaves its clocks up as it is)
/// runs at speed 1 + b x (min(most, 1 + gain x r) - 1); 1 is the speed of a lane that never rests.
/// While a task runs r decays as e^(-t / window), so that both directions have closed forms.
///
/// Resting never pays: the integral of r over any time is at most what the lane idled (from r = 0),
/// so that an idle second buys at most `gain` <= 1 seconds. A lane's time is therefore at least its
/// work at speed 1, which keeps bounds of lanes what they are without boost.
///
/// Found, and fitted on an H200: experiments/results/2026-11-22-sustained-clocks.
class LaneRest {
 public:
  /// 0 <= gain <= 1, most >= 1, window > 0. All times are in the unit of `window`.
  LaneRest(double gain, double most, double window) : gain_(gain), most_(most), window_(window) {}

  /// The same rest, for a task of which `share` boosts.
  [[nodiscard]] LaneRest of_share(double share) const;

  [[nodiscard]] double rest() const { return rest_; }
  void set_rest(double rest) { rest_ = rest; }
  void idle_for(double time);
  void run_for(double time);

  /// How long what the next `time` does would take at speed 1.
  [[nodiscard]] double work_in(double time) const;
  /// Its inverse: how long `work` takes from now on.
  [[nodiscard]] double time_for(double work) const;

 private:
  /// Rest above which the speed is `most`.
  [[nodiscard]] double enough() const { return (most_ - 1) / gain_; }
  /// From now on, at `most`.
  [[nodiscard]] double time_at_most() const;

  double gain_, most_, window_;
  double rest_ = 0;
};

}  // namespace sluice::sim
