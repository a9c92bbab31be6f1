#include "planner/buying/plan_finder.hpp"

#include <algorithm>
#include <iterator>

#include "planner/files/hash.hpp"
#include "planner/guided/usual_values.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/kept_search.hpp"
#include "planner/requests/run_step.hpp"
#include "planner/runs/several_hosts.hpp"
#include "planner/search/disk_search.hpp"
#include "planner/search/memory_search.hpp"

namespace sluice::planner {
namespace {

/// Step over the bound below which no search can find much.
constexpr double kNearBound = 1.01;
/// Most that a search for the same GPU with the same memory, or with more, is taken to gain over
/// plans known to be so near to what it found, as a ratio.
constexpr double kLikeSame = 1.02, kLikeMore = 1.005;
/// The same ratio for brief searches.
constexpr double kLikeBriefly = 1.02;

/// Numbers of brief searches after which known plans are all that is tried, where any fits: of one
/// GPU, and of each number of several.
constexpr std::size_t kBriefSearches = 16, kBriefSearchesOfSeveral = 4;
/// Number of brief searches with the disk after which the first plan that fits is taken.
constexpr std::size_t kBriefDiskSearches = 2;
/// Ratio of a step to the bound over the least that a search with the disk found for such a GPU,
/// from which on a plan that was not searched for is far from what a search finds; and number of
/// brief searches with the disk after which it is taken all the same.
constexpr double kFar = 1.4;
constexpr std::size_t kMostBriefDiskSearches = 4;
/// Ratio of host memories within which one search with the disk stands for others.
constexpr double kLikeMemory = 1.6;

double ratio_of(const Request& request, Duration step) {
  return to_seconds(step) / request.predictor.bound().time;
}

/// Text by which what several threads found is put in order.
std::string order_of(const Request& request) {
  return machine_name(request.config) + (request.machine().state_on_disk ? " with drives" : "");
}

/// Text that tells what searches of one depth keep from what others do.
const char* suffix_of(SearchDepth depth) {
  switch (depth) {
    case SearchDepth::brief:
      return " brief";
    case SearchDepth::usual:
      return "";
    case SearchDepth::thorough:
      return " thorough";
  }
  return "";
}

double peak_of(const Request& request) { return request.machine().profile.peak_bf16.value.count(); }

}  // namespace

bool PlanFinder::Knowledge::is_far(const Request& request, const TimedPlan& found) const {
  if (!uses_disk(found.plan) || brief_disk_searches_ >= kMostBriefDiskSearches) return false;
  std::optional<double> least;
  for (const Searched& one : searched_) {
    if (!one.on_disk || one.ranks != request.predictor.ranks()) continue;
    if (one.peak != peak_of(request) || one.hbm != request.machine().hbm) continue;
    least = std::min(least.value_or(one.ratio), one.ratio);
  }
  return least && ratio_of(request, found.step) > kFar * *least;
}

bool PlanFinder::Knowledge::is_enough(const Request& request, const TimedPlan& best,
                                      SearchDepth depth) const {
  const double ratio = ratio_of(request, best.step);
  if (ratio <= kNearBound) return true;
  const bool on_disk = uses_disk(best.plan);
  const bool is_brief = depth == SearchDepth::brief;
  if (is_brief && is_far(request, best)) return false;
  const std::int64_t ranks = request.predictor.ranks();
  const auto count = brief_searches_.find(ranks);
  const std::size_t most = ranks == 1 ? kBriefSearches : kBriefSearchesOfSeveral;
  if (is_brief && count != brief_searches_.end() && count->second >= most) return true;
  const Bytes host = request.machine().host;
  return std::ranges::any_of(searched_, [&](const Searched& one) {
    if (one.depth < depth) return false;
    // Briefly one search with the disk is enough, whatever the GPU, for plans near what it found.
    if (is_brief && on_disk && one.on_disk) return true;
    if (one.ranks != ranks || one.on_disk != on_disk) return false;
    if (one.peak != peak_of(request) || one.hbm != request.machine().hbm) return false;
    if (on_disk) {
      const double memory =
          static_cast<double>(one.host.count()) / static_cast<double>(host.count());
      return memory < kLikeMemory && memory > 1 / kLikeMemory;
    }
    if (one.host < host) return false;
    return ratio <= one.ratio * (one.host == host ? kLikeSame
                                 : is_brief       ? kLikeBriefly
                                                  : kLikeMore);
  });
}

std::optional<Infeasible> PlanFinder::Knowledge::shortage_of(const Request& request) const {
  const Bytes host = request.machine().host;
  for (const Lacking& one : lacking_) {
    if (one.ranks != request.predictor.ranks()) continue;
    if (one.peak != peak_of(request) || one.hbm != request.machine().hbm) continue;
    const Bytes needed = at(one.shortage.memory, Tier::host).capacity + one.shortage.short_by;
    if (host >= needed) continue;
    Infeasible here = one.shortage;
    here.short_by = needed - host;
    at(here.memory, Tier::host).capacity = host;
    return here;
  }
  return std::nullopt;
}

/// As search(), but with fewer plans that use the disk.
std::variant<Planned, Infeasible> PlanFinder::Knowledge::search_for(
    const Request& request, std::optional<Infeasible>& shortage) const {
  const Predictor& predictor = request.predictor;
  if (pins_use_disk(predictor, request.search)) {
    return compare_with_disk(predictor, request.search, nullptr);
  }
  std::variant<Planned, Infeasible> found;
  if (auto known = shortage_of(request)) {
    found = std::move(*known);
  } else {
    found = search_in_memory(predictor, request.search);
    if (const auto* lacking = std::get_if<Infeasible>(&found)) shortage = *lacking;
  }
  const auto* lacking = std::get_if<Infeasible>(&found);
  if (lacking == nullptr || !predictor.machine().state_on_disk) return found;
  return compare_with_disk(predictor, request.search, lacking);
}

void PlanFinder::note(Finding& finding, const Request& request, const TimedPlan& found,
                      std::optional<SearchDepth> searched) {
  const ResolvedMachine& machine = request.machine();
  Fresh fresh{.order = order_of(request),
              .known = {.plan = found.plan,
                        .hbm = found.hbm,
                        .host = found.host,
                        .all_cores = found.plan.threads == cores_of(request.predictor)},
              .searched = {}};
  if (searched) {
    fresh.searched = Searched{.ranks = request.predictor.ranks(),
                              .peak = peak_of(request),
                              .hbm = machine.hbm,
                              .host = machine.host,
                              .on_disk = uses_disk(found.plan),
                              .ratio = ratio_of(request, found.step),
                              .depth = *searched};
  }
  finding.fresh.push_back(std::move(fresh));
}

void PlanFinder::note(Finding& finding, const Request& request, const Infeasible& shortage) {
  if (shortage.tier != Tier::host) return;
  finding.lacking.emplace_back(order_of(request), Lacking{.ranks = request.predictor.ranks(),
                                                          .peak = peak_of(request),
                                                          .hbm = request.machine().hbm,
                                                          .shortage = shortage});
}

Trial PlanFinder::Knowledge::tried(const Request& asked, SearchDepth depth) const {
  std::optional<TimedPlan> best = best_for(asked);
  if (best && is_enough(asked, *best, depth)) return {.found = std::move(*best)};
  const bool is_brief = depth == SearchDepth::brief;
  if (!best && is_brief && asked.machine().state_on_disk &&
      brief_disk_searches_ >= kBriefDiskSearches) {
    const auto lacks = shortage_of(asked);
    auto first =
        lacks ? fitting_on_disk(asked.predictor, lacks->short_by, asked.search) : std::nullopt;
    if (first) {
      first->hbm = at(first->memory, Tier::hbm).peak;
      first->host = at(first->memory, Tier::host).peak;
      if (!is_far(asked, *first)) return {.found = std::move(*first)};
      best = std::move(first);
    }
  }
  Request request = asked;
  if (is_brief) {
    request.search.effort = std::min(kCompareEffort, request.search.effort);
  } else if (depth == SearchDepth::thorough) {
    request.search.effort *= kThoroughTimes;
  }
  std::optional<TimedPlan> searched;
  std::optional<Infeasible> lacking, shortage;
  if (const auto kept = kept_plan(request)) {
    const PlanScore score = request.predictor.score(*kept);
    if (score.step.count() > 0) {
      searched = TimedPlan{.plan = *kept, .step = score.step, .hbm = score.hbm, .host = score.host};
    }
  }
  if (!searched) {
    const auto found = search_for(request, shortage);
    if (const auto* planned = std::get_if<Planned>(&found)) {
      const Prediction& p = planned->best.prediction;
      searched = TimedPlan{.plan = p.plan,
                           .memory = p.memory,
                           .step = p.step,
                           .hbm = at(p.memory, Tier::hbm).peak,
                           .host = at(p.memory, Tier::host).peak};
      keep_plan(request, p);
    } else {
      lacking = std::get<Infeasible>(found);
    }
  }
  if (searched && (!best || searched->step < best->step)) best = std::move(searched);
  if (!best) return {.found = std::move(*lacking), .is_searched = true, .shortage = shortage};
  return {.found = std::move(*best), .is_searched = true, .shortage = shortage};
}

PlanFinder::Finding PlanFinder::look(const Request& request, SearchDepth depth,
                                     const Knowledge& knowledge) {
  const std::string before = knowledge.hash_ + suffix_of(depth);
  auto kept = kept_trial(request, before);
  const Trial trial = kept ? std::move(*kept) : knowledge.tried(request, depth);
  if (!kept) keep_trial(request, before, trial);
  Finding finding{.found = trial.found};
  if (trial.shortage) note(finding, request, *trial.shortage);
  const auto* found = std::get_if<TimedPlan>(&trial.found);
  if (found == nullptr) return finding;
  if (trial.is_searched) note(finding, request, *found, depth);
  if (!trial.is_searched && uses_disk(found->plan)) note(finding, request, *found, std::nullopt);
  return finding;
}

PlanFinder::Found PlanFinder::find(const Request& request, SearchDepth depth) {
  Finding finding = look(request, depth, *known_);
  Found found = finding.found;
  learn(std::move(finding));
  return found;
}

void PlanFinder::learn(Finding finding) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(finding.fresh, std::back_inserter(fresh_));
  std::ranges::move(finding.lacking, std::back_inserter(fresh_lacking_));
}

