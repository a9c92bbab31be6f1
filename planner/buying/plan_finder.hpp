// Plans of one job for many machines: what is found for some is tried on others before these are
// searched.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planner/predictions/timed_plan.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// Finds plans of one job on machines. find() may be called from several threads at a time;
/// settle() only while none of them runs. What find() returns depends on the calls before the last
/// settle() alone, so that the number of threads changes nothing.
class PlanFinder {
 public:
  /// Plan with its step, or what lacks.
  using Found = std::variant<TimedPlan, Infeasible>;

  /// The best plan for the request's machine: of those known, tried there, or of a search with the
  /// request's settings, where the known ones may be far from what it would find: their step is not
  /// near the bound, and no search was done for as much memory beside such a GPU.
  [[nodiscard]] Found find(const Request& request);
  /// The fastest of the known plans that fit on the request's machine, after the few that look best
  /// by estimate were simulated; none where none fits.
  [[nodiscard]] std::optional<TimedPlan> best_known(const Request& request) const;
  /// Makes what find() found since the last call known.
  void settle();

 private:
  struct Known {
    Plan plan;
    Bytes hbm{0}, host{0};
    /// Whether its updates on the CPU take all cores, and not the usual number.
    bool all_cores = false;
  };
  /// What a search found: its step over the bound, with such a GPU and so much memory.
  struct Searched {
    double peak = 0;
    Bytes hbm{0}, host{0};
    bool on_disk = false;
    double ratio = 0;
  };
  struct Fresh {
    std::string order;  ///< Text by which what several threads found is put in order.
    Known known;
    std::optional<Searched> searched;
  };

  [[nodiscard]] bool is_enough(const Request& request, const TimedPlan& best) const;
  void note(const Request& request, const TimedPlan& found, bool after_search);

  std::vector<Known> known_;
  std::vector<Searched> searched_;
  std::mutex mutex_;
  std::vector<Fresh> fresh_;
};

}  // namespace sluice::planner
