// Plans of one job for many machines: what is found for some is tried on others before these are
// searched.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planner/predictions/timed_plan.hpp"
#include "planner/requests/kept_trial.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// How long a plan is searched for.
enum class SearchDepth {
  /// Briefly: with the disk only for the first few machines on which no known plan fits, of others
  /// the first plan that does; and no more once many machines of as many GPUs were searched. Enough
  /// to tell builds apart.
  brief,
  usual  ///< With the request's settings.
};

/// Finds plans of one job on machines of one GPU and of several. find() may be called from several
/// threads at a time; settle() only while none of them runs. What find() returns depends on the
/// calls before the last settle() alone, so that the number of threads changes nothing.
class PlanFinder {
 public:
  /// Plan with its step, or what lacks.
  using Found = std::variant<TimedPlan, Infeasible>;

  /// The best plan for the request's machine: of those known, tried there, or of a search of this
  /// depth, where the known ones may be far from what it would find: their step is not near the
  /// bound, and no search as deep was done for as much memory beside such a GPU. What host memory
  /// lacks beside a GPU is searched for once. What is found is kept in the request's store, for
  /// the same call after the same calls.
  [[nodiscard]] Found find(const Request& request, SearchDepth depth = SearchDepth::usual);
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
  /// What a search found: its step over the bound, with such GPUs and so much memory.
  struct Searched {
    std::int64_t ranks = 1;
    double peak = 0;
    Bytes hbm{0}, host{0};
    bool on_disk = false;
    double ratio = 0;
    SearchDepth depth = SearchDepth::usual;
  };
  /// What host memory lacks beside a GPU, for plans that use no disk.
  struct Lacking {
    std::int64_t ranks = 1;
    double peak = 0;
    Bytes hbm{0};
    Infeasible shortage;
  };
  struct Fresh {
    std::string order;  ///< Text by which what several threads found is put in order.
    Known known;
    std::optional<Searched> searched;
  };

  [[nodiscard]] bool is_enough(const Request& request, const TimedPlan& best,
                               SearchDepth depth) const;
  /// What plans without the disk are known to lack on the request's machine; none where that is not
  /// known.
  [[nodiscard]] std::optional<Infeasible> known_shortage(const Request& request) const;
  /// A search of the request; `shortage` becomes what plans without the disk lack, where it shows.
  [[nodiscard]] std::variant<Planned, Infeasible> search_for(
      const Request& request, std::optional<Infeasible>& shortage) const;
  /// The trial that find() returns, made anew instead of taken from the store.
  [[nodiscard]] Trial tried(const Request& request, SearchDepth depth) const;
  /// Notes what the trial taught, for settle().
  void learn(const Request& request, SearchDepth depth, const Trial& trial);
  void note(const Request& request, const TimedPlan& found, std::optional<SearchDepth> searched);
  void note(const Request& request, const Infeasible& shortage);

  std::vector<Known> known_;
  std::vector<Searched> searched_;
  /// Numbers of entries of `searched_` from brief searches: by their ranks, and those with the
  /// disk.
  std::map<std::int64_t, std::size_t> brief_searches_;
  std::size_t brief_disk_searches_ = 0;
  std::vector<Lacking> lacking_;
  std::string known_hash_;  ///< Hash of all that settle() made known, in order.
  std::mutex mutex_;
  std::vector<Fresh> fresh_;
  std::vector<std::pair<std::string, Lacking>> fresh_lacking_;  ///< With the text that orders them.
};

}  // namespace sluice::planner
