// What more of each resource does to one plan's step on one machine.
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

/// The step with more of one resource.
struct Relief {
  std::string resource;  ///< machine_resources' name.
  double factor = 1;     ///< So many times as much of it.
  Duration step{0};
  Plan plan = {};         ///< Takes that step there.
  bool searched = false;  ///< Planned anew; otherwise the plan as it is, on the faster machine.
  bool coarse = false;    ///< The step's ratio to the explained one is that of CoarseSteps.
};

/// More of a resource, for reliefs.
inline constexpr double kMore = 1.1;

/// Whether plans are looked for anew on each changed machine: a policy's plan stays what it is.
enum class Replan { never, where_it_helps };

/// Where the settings say until when, or the plan's graph has more tasks than a quick search may
/// simulate, rates are tried by coarse simulation, and searches that would come later, or take
/// longer, are left out and noted. More host memory for a plan that uses the disk takes off it what
/// then has room, and is not searched with. The arguments must outlive it.
class Reliefs {
 public:
  Reliefs(const Predictor& predictor, const Calibration& calibration,
          const SearchSettings& settings, std::size_t tasks)
      : predictor_(predictor), calibration_(calibration), settings_(settings), tasks_(tasks) {}

  /// `factor` times as much of each with the plan as it is, most helpful first.
  [[nodiscard]] std::vector<Relief> of_all(const Plan& plan, Duration step, double factor);

  /// `factor` times as much of one; with where_it_helps by a quick search, too.
  [[nodiscard]] Relief of(const MachineResource& resource, const Plan& plan, Duration step,
                          double factor, Replan replan);

  /// Plans that keep more, with more of a memory that the plan comes near to filling.
  void keep_more_of(std::vector<Relief>& all, const Memory& memory);

  /// A quick search for the first rate, and for the memories that the plan comes near to filling
  /// and that keeping more in them did not make faster than `step`.
  void search_again(std::vector<Relief>& all, const Memory& memory, Duration step);

  /// What there was no time for.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  /// One simulation takes longer than a quick search may.
  [[nodiscard]] bool costly() const;
  [[nodiscard]] bool hurried() const { return settings_.until.is_set() || costly(); }
  /// The plan's step by coarse simulation, where that is how rates are tried.
  [[nodiscard]] std::optional<Duration> coarse_step(const Predictor& predictor,
                                                    const Plan& plan) const;
  /// The plan as it is. More of a capacity changes nothing for it. `coarse`: its step here.
  [[nodiscard]] Relief as_is(const MachineResource& resource, const Plan& plan, Duration step,
                             double factor, std::optional<Duration> coarse) const;
  [[nodiscard]] Predictor with(const Relief& relief) const;
  /// A quick search by `settings`.
  void search_again(Relief& relief, SearchSettings settings) const;
  /// True, and noted, where too little time is left for that.
  bool leave_out(const std::string& what);

  const Predictor& predictor_;
  const Calibration& calibration_;
  const SearchSettings& settings_;
  std::size_t tasks_;                                   ///< Of the explained plan's graph.
  std::chrono::steady_clock::duration coarse_took_{0};  ///< One coarse simulation.
  std::vector<std::string> left_out_;
};

}  // namespace sluice::planner
