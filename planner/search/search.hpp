// The search for the fastest plan that fits, with how far from the best it can be.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "planner/predictions/predict.hpp"
#include "planner/search/plan_space.hpp"

namespace sluice::planner {

inline constexpr std::int64_t kSmallSpace = 1'000'000;

struct SearchSettings {
  Pins pins;                 ///< Plan fields the user fixed.
  std::int64_t effort = 0;   ///< Tasks that may be built and simulated in all; 0: kUsualEffort.
  std::int64_t threads = 2;  ///< That simulate at a time; the result does not depend on it.
  /// Spaces of up to so many plans are gone through as a whole: the gap is then 0.
  std::int64_t exhaustive = kSmallSpace;
  std::stop_token stop = {};  ///< Once asked to stop, the search throws Interrupted.
  /// When a search that found a plan that fits is to end: what it finds then depends on the machine
  /// it runs on. Without it `effort` alone counts, and the same request gives the same plan.
  std::optional<std::chrono::steady_clock::time_point> until = std::nullopt;

  [[nodiscard]] bool is_late() const { return until && std::chrono::steady_clock::now() >= *until; }
  /// When `part` of the time that is left until then will be over.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> part_of_time(
      double part) const {
    if (!until) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    return now +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>((*until - now) * part);
  }
};

/// The gap that ends a search.
inline constexpr double kNearEnough = 0.02;
/// Some seconds on two cores.
inline constexpr std::int64_t kUsualEffort = 3'000'000;
/// Enough to know whether anything fits, and about how fast.
inline constexpr std::int64_t kQuickEffort = 400'000;

struct Planned {
  PredictedStep best;
  double space_log10 = 0;
  std::int64_t considered = 0;  ///< Plans enumerated.
  std::int64_t simulated = 0;
  /// (best - bound) / best.
  double optimality_gap = 0;
  Seconds bound{0};          ///< No plan of the space (with the pins) is faster.
  Seconds relaxed_bound{0};  ///< Before anything was simulated.
};

/// A change of the request after which it fits.
struct Remedy {
  std::string what;           ///< "micro_batch 2 instead of 4".
  std::string setting;        ///< As the command line takes it: "micro_batch=2", "--hbm 25GiB".
  bool changes_bits = false;  ///< The job becomes another one.
  Duration step{0};           ///< Predicted then.
};

struct Infeasible {
  Tier tier = Tier::hbm;
  Bytes short_by{0};             ///< What the leanest plan lacks.
  Memory memory;                 ///< Of that plan.
  std::vector<Remedy> remedies;  ///< At most three, each verified to fit.
};

/// The fastest plan found, or the tier that the leanest plan exceeds (remedies left empty; see
/// planner/search/remedies.hpp). Deterministic. Throws BadRequest where no valid plan has the pins.
[[nodiscard]] std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                                       const SearchSettings& settings = {});

}  // namespace sluice::planner
