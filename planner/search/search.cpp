#include "planner/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/costs/fabric_rates.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/search/disk_search.hpp"
#include "planner/search/memory_search.hpp"

namespace sluice::planner {
namespace {

/// Part of a deadline that the plans have in which the fabric brings weights, where those in which
/// host memory does are searched after them.
constexpr double kFabricPart = 0.6;

/// Pins of plans whose ranks pull weights from host memory.
Pins with_pulls(const Predictor& predictor, const Pins& pins) {
  const std::int64_t hosts =
      hosts_of_plans(predictor.machine().profile, predictor.ranks(), Gather::host);
  return [hosts, pins](Plan& plan) {
    plan.gather = Gather::host;
    plan.hosts = hosts;
    if (pins) pins(plan);
  };
}

/// Whether plans whose ranks pull weights may be faster, and the pins leave the choice: where
/// devices do not move bytes by links of their own, or a network is between them.
bool may_pull(const Predictor& predictor, const Pins& pins) {
  const MachineProfile& profile = predictor.machine().profile;
  if (predictor.ranks() == 1 || !profile.fabric) return false;
  if (profile.fabric->path == FabricPath::nvlink && profile.fabric->hosts == 1) return false;
  Plan usual = predictor.plan_of({}, 1), pulls = usual;
  if (pins) pins(usual);
  with_pulls(predictor, pins)(pulls);
  return usual.gather == Gather::fabric && pulls.gather == Gather::host &&
         pulls.hosts == profile.fabric->hosts;
}

/// The faster of two plans, with what is known of both searches.
Planned better(Planned one, Planned other) {
  const bool first = one.best.prediction.step <= other.best.prediction.step;
  Planned& best = first ? one : other;
  const Planned& rest = first ? other : one;
  best.other_gather = rest.best.prediction.step;
  best.space_log10 =
      std::log10(std::pow(10, best.space_log10 - rest.space_log10) + 1) + rest.space_log10;
  best.considered += rest.considered;
  best.simulated += rest.simulated;
  best.bound = std::min(best.bound, rest.bound);
  best.relaxed_bound = std::min(best.relaxed_bound, rest.relaxed_bound);
  best.leaves_rings_out = best.leaves_rings_out || rest.leaves_rings_out;
  const Seconds step = to_seconds(best.best.prediction.step);
  best.optimality_gap = std::max(0.0, (step - best.bound) / step);
  return std::move(best);
}

/// The search among plans that get weights as the pins say, or else by the fabric.
std::variant<Planned, Infeasible> search_as_pinned(const Predictor& predictor,
                                                   const SearchSettings& settings) {
  if (pins_use_disk(predictor, settings)) return search_with_disk(predictor, settings, nullptr);
  auto found = search_in_memory(predictor, settings);
  const auto* infeasible = std::get_if<Infeasible>(&found);
  if (infeasible == nullptr || !predictor.machine().state_on_disk) return found;
  if (!may_use_disk(predictor.job())) return found;
  return search_with_disk(predictor, settings, infeasible);
}

}  // namespace

std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                         const SearchSettings& settings) {
  if (!may_pull(predictor, settings.pins)) return search_as_pinned(predictor, settings);
  SearchSettings by_fabric = settings, by_host = settings;
  by_fabric.until = settings.until.part(kFabricPart);
  auto found = search_as_pinned(predictor, by_fabric);
  auto* planned = std::get_if<Planned>(&found);
  if (planned == nullptr) return found;
  by_host.pins = with_pulls(predictor, settings.pins);
  by_host.effort =
      std::max<std::int64_t>(1, (settings.effort > 0 ? settings.effort : kUsualEffort) / 2);
  auto other = search_as_pinned(predictor, by_host);
  auto* pulls = std::get_if<Planned>(&other);
  if (pulls == nullptr) return found;
  return better(std::move(*planned), std::move(*pulls));
}

}  // namespace sluice::planner
