#include "planner/buying/build_rows.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "planner/buying/advice_text.hpp"
#include "planner/buying/build_search.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/request.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// Bytes of a build's drives that plans may take; none where it lends none.
std::optional<Bytes> lent(const RunConfig& config, const BuildOffer& offer,
                          std::int64_t parameters) {
  if (config.limits.disk) return config.limits.disk;
  return offer.lends_drives ? left_on_drives(offer.drives, parameters) : std::nullopt;
}

/// Share of a kit that a run can use, as compose() states it.
constexpr double kUsable = 0.98;

/// Number of builds that are planned at most, so that the search ends by itself and its result does
/// not depend on the clock: fewer for a model of more layers than kUsualLayers, whose plans take
/// longer, down to kFewestPlanned.
constexpr std::int64_t kMostPlanned = 120, kFewestPlanned = 60, kUsualLayers = 36;

/// Bytes of state that lie somewhere in any plan.
Bytes least_state(const Job& job) {
  const std::int64_t parameters = parameter_count(job.model);
  const Bytes moment = job.moment_bytes(parameters);
  // Muon has a second moment for some parameters only.
  const bool has_two = job.optimizer.kind == OptimizerKind::adamw;
  return job.master_bytes(parameters) + moment * (has_two ? 2 : 1);
}

std::size_t most_planned(std::int64_t layers) {
  const std::int64_t planned = kMostPlanned * kUsualLayers / std::max(layers, kUsualLayers);
  return static_cast<std::size_t>(std::max(planned, kFewestPlanned));
}

std::string name_of(const BuildOffer& offer) {
  return offer.name() + (offer.lends_drives ? " lent" : "");
}

/// Searches allowed for rows of the answer once the builds are known: of plans in memory, and of
/// those that lend drives.
constexpr int kDeepSearches = 5, kDeepDiskSearches = 5;
/// Number of builds nearly as fast as the fastest within a budget that are searched at length.
constexpr std::size_t kNearest = 3;

/// Plans a job on builds: briefly while they are compared, and at the usual depth those that matter
/// to the answer.
class BuildPlanner {
 public:
  BuildPlanner(const RunConfig& config, const BuyRequest& request, PlanFinder& finder)
      : config_(config),
        request_(request),
        finder_(finder),
        parameters_(parameter_count(to_job(config).model)) {}

  [[nodiscard]] Request run_of(const BuildOffer& offer) const {
    return run_on(config_, request_, offer.name(), lent(config_, offer, parameters_));
  }

  /// Bytes of its drives that the build lends; 0 where it lends none.
  [[nodiscard]] Bytes lent_of(const BuildOffer& offer) const {
    return lent(config_, offer, parameters_).value_or(Bytes(0));
  }

  /// Begins planning briefly on the build with what is known so far; what it returns plans.
  [[nodiscard]] std::function<BuildTrial()> begin(const BuildOffer& offer) {
    return [this, &offer, known = finder_.known()] {
      PlanFinder::Finding finding = PlanFinder::look(run_of(offer), SearchDepth::brief, *known);
      BuildTrial trial = learnt(offer, finding.found);
      const std::lock_guard lock(mutex_);
      findings_.insert_or_assign(&offer, std::move(finding));
      return trial;
    };
  }

  /// Makes known what planning on the build found.
  void settle(const BuildOffer& offer) {
    const std::lock_guard lock(mutex_);
    const auto finding = findings_.extract(&offer);
    finder_.learn(finding.mapped());
    finder_.settle();
  }

