// Reliefs: the step with more of one resource of the machine.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/explanation/machine_resources.hpp"
#include "planner/explanation/more_kept.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// The step of a plan with more of one resource of the machine.
struct Relief {
  std::string resource;  ///< JSON name of the resource (machine_resources).
  double factor = 1;     ///< Amount of the resource over the machine's own amount; above 1.
  Duration step{0};
  Plan plan = {};  ///< Plan that takes `step` on the machine with more of the resource.
  /// Whether a plan was searched for on that machine; otherwise `plan` is the explained one.
  bool searched = false;
  /// Whether `step` is not simulated exactly, but is the explained step times a ratio from coarse
  /// simulation (CoarseSteps).
  bool coarse = false;
  /// `step` over the explained step, with its interval; none where `coarse`, and where there was no
  /// time to find it.
  std::optional<RatioInterval> ratio = {};
};

/// Factor by which an explanation's reliefs increase a resource.
inline constexpr double kMore = 1.1;

/// Whether a relief may come from another plan than the explained one. `never`: the plan stays, as
/// a policy's must. `where_it_helps`: quick searches on the changed machine for the rate that helps
/// most and for memories that the plan nearly fills.
enum class Replan { never, where_it_helps };

/// Computes reliefs of a plan. Where the settings have an end time, or the plan's graph has more
/// tasks than a quick search may simulate, rates are tried by coarse simulation, and searches that
/// would come too late or take too long are left out and noted. More host memory for a plan that
/// uses the disk moves what then fits off the disk, without a search. The constructor's arguments
/// must outlive the object; `tasks` is the number of tasks of the plan's graph.
class Reliefs {
 public:
  Reliefs(const Predictor& predictor, const Calibration& calibration,
          const SearchSettings& settings, std::size_t tasks)
      : predictor_(predictor), calibration_(calibration), settings_(settings), tasks_(tasks) {}

  /// A relief for each resource that the plan can depend on, with `factor` times as much of it and
  /// the same plan; the most helpful first. `step` is the plan's step on the unchanged machine.
  [[nodiscard]] std::vector<Relief> of_all(const Plan& plan, Duration step, double factor);

  /// The relief with `factor` times as much of `resource` and the same plan; for
  /// Replan::where_it_helps, with a plan from a quick search if that is faster.
  [[nodiscard]] Relief of(const MachineResource& resource, const Plan& plan, Duration step,
                          double factor, Replan replan);

  /// For each memory that the plan nearly fills, replaces its relief in `all` by that of a plan
  /// whose blocks keep more in the larger memory, where that is faster.
  void keep_more_of(std::vector<Relief>& all, const Memory& memory);

  /// Replaces reliefs in `all` by those of quick searches, where these find faster plans: for the
  /// first rate, and for each memory that the plan nearly fills and whose relief is not yet faster
  /// than `step`.
  void search_again(std::vector<Relief>& all, const Memory& memory, Duration step);

  /// Sets Relief::ratio of those of `all` whose step differs from that of `explained`.
  void set_ratios(std::vector<Relief>& all, const Prediction& explained) const;

  /// Parts that were left out for lack of time, in words.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  /// Whether the plan's graph has more tasks than a quick search may simulate.
  [[nodiscard]] bool costly() const;
  [[nodiscard]] bool hurried() const { return settings_.until.is_set() || costly(); }
  /// Step of the plan by coarse simulation; none where rates are tried by exact simulation.
  [[nodiscard]] std::optional<Duration> coarse_step(const Predictor& predictor,
                                                    const Plan& plan) const;
  /// Relief with the same plan, to which more of a capacity makes no difference. `coarse` is the
  /// plan's coarse step on the unchanged machine, if there is one.
  [[nodiscard]] Relief as_is(const MachineResource& resource, const Plan& plan, Duration step,
                             double factor, std::optional<Duration> coarse) const;
  [[nodiscard]] Predictor with(const Relief& relief) const;
  /// Replaces the plan of `relief` by that of a quick search with `settings`, if that is faster.
  void search_again(Relief& relief, SearchSettings settings) const;
  /// Whether too little time is left for `what`, a part of the explanation; if so, notes it as left
  /// out.
  bool leave_out(const std::string& what);

  const Predictor& predictor_;
  const Calibration& calibration_;
  const SearchSettings& settings_;
  std::size_t tasks_;  ///< Number of tasks of the explained plan's graph.
  /// Time that one coarse simulation of the plan took.
  std::chrono::steady_clock::duration coarse_took_{0};
  std::vector<std::string> left_out_;
};

}  // namespace sluice::planner
