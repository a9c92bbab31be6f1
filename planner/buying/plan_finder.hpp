// Plans of one job for many machines: what is found for some is tried on others before these are
// searched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

/// The effort of a search for a plan, least first.
enum class SearchDepth {
  /// Briefly: with the disk only for the first few machines on which no known plan fits, of others
  /// the first plan that does; and no more once many machines of as many GPUs were searched. Enough
  /// to tell builds apart.
  brief,
  usual,    ///< With the request's settings.
  thorough  ///< With kThoroughTimes the request's effort.
};

/// Effort of a thorough search over the request's.
inline constexpr std::int64_t kThoroughTimes = 3;

/// Finds plans of one job on machines of one GPU and of several. find() may be called from several
/// threads at a time; settle() only while none of them runs. What find() returns depends on what
/// settle() made known alone, so that the number of threads changes nothing.
class PlanFinder {
 public:
  /// Plan with its step, or what lacks.
  using Found = std::variant<TimedPlan, Infeasible>;

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

 public:
  /// What is known of a job's plans at some time.
  class Knowledge {
    friend class PlanFinder;

    [[nodiscard]] std::optional<TimedPlan> best_for(const Request& request) const;
    [[nodiscard]] bool is_enough(const Request& request, const TimedPlan& best,
                                 SearchDepth depth) const;
    /// Whether a plan with the disk that was not searched for is so slow beside those that were
    /// that a search is worth its time.
    [[nodiscard]] bool is_far(const Request& request, const TimedPlan& found) const;
    /// What plans without the disk are known to lack on the request's machine; none where that is
    /// not known.
    [[nodiscard]] std::optional<Infeasible> shortage_of(const Request& request) const;
    /// A search of the request; `shortage` becomes what plans without the disk lack, where it
    /// shows.
    [[nodiscard]] std::variant<Planned, Infeasible> search_for(
        const Request& request, std::optional<Infeasible>& shortage) const;
    /// The trial that look() returns, made anew instead of taken from the store.
    [[nodiscard]] Trial tried(const Request& request, SearchDepth depth) const;

    std::vector<Known> plans_;
    std::vector<Searched> searched_;
    /// Numbers of entries of `searched_` from brief searches: by their ranks, and those with the
    /// disk.
    std::map<std::int64_t, std::size_t> brief_searches_;
    std::size_t brief_disk_searches_ = 0;
    std::vector<Lacking> lacking_;
    std::string hash_;  ///< Hash of all that became known, in order.
  };

  /// What looking for a plan found, and what learn() takes from it.
  struct Finding {
    Found found;
    std::vector<Fresh> fresh = {};
    std::vector<std::pair<std::string, Lacking>> lacking = {};  ///< With the text that orders them.
  };

  /// The best plan for the request's machine: of those known, tried there, or of a search of this
  /// depth, where the known ones may be far from what it would find: their step is not near the
  /// bound, and no search as deep was done for as much memory beside such a GPU. What host memory
  /// lacks beside a GPU is searched for once. What is found is kept in the request's store, for
  /// the same call with the same knowledge.
  [[nodiscard]] static Finding look(const Request& request, SearchDepth depth,
                                    const Knowledge& knowledge);
  /// Looks with what is known now, and learns from it. May be called from several threads at a
  /// time.
  [[nodiscard]] Found find(const Request& request, SearchDepth depth = SearchDepth::usual);
  /// Takes a finding up, for settle() to make known.
  void learn(Finding finding);
  /// The fastest of the known plans that fit on the request's machine, after the few that look best
  /// by estimate were simulated; none where none fits.
  [[nodiscard]] std::optional<TimedPlan> best_known(const Request& request) const {
    return known_->best_for(request);
  }
  /// Makes known what was learnt since the last call.
  void settle();
  /// What is known now; later calls of settle() leave it as it is.
  [[nodiscard]] std::shared_ptr<const Knowledge> known() const { return known_; }

 private:
  static void note(Finding& finding, const Request& request, const TimedPlan& found,
                   std::optional<SearchDepth> searched);
  static void note(Finding& finding, const Request& request, const Infeasible& shortage);

  std::shared_ptr<const Knowledge> known_ = std::make_shared<const Knowledge>();
  std::mutex mutex_;  ///< Guards what find() learns.
  std::vector<Fresh> fresh_;
  std::vector<std::pair<std::string, Lacking>> fresh_lacking_;
};

}  // namespace sluice::planner
