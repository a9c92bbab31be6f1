#include "planner/buying/build_rows.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "planner/buying/build_search.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {
namespace {

/// Bytes of a build's drives that plans may take: the run's limit, else all but 2 bytes a parameter
/// for the model's folder and 12 for each of two checkpoints; none where nothing is left.
std::optional<Bytes> lent(const RunConfig& config, const BuildOffer& offer,
                          std::int64_t parameters) {
  if (config.limits.disk) return config.limits.disk;
  if (!offer.lends_drives) return std::nullopt;
  constexpr std::int64_t kFiles = 2 + 2 * 12;
  const std::int64_t left = offer.drives.count() - kFiles * parameters;
  return left > 0 ? std::optional(Bytes(left)) : std::nullopt;
}

/// Share of a kit that a run can use, as compose() states it.
constexpr double kUsable = 0.98;

/// Number of builds that are planned at most, so that the search ends by itself and its result does
/// not depend on the clock.
constexpr std::size_t kMostPlanned = 160;

std::string name_of(const BuildOffer& offer) {
  return to_text(offer.parts) + (offer.lends_drives ? " lent" : "");
}

}  // namespace

ComparedRows build_rows(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                        const std::vector<BuildGroup>& groups) {
  const std::int64_t parameters = parameter_count(to_job(config).model);
  const auto run_of = [&](const BuildOffer& offer) {
    return run_on(config, request, to_text(offer.parts), lent(config, offer, parameters));
  };
  std::mutex mutex;
  std::map<std::string, Plan> plans;
  BuildTrials trials;
  trials.bound = [&](const BuildOffer& offer) { return run_of(offer).predictor.bound().time; };
  trials.settle = [&] { finder.settle(); };
  trials.plan = [&](const BuildOffer& offer) {
    const auto found = finder.find(run_of(offer));
    BuildTrial trial;
    if (const auto* lacking = std::get_if<Infeasible>(&found)) {
      if (const auto needed = host_needed(*lacking)) {
        trial.needed =
            Bytes(static_cast<std::int64_t>(static_cast<double>(needed->count()) / kUsable));
      }
      return trial;
    }
    const auto& plan = std::get<TimedPlan>(found);
    trial.step = to_seconds(plan.step);
    const std::lock_guard lock(mutex);
    plans[name_of(offer)] = plan.plan;
    return trial;
  };
  BuildGoal goal{.until = request.until, .most_planned = kMostPlanned, .threads = request.threads};
  if (request.budget_usd) goal.budgets_usd = request.other_budgets_usd;
  if (request.budget_usd) goal.budgets_usd.push_back(*request.budget_usd);
  if (request.progress) {
    goal.progress = [&](std::size_t done, std::size_t open, const BuildOffer* best) {
      request.progress(
          done, done + std::max<std::size_t>(open, 1),
          best == nullptr ? "builds" : "builds; fastest so far " + to_text(best->parts));
    };
  }
  const FoundBuilds found = search_builds(groups, trials, goal);
  const std::vector<FoundBuild> shown = builds_to_show(found, goal.budgets_usd);
  std::vector<BuyRow> rows(shown.size());
  parallel_for(shown.size(), request.threads, [&](std::size_t i) {
    const BuildOffer& offer = shown[i].offer;
    rows[i] = make_row_of(run_of(offer), request, plans.at(name_of(offer)), RowKind::build);
    rows[i].is_beaten = !shown[i].on_front;
  });
  return {.rows = std::move(rows),
          .builds = {.planned = found.planned, .ruled_out = found.ruled_out, .open = found.open}};
}

}  // namespace sluice::planner