void PlanFinder::settle() {
  if (fresh_.empty() && fresh_lacking_.empty()) return;
  Knowledge all = *known_;
  std::ranges::stable_sort(fresh_, {}, &Fresh::order);
  CanonicalText known("known plans");
  known.add("before", all.hash_);
  for (Fresh& fresh : fresh_) {
    known.add("machine", fresh.order)
        .add("plan", plan_hash(fresh.known.plan))
        .add("hbm", fresh.known.hbm.count())
        .add("host", fresh.known.host.count())
        .add("ratio", fresh.searched ? fresh.searched->ratio : 0.0);
    if (fresh.searched) {
      all.searched_.push_back(*fresh.searched);
      const bool is_brief = fresh.searched->depth == SearchDepth::brief;
      if (is_brief) ++all.brief_searches_[fresh.searched->ranks];
      all.brief_disk_searches_ += is_brief && fresh.searched->on_disk ? 1 : 0;
    }
    const bool is_known = std::ranges::any_of(
        all.plans_, [&](const Known& other) { return other.plan == fresh.known.plan; });
    if (!is_known) all.plans_.push_back(std::move(fresh.known));
  }
  fresh_.clear();
  std::ranges::stable_sort(fresh_lacking_, {}, &std::pair<std::string, Lacking>::first);
  for (auto& [order, lacking] : fresh_lacking_) {
    known.add("lacking", order).add("short_by", lacking.shortage.short_by.count());
    all.lacking_.push_back(std::move(lacking));
  }
  fresh_lacking_.clear();
  all.hash_ = known.hash();
  known_ = std::make_shared<const Knowledge>(std::move(all));
}

}  // namespace sluice::planner