  /// Searches at the usual depth for the fastest build within each budget and then for the fastest
  /// of the front, thoroughly for the fastest, and gives them the steps that it finds.
  void deepen(std::vector<FoundBuild>& builds, const std::vector<double>& budgets) {
    const std::vector<FoundBuild*> chosen = to_deepen(builds, budgets);
    std::vector<BuildTrial> trials(chosen.size());
    parallel_for(chosen.size(), request_.threads, [&](std::size_t i) {
      trials[i] = learnt(chosen[i]->offer, finder_.find(run_of(chosen[i]->offer)));
    });
    finder_.settle();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (trials[i].step) chosen[i]->step = *trials[i].step;
    }
    search_fastest(chosen, budgets);
    mark_front(builds);
  }

  [[nodiscard]] const Plan& plan_of(const BuildOffer& offer) const {
    return plans_.at(name_of(offer)).plan;
  }

 private:
  /// Keeps what was found for the build.
  BuildTrial learnt(const BuildOffer& offer, const PlanFinder::Found& found) {
    BuildTrial trial;
    if (const auto* lacking = std::get_if<Infeasible>(&found)) {
      if (const auto needed = host_needed(*lacking)) {
        trial.needed =
            Bytes(static_cast<std::int64_t>(static_cast<double>(needed->count()) / kUsable));
      }
      return trial;
    }
    const auto& plan = std::get<TimedPlan>(found);
    const std::lock_guard lock(mutex_);
    const auto known = plans_.try_emplace(name_of(offer), plan).first;
    if (plan.step < known->second.step) known->second = plan;
    trial.step = to_seconds(known->second.step);
    return trial;
  }

  /// Searches thoroughly for the fastest of the builds within each budget, since one search may
  /// miss a few percent, and tries the plans that it finds on the others.
  void search_fastest(const std::vector<FoundBuild*>& builds, std::vector<double> budgets) {
    if (budgets.empty()) budgets.push_back(std::numeric_limits<double>::infinity());
    std::vector<FoundBuild*> fastest;
    for (const double budget : budgets) {
      FoundBuild* best = nullptr;
      for (FoundBuild* one : builds) {
        if (one->offer.usd > budget) continue;
        if (best == nullptr || one->step < best->step) best = one;
      }
      // Plans with the disk take a search too long.
      if (best == nullptr || best->offer.lends_drives) continue;
      if (std::ranges::find(fastest, best) == fastest.end()) fastest.push_back(best);
    }
    parallel_for(fastest.size(), request_.threads, [&](std::size_t i) {
      const BuildOffer& offer = fastest[i]->offer;
      learnt(offer, finder_.find(run_of(offer), SearchDepth::thorough));
    });
    finder_.settle();
    parallel_for(fastest.empty() ? 0 : builds.size(), request_.threads, [&](std::size_t i) {
      FoundBuild& one = *builds[i];
      if (one.offer.lends_drives) return;
      auto known = finder_.best_known(run_of(one.offer));
      if (!known) return;
      one.step = *learnt(one.offer, std::move(*known)).step;
    });
  }

  /// The cheapest build, where it lends drives and a brief search found it so slow beside the next
  /// of the front that a longer one may find much; else null.
  static FoundBuild* doubtful_cheapest(std::vector<FoundBuild>& builds) {
    constexpr double kDoubtful = 1.4;
    if (builds.empty() || !builds.front().offer.lends_drives) return nullptr;
    for (const FoundBuild& one : builds) {
      if (&one == &builds.front() || !one.on_front) continue;
      return builds.front().step > kDoubtful * one.step ? &builds.front() : nullptr;
    }
    return nullptr;
  }

  static std::vector<FoundBuild*> to_deepen(std::vector<FoundBuild>& builds,
                                            std::vector<double> budgets) {
    if (budgets.empty()) budgets.push_back(std::numeric_limits<double>::infinity());
    std::vector<FoundBuild*> order;
    const auto add = [&](FoundBuild* one) {
      if (one != nullptr && std::ranges::find(order, one) == order.end()) order.push_back(one);
    };
    for (const double budget : budgets) {
      FoundBuild* fastest = nullptr;
      for (FoundBuild& one : builds) {
        if (one.offer.usd > budget) continue;
        if (fastest == nullptr || one.step < fastest->step) fastest = &one;
      }
      add(fastest);
      if (fastest == nullptr) continue;
      // A brief search may be so far from what a longer one finds.
      constexpr double kNear = 1.06;
      std::vector<FoundBuild*> near;
      for (FoundBuild& one : builds) {
        const bool is_near = one.offer.usd <= budget && one.step <= fastest->step * kNear;
        if (is_near) near.push_back(&one);
      }
      std::ranges::stable_sort(near, {}, [](const FoundBuild* one) {
        return std::tuple(-one->offer.memory.count(), one->step);
      });
      if (near.size() > kNearest) near.resize(kNearest);
      for (FoundBuild* one : near) add(one);
    }
    // Dearest first, which on the front is fastest first.
    for (auto one = builds.rbegin(); one != builds.rend(); ++one) {
      if (one->on_front) add(&*one);
    }
    std::vector<FoundBuild*> chosen;
    if (FoundBuild* cheapest = doubtful_cheapest(builds)) chosen.push_back(cheapest);
    int in_memory = kDeepSearches, with_disk = kDeepDiskSearches;
    for (FoundBuild* one : order) {
      if (std::ranges::find(chosen, one) != chosen.end()) continue;
      int& left = one->offer.lends_drives ? with_disk : in_memory;
      if (left == 0) continue;
      --left;
      chosen.push_back(one);
    }
    return chosen;
  }

  const RunConfig& config_;
  const BuyRequest& request_;
  PlanFinder& finder_;
  std::int64_t parameters_;
  std::mutex mutex_;
  std::map<std::string, TimedPlan> plans_;  ///< The best plan found, by the build's name.
  std::map<const BuildOffer*, PlanFinder::Finding> findings_;  ///< What is not settled yet.
};

}  // namespace

