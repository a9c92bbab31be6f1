// Reliefs: one plan's step with more of each resource of a machine.
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
  std::string resource;  ///< Name of the resource (machine_resources).
  double factor = 1;     ///< Multiple of the machine's own amount.
  Duration step{0};
  Plan plan = {};         ///< The plan that takes `step` on the relieved machine.
  bool searched = false;  ///< The plan was searched for anew; otherwise it is the explained plan.
  /// The step is the explained one times a ratio from coarse simulation (CoarseSteps).
  bool coarse = false;
};

/// Multiple of a resource that reliefs are computed for.
inline constexpr double kMore = 1.1;

/// Whether plans are searched for anew on each changed machine; a policy's plan stays what it is.
enum class Replan { never, where_it_helps };

/// Computes reliefs. Where the settings have an end time, or the plan's graph has more tasks than a
/// quick search may simulate, rates are tried by coarse simulation, and searches that would come
/// too late or take too long are left out and noted. More host memory for a plan that uses the disk
/// moves what then fits off the disk, without a search. The arguments must outlive it.
class Reliefs {
 public:
  Reliefs(const Predictor& predictor, const Calibration& calibration,
          const SearchSettings& settings, std::size_t tasks)
      : predictor_(predictor), calibration_(calibration), settings_(settings), tasks_(tasks) {}

  /// Reliefs with `factor` times as much of each resource and the same plan, most helpful first.
  [[nodiscard]] std::vector<Relief> of_all(const Plan& plan, Duration step, double factor);

  /// The relief with `factor` times as much of one resource; with where_it_helps also by a quick
  /// search.
  [[nodiscard]] Relief of(const MachineResource& resource, const Plan& plan, Duration step,
                          double factor, Replan replan);

  /// Tries plans that keep more, with more of a memory that the plan comes near to filling.
  void keep_more_of(std::vector<Relief>& all, const Memory& memory);

  /// Runs a quick search for the first rate, and for the memories that the plan comes near to
  /// filling and that keeping more in them did not make faster than `step`.
  void search_again(std::vector<Relief>& all, const Memory& memory, Duration step);

  /// What was left out for lack of time.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  /// Whether one simulation takes longer than a quick search may.
  [[nodiscard]] bool costly() const;
  [[nodiscard]] bool hurried() const { return settings_.until.is_set() || costly(); }
  /// The plan's step by coarse simulation; none where rates are tried by exact simulation.
  [[nodiscard]] std::optional<Duration> coarse_step(const Predictor& predictor,
                                                    const Plan& plan) const;
  /// The relief with the same plan, which more of a capacity does not change. `coarse` is the
  /// plan's coarse step on the unchanged machine.
  [[nodiscard]] Relief as_is(const MachineResource& resource, const Plan& plan, Duration step,
                             double factor, std::optional<Duration> coarse) const;
  [[nodiscard]] Predictor with(const Relief& relief) const;
  /// Replaces the relief's plan by that of a quick search with `settings`, if that is faster.
  void search_again(Relief& relief, SearchSettings settings) const;
  /// Whether too little time is left for `what`, which is then noted as left out.
  bool leave_out(const std::string& what);

  const Predictor& predictor_;
  const Calibration& calibration_;
  const SearchSettings& settings_;
  std::size_t tasks_;  ///< Number of tasks of the explained plan's graph.
  std::chrono::steady_clock::duration coarse_took_{0};  ///< Time that one coarse simulation took.
  std::vector<std::string> left_out_;
};

}  // namespace sluice::planner
