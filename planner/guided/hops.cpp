// Hops: plans several random moves away from the best, improved by random moves. Where no single
// move of the best is better, several together may be (iterated local search: H. Lourenco, O.
// Martin and T. Stutzle, Handbook of Metaheuristics, 2003).
#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

#include "planner/guided/guided_search.hpp"

namespace sluice::planner {
namespace {

/// Moves of a hop, plans simulated at one time, and how often in a row none of them may be better.
/// Serves small models with state on the disk (0.5 B on an RTX 4070 Ti), whose blocks are few.
constexpr int kHopMoves = 3;
constexpr std::size_t kHopsAtATime = 8;
constexpr int kVainMoves = 4;
/// Hops in a row that find nothing better before the search ends.
constexpr int kVainHops = 40;
/// Attempts to find a plan that fits.
constexpr int kHopTries = 40;
constexpr std::uint64_t kHopSeed = 1;

}  // namespace

void GuidedSearch::hop() {
  if (ranking_.ranked().empty()) return;
  std::mt19937_64 random(kHopSeed);
  GuidedPlan base = ranking_.ranked().front();
  for (int vain = 0; vain < kVainHops && !is_over() && !is_near_enough(); ++vain) {
    std::vector<PlanSketch> far;
    for (std::size_t i = 0; i < kHopsAtATime; ++i) {
      if (auto hopped = random_moves(base, kHopMoves, random)) far.push_back(std::move(*hopped));
    }
    std::vector<GuidedPlan> found = ranking_.try_all(std::move(far));
    if (found.empty()) continue;
    GuidedPlan now = std::move(found.front());
    for (int failures = 0; failures < kVainMoves && !is_over();) {
      std::vector<PlanSketch> near;
      for (std::size_t i = 0; i < kHopsAtATime; ++i) {
        if (auto moved = random_moves(now, 1, random)) near.push_back(std::move(*moved));
      }
      found = ranking_.try_all(std::move(near));
      if (!found.empty() && CoarseRanking::is_better(found.front().coarse, now.coarse)) {
        now = std::move(found.front());
        failures = 0;
      } else {
        ++failures;
      }
    }
    if (!CoarseRanking::is_better(now.coarse, base.coarse)) continue;
    base = std::move(now);
    vain = -1;
  }
}

/// A sketch `count` random moves away that by what `from` took still fits; none where few attempts
/// found one.
std::optional<PlanSketch> GuidedSearch::random_moves(const GuidedPlan& from, int count,
                                                     std::mt19937_64& random) const {
  for (int tries = 0; tries < kHopTries; ++tries) {
    PlanSketch sketch = from.sketch;
    for (int i = 0; i < count; ++i) {
      std::vector<PlanSketch> next = moves(sketch, from.plan.rounds);
      if (next.empty()) return std::nullopt;
      sketch = std::move(next[random() % next.size()]);
    }
    sketch.from.reset();
    if (ranking_.would_fit(sketch, from)) return sketch;
  }
  return std::nullopt;
}

}  // namespace sluice::planner
