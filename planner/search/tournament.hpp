// Exact predictions of candidates, the most promising first, and their ranking.
#pragma once

#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/effort/search_settings.hpp"
#include "planner/guided/guided_search.hpp"
#include "planner/search/outcome.hpp"
#include "planner/search/plan_space.hpp"

namespace sluice::planner {

/// A candidate with the step time and memory of its exact simulation.
struct ScoredCandidate {
  Candidate candidate;
  PlanScore score;
};

/// Simulates candidates exactly and ranks those that fit. Once the settings' deadline has passed
/// and a plan fits, nothing more is simulated.
class Tournament {
 public:
  Tournament(const Predictor& predictor, const SearchSettings& settings);

  /// Simulates candidates, the least estimated step first (PlanEstimate::expected), until tasks of
  /// about `effort` are spent. One whose bound is not below the best step, or that cannot fit by
  /// its estimate, is left out.
  void run(std::vector<Candidate> candidates, std::int64_t effort);
  /// Simulates, of a whole small space, every plan that may be the fastest: in the order of their
  /// bounds by the relaxation's constraints, until the next bound is not below the best step. True
  /// where any plan fits.
  bool run_all(const std::vector<Plan>& plans, const Pins& pins);
  /// After run_all(): step time that no plan beats, by each plan's constraints and the longest
  /// chain of its graph alone.
  [[nodiscard]] Seconds least_bound() const { return least_bound_; }
  /// After run_all(): step time that no plan beats: the best simulated step or, where time was
  /// over, the least bound of the plans that were left, if that is smaller.
  [[nodiscard]] Seconds left_bound() const { return left_bound_; }
  /// Simulates `plans` in their order, a few at a time, until `enough` of them fit. True where any
  /// fits.
  bool try_in_order(const std::vector<GuidedPlan>& plans, std::size_t enough);

  /// Simulates a plan that is known to fit, whatever its estimate says and whatever was spent
  /// before.
  void try_fitting(Candidate candidate);

  /// The simulated plans that fit, fastest first; equally fast ones in the order of their
  /// simulation.
  [[nodiscard]] const std::vector<ScoredCandidate>& ranked() const { return ranked_; }
  [[nodiscard]] std::int64_t simulated() const { return simulated_; }
  [[nodiscard]] std::int64_t considered() const {
    return static_cast<std::int64_t>(considered_.size());
  }

 private:
  [[nodiscard]] bool could_win(const Candidate& candidate) const;
  [[nodiscard]] bool is_over() const;
  /// Whether to simulate the candidate, whose tasks are then taken off `effort`. False for one that
  /// was asked about before, cannot fit or win, or has more tasks than may be spent.
  bool take(const Candidate& candidate, std::int64_t& effort);
  void play(std::vector<Candidate>& batch, std::int64_t& effort);
  void rank(Candidate candidate, const PlanScore& score);

  const Predictor& predictor_;
  SearchSettings settings_;
  std::int64_t threads_;
  std::set<std::string> considered_;
  std::vector<ScoredCandidate> ranked_;
  std::int64_t simulated_ = 0;
  Seconds least_bound_{0}, left_bound_{0};
};

}  // namespace sluice::planner