ComparedRows build_rows(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                        const std::vector<BuildGroup>& groups) {
  BuildPlanner planner(config, request, finder);
  const BuildTrials trials{
      .bound =
          [&](const BuildOffer& offer) { return planner.run_of(offer).predictor.bound().time; },
      .begin = [&](const BuildOffer& offer) { return planner.begin(offer); },
      .room = {.lent = [&](const BuildOffer& offer) { return planner.lent_of(offer); },
               .needed = least_state(to_job(config))},
      .settle = [&](const BuildOffer& offer) { planner.settle(offer); }};
  BuildGoal goal{.until = request.until,
                 .most_planned = most_planned(to_job(config).model.layers),
                 .threads = request.threads};
  if (request.days && request.tokens) {
    const Job job = to_job(config);
    const double steps = *request.tokens / static_cast<double>(job.batch_size * job.seq_len);
    goal.most_step = Seconds(*request.days * kSecondsPerDay / steps);
  }
  if (request.budget_usd) goal.budgets_usd = request.other_budgets_usd;
  if (request.budget_usd) goal.budgets_usd.push_back(*request.budget_usd);
  if (request.progress) {
    goal.progress = [&](std::size_t done, std::size_t open, const FoundBuild* best) {
      std::string text = "builds";
      if (best != nullptr) {
        text += "; fastest so far " + best->offer.name() + ", " + dollars(best->offer.usd) + ", " +
                format_seconds(best->step) + " a step";
      }
      request.progress(done, done + std::max<std::size_t>(open, 1), text);
    };
  }
  FoundBuilds found = search_builds(groups, trials, goal);
  if (!request.until.is_late()) planner.deepen(found.builds, goal.budgets_usd);
  const std::vector<FoundBuild> shown = builds_to_show(found, goal.budgets_usd);
  std::vector<BuyRow> rows(shown.size());
  parallel_for(shown.size(), request.threads, [&](std::size_t i) {
    const BuildOffer& offer = shown[i].offer;
    rows[i] = make_row_of(planner.run_of(offer), request, planner.plan_of(offer), RowKind::build);
    rows[i].is_beaten = !shown[i].on_front;
  });
  BuildCounts counts{.planned = found.planned, .ruled_out = found.ruled_out, .open = found.open};
  for (const BuildOffer& one : found.left_out) {
    counts.left_out.push_back(
        {.machine = one.name(), .usd = one.usd, .lends_drives = one.lends_drives});
  }
  return {.rows = std::move(rows), .builds = std::move(counts)};
}

}  // namespace sluice::planner
