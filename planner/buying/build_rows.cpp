#include "planner/buying/build_rows.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "planner/buying/build_search.hpp"
#include "planner/buying/row_maker.hpp"
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

std::string name_of(const BuildOffer& offer) {
  return to_text(offer.parts) + (offer.lends_drives ? " lent" : "");
}

}  // namespace

ComparedRows build_rows(const RunConfig& config, const BuyRequest& request,
                        const std::vector<BuildGroup>& groups) {
  const std::int64_t parameters = parameter_count(to_job(config).model);
  std::mutex mutex;
  std::map<std::string, BuyRow> rows;
  BuildTrials trials;
  trials.bound = [&](const BuildOffer& offer) {
    RunConfig there = config;
    there.machine = to_text(offer.parts);
    there.limits.disk = lent(config, offer, parameters);
    return resolve(there).predictor.bound().time;
  };
  trials.plan = [&](const BuildOffer& offer) {
    MadeRow made = make_row(config, request, to_text(offer.parts), RowKind::build,
                            lent(config, offer, parameters));
    BuildTrial trial;
    if (const auto needed = made.host_needed()) {
      trial.needed =
          Bytes(static_cast<std::int64_t>(static_cast<double>(needed->count()) / kUsable));
    }
    if (!made.row.fits) return trial;
    trial.step = to_seconds(made.row.step);
    const std::lock_guard lock(mutex);
    rows[name_of(offer)] = std::move(made.row);
    return trial;
  };
  BuildGoal goal{.until = request.until, .threads = request.threads};
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
  std::vector<BuyRow> front;
  for (const FoundBuild& one : found.builds) {
    if (one.on_front) front.push_back(rows.at(name_of(one.offer)));
  }
  return {.rows = std::move(front),
          .builds = {.planned = found.planned, .ruled_out = found.ruled_out, .open = found.open}};
}

}  // namespace sluice::planner
