// A lane that works faster after it rested: the clocks of a processor under a power cap.
#pragma once

namespace sluice::sim {

/// How rest speeds a lane up. 0 <= gain and lasting_gain, together <= 1; most >= 1; windows > 0.
/// All times are in the unit of `window`.
struct RestRule {
  double gain, most, window;
  double lasting_gain = 0, lasting_window = 1;
};

/// A processor that draws more than its power cap lets it at full clock slows down, and how far
/// follows from what it drew over some tens of milliseconds, and a little from what it drew over
/// some tenths of a second. Of a lane, with `rest` r the leaky average of its idleness,
///   dr/dt = (i - r) / window,   i = 1 while it idles, 0 while a task of it runs, in its latency
///   too,
/// and l the same over `lasting_window`, a task of which the share b boosts (0 to 1: what it draws
/// less leaves its clocks up as it is) runs at speed
///   1 + b x (min(most, 1 + gain x r) - 1 + lasting_gain x l);
/// 1 is the speed of a lane that never rests. While a task runs r and l decay by e^(-t / window),
/// so that both directions have closed forms, or are roots of a concave one.
///
/// Resting never pays: the integral of r (of l) over any time is at most what the lane idled (from
/// r = l = 0), so that an idle second buys at most `gain` + `lasting_gain` <= 1 seconds. A lane's
/// time is therefore at least its work at speed 1, which keeps bounds of lanes what they are
/// without boost.
///
/// Found, and fitted on an H200: history: 2026-11-22-sustained-clocks; what lasts, on
/// eleven: experiments/results/current/prediction-study-eleven-hosts.
class LaneRest {
 public:
  explicit LaneRest(const RestRule& rule) : rule_(rule) {}

  /// The same rest, for a task of which `share` boosts.
  [[nodiscard]] LaneRest of_share(double share) const;

  [[nodiscard]] double rest() const { return rest_; }
  [[nodiscard]] double lasting() const { return lasting_; }
  void set_rest(double rest, double lasting) {
    rest_ = rest;
    lasting_ = lasting;
  }
  void idle_for(double time);
  void run_for(double time);

  /// How long what the next `time` does would take at speed 1.
  [[nodiscard]] double work_in(double time) const;
  /// Its inverse: how long `work` takes from now on.
  [[nodiscard]] double time_for(double work) const;

 private:
  /// Rest above which `most` is reached.
  [[nodiscard]] double enough() const { return (rule_.most - 1) / rule_.gain; }
  /// From now on, at `most`.
  [[nodiscard]] double time_at_most() const;
  /// After it ran for `time` from now on.
  [[nodiscard]] double speed_after(double time) const;

  RestRule rule_;
  double rest_ = 0, lasting_ = 0;
};

}  // namespace sluice::sim
