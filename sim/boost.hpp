// Boost: a lane works faster after it rested, like a processor whose clock is limited by a power
// cap.
#pragma once

namespace sluice::sim {

/// Parameters of a lane's boost: gains in speed per unit of rest, the highest speed, and the times
/// over which rest is averaged. 0 <= gain and lasting_gain, together <= 1; most >= 1; windows > 0.
/// All times that LaneRest takes are in the unit of `window`.
struct RestRule {
  double gain, most, window;
  double lasting_gain = 0, lasting_window = 1;
};

/// State of a lane's boost. A processor that draws more at full clock than its power cap allows
/// slows down; how much depends on its draw over the last tens of milliseconds, and a little on
/// that over some tenths of a second. The rest r of a lane is the leaky average of its idleness,
///   dr/dt = (i - r) / window,   i = 1 while it idles, 0 while a task runs (or is in its latency),
/// and l is the same average over `lasting_window`. A task of which the share b boosts (0 to 1;
/// what draws less power leaves the clock as it is) runs at speed
///   1 + b x (min(most, 1 + gain x r) - 1 + lasting_gain x l);
/// 1 is the speed of a lane that never rests. While a task runs, r and l decay by e^(-t / window),
/// so that both directions have closed forms, or are roots of a concave one.
///
/// Resting never pays: the integral of r (or of l) over any time is at most the time that the lane
/// idled (from r = l = 0), so that an idle second gains at most `gain` + `lasting_gain` <= 1
/// seconds. A lane's time is therefore at least its work at speed 1, and bounds of lanes hold with
/// boost, too.
///
/// Source: fitted on an H200 (history: 2026-11-22-sustained-clocks); the lasting part, on eleven
/// hosts (experiments/results/current/prediction-study-eleven-hosts).
class LaneRest {
 public:
  explicit LaneRest(const RestRule& rule) : rule_(rule) {}

  /// A copy of this state for a task that takes the share `share` (0 to 1) of the boost.
  [[nodiscard]] LaneRest of_share(double share) const;

  [[nodiscard]] double rest() const { return rest_; }
  [[nodiscard]] double lasting() const { return lasting_; }
  void set_rest(double rest, double lasting) {
    rest_ = rest;
    lasting_ = lasting;
  }
  void idle_for(double time);
  void run_for(double time);

  /// Work that the lane does in the next `time` if it does not idle, stated as its time at speed 1.
  [[nodiscard]] double work_in(double time) const;
  /// Time that the lane takes from now on for `work` (its time at speed 1); the inverse of
  /// work_in().
  [[nodiscard]] double time_for(double work) const;

 private:
  /// Least rest at which the lane reaches speed `most`, lasting rest left aside.
  [[nodiscard]] double enough() const { return (rule_.most - 1) / rule_.gain; }
  /// Time from now on for which a running lane keeps speed `most`; 0 if it rested too little.
  [[nodiscard]] double time_at_most() const;
  /// Speed that the lane will have after it has run for `time` from now on, relative to a lane that
  /// never rests.
  [[nodiscard]] double speed_after(double time) const;

  RestRule rule_;
  double rest_ = 0, lasting_ = 0;
};

}  // namespace sluice::sim
