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

/// A candidate with its exact prediction.
struct ScoredCandidate {
  Candidate candidate;
  PlanScore score;
};

/// Simulates candidates exactly and ranks those that fit. Past the settings' deadline nothing more
/// is simulated once a plan fits.
class Tournament {
 public:
  Tournament(const Predictor& predictor, const SearchSettings& settings);

  /// Simulates the best by estimate until about `effort` tasks are spent.
  void run(std::vector<Candidate> candidates, std::int64_t effort);
  /// Simulates every plan that could be the fastest, by bound; true where any fits.
  bool run_all(const std::vector<Plan>& plans, const Pins& pins);
  /// After run_all: no plan is faster, by sums over its units and chains of its graph alone.
  [[nodiscard]] Seconds least_bound() const { return least_bound_; }
  /// After run_all: no plan that was not simulated is faster.
  [[nodiscard]] Seconds left_bound() const { return left_bound_; }
  /// Simulates these in their order, a few at a time, until enough fit; true where any did.
  bool try_in_order(const std::vector<GuidedPlan>& plans, std::size_t enough);

  /// Simulates one that fits, whatever was spent or estimated before.
  void try_fitting(Candidate candidate);

  /// Fastest first; equals in the order they were simulated.
  [[nodiscard]] const std::vector<ScoredCandidate>& ranked() const { return ranked_; }
  [[nodiscard]] std::int64_t simulated() const { return simulated_; }
  [[nodiscard]] std::int64_t considered() const {
    return static_cast<std::int64_t>(considered_.size());
  }

 private:
  [[nodiscard]] bool could_win(const Candidate& candidate) const;
  [[nodiscard]] bool is_over() const;
  /// Whether to simulate this candidate; each is asked about once.
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
