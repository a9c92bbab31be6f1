// Search over builds for those of which no other is both cheaper and faster.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "planner/buying/build_candidates.hpp"
#include "planner/effort/deadline.hpp"

namespace sluice::planner {

/// How a job is planned on builds.
struct BuildTrials {
  /// A time that no plan beats on the build. Called from several threads at a time.
  std::function<Seconds(const BuildOffer&)> bound;
  /// Begins planning with what is known so far. What it returns plans, on another thread, and knows
  /// nothing that comes later. The offer outlives both.
  std::function<std::function<BuildTrial()>(const BuildOffer&)> begin;
  BuildRoom room = {};
  /// Makes known what planning on the build found. Called for each build after its planning, in the
  /// order of begin(), from the thread that calls it; may be empty.
  std::function<void(const BuildOffer&)> settle = {};
};

/// A build on which the job fits.
struct FoundBuild {
  BuildOffer offer;
  Seconds step{0};
  /// Whether no build found costs no more and is as fast.
  bool on_front = false;
};

/// What is searched for, and how long.
struct BuildGoal {
  std::vector<double> budgets_usd = {};  ///< Budgets; empty for none.
  /// The longest step with which a build does what was asked, such as within so many days.
  Seconds most_step{std::numeric_limits<double>::infinity()};
  Deadline until = {};  ///< Time after which no further build is planned.
  /// Number of builds to plan at most, of which each that lends its drives counts for
  /// kDiskCounts; 0 for no limit.
  std::size_t most_planned = 0;
  std::int64_t threads = 2;
  /// Called after each build planned, with the numbers of builds done and open, and the fastest
  /// within the largest budget so far (null where there is none).
  std::function<void(std::size_t, std::size_t, const FoundBuild*)> progress = {};
};

/// Result of a search over builds.
struct FoundBuilds {
  std::vector<FoundBuild> builds;  ///< All builds planned on which the job fits, cheapest first.
  std::size_t planned = 0;         ///< Builds that were planned.
  std::size_t ruled_out = 0;       ///< Builds that a bound, a better build or a guess rules out.
  std::size_t open = 0;            ///< Builds that were neither planned nor ruled out in time.
  /// For each kind of GPU whose cheapest build that may fit was left out as poor: this build, where
  /// it costs less than all builds found. Builds with less memory than any GPU is known to need are
  /// taken not to fit. Cheapest first.
  std::vector<BuildOffer> left_out = {};
};

/// Largest relative gain in the fastest step within a budget that the search leaves to builds that
/// it rules out.
inline constexpr double kBuildTolerance = 0.01;
/// Largest relative gain over the fastest build that costs no more, which is all that the front of
/// price and step can lose.
inline constexpr double kFrontTolerance = 0.02;

/// Relative gain over which a build is worth a row beside a cheaper one.
inline constexpr double kSameStep = 0.005;

/// Number of builds that a plan with the disk takes as long as.
inline constexpr std::size_t kDiskCounts = 3;
/// A build is poor where one for at most kPoorPrice times its price is kPoorSpeed times as fast.
inline constexpr double kPoorPrice = 1.5, kPoorSpeed = 2;

/// Searches `groups`. A build i is ruled out unplanned where a planned build j costs no more and
///
///   step_j <= (1 + kFrontTolerance) lower_i,
///
/// and where within each budget that i is within some planned build has
///
///   step_j <= (1 + kBuildTolerance) lower_i.
///
/// lower_i is BuildCandidate::lower. Of a GPU with many builds the one with most of everything is
/// planned first, whatever it costs, since its step bounds the others'.
/// Poor builds are left unplanned, too, by a guess of their step (BuildCandidates::guess): the
/// result names the cheapest of them (FoundBuilds::left_out).
/// Builds on which host memory is short by what another build of the GPU showed are ruled out
/// where they lend no drives; those that lend drives are tried only there. Builds beyond the
/// largest budget are tried only while nothing within it fits, and are no result otherwise. Without
/// a deadline the result depends on nothing but the arguments, and not on `threads`.
[[nodiscard]] FoundBuilds search_builds(const std::vector<BuildGroup>& groups,
                                        const BuildTrials& trials, const BuildGoal& goal);

/// Puts the builds in order, cheapest first, and sets `on_front` of each: the front has those that
/// are faster by kSameStep than every cheaper one on it.
void mark_front(std::vector<FoundBuild>& builds);

/// For each kind of GPU, whatever their number, the cheapest build on which the job fits and the
/// fastest within each budget; and the builds on the front. Cheapest first, each once.
[[nodiscard]] std::vector<FoundBuild> builds_to_show(const FoundBuilds& found,
                                                     const std::vector<double>& budgets_usd);

}  // namespace sluice::planner
