#include "planner/explanation/reliefs.hpp"

#include <algorithm>

#include "planner/effort/deadline.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/explanation/less_on_disk.hpp"
#include "planner/guided/coarse_step.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/run_step.hpp"

namespace sluice::planner {
namespace {

/// Share (0 to 1) of the remaining time that searches with more of a resource may take.
constexpr double kSearchPart = 0.5;
/// Time of the shortest search, in coarse simulations.
constexpr int kSearchTakes = 12;

void sort(std::vector<Relief>& all) {
  std::ranges::stable_sort(all, {}, [](const Relief& one) { return one.step; });
}

/// Whether the relief's resource is a memory that is so full that the plan could use more of it.
bool may_help(const Relief& relief, const Memory& memory) {
  const ResourceKind kind = machine_resource(relief.resource).kind;
  if (kind == ResourceKind::rate) return false;
  const TierMemory& tier = at(memory, kind == ResourceKind::hbm ? Tier::hbm : Tier::host);
  return static_cast<double>(tier.peak.count()) * kMore >
         static_cast<double>(tier.capacity.count());
}

void take(Relief& relief, const std::optional<TimedPlan>& found) {
  relief.searched = true;
  if (!found || found->step >= relief.step) return;
  relief.step = found->step;
  relief.plan = found->plan;
  relief.coarse = false;
}

/// `plan` with fewer, larger pieces on the disk, which make up most of its tasks.
Plan with_larger_pieces(const Plan& plan, const Job& job) {
  constexpr std::int64_t kPiecesOfABlock = 4;
  if (!uses_disk(plan)) return plan;
  Plan coarser = plan;
  const Bytes state = disk_state_bytes(job, unit_padded_size(job.model, 1));
  coarser.disk_buffer = std::max(plan.disk_buffer, Bytes(state.count() / kPiecesOfABlock));
  return coarser;
}

std::string more_of(const Relief& relief) { return "10 % more " + relief.resource; }

}  // namespace

std::vector<Relief> Reliefs::of_all(const Plan& plan, Duration step, double factor) {
  const auto resources = resources_of(plan);
  const auto begin = Deadline::Clock::now();
  const auto coarse = coarse_step(predictor_, plan);
  coarse_took_ = Deadline::Clock::now() - begin;
  std::vector<Relief> all(resources.size());
  parallel_for(resources.size(), settings_.threads,
               [&](std::size_t i) { all[i] = as_is(resources[i], plan, step, factor, coarse); });
  sort(all);
  return all;
}

Relief Reliefs::of(const MachineResource& resource, const Plan& plan, Duration step, double factor,
                   Replan replan) {
  Relief relief = as_is(resource, plan, step, factor, coarse_step(predictor_, plan));
  if (replan == Replan::never || leave_out("a search with more " + relief.resource)) return relief;
  SearchSettings settings = settings_;
  settings.until = settings_.until.part(kSearchPart);
  search_again(relief, settings);
  return relief;
}

void Reliefs::keep_more_of(std::vector<Relief>& all, const Memory& memory) {
  for (Relief& relief : all) {
    if (!may_help(relief, memory)) continue;
    const std::string what = "keeping more in " + more_of(relief);
    if (leave_out(what)) continue;
    const Predictor there = with(relief);
    take(relief, keep_more(relief.plan, relief.step, there, settings_));
    if (settings_.is_late()) leave_out(what);
  }
  sort(all);
}

void Reliefs::search_again(std::vector<Relief>& all, const Memory& memory, Duration step) {
  std::vector<std::size_t> chosen;
  bool rate_chosen = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool rate = machine_resource(all[i].resource).kind == ResourceKind::rate;
    const bool memory_felt = !rate && all[i].step < step;
    if (rate ? rate_chosen : memory_felt || !may_help(all[i], memory)) continue;
    rate_chosen = rate_chosen || rate;
    const bool host = machine_resource(all[i].resource).kind == ResourceKind::host;
    const bool quick = host && uses_disk(all[i].plan) && !settings_.is_late();
    if (!quick && leave_out("a search with " + more_of(all[i]))) continue;
    chosen.push_back(i);
  }
  SearchSettings settings = settings_;
  settings.until = settings_.until.part(kSearchPart);
  settings.threads = 1;
  parallel_for(chosen.size(), settings_.threads,
               [&](std::size_t i) { search_again(all[chosen[i]], settings); });
  sort(all);
}

void Reliefs::set_ratios(std::vector<Relief>& all, const Prediction& explained) const {
  if (hurried()) return;
  parallel_for(all.size(), settings_.threads, [&](std::size_t i) {
    Relief& relief = all[i];
    if (relief.coarse || settings_.is_late()) return;
    const bool same = relief.step == explained.step && relief.plan == explained.plan;
    relief.ratio = same ? RatioInterval{}
                        : ratio_interval(with(relief).predict(relief.plan).prediction.errors,
                                         explained.errors);
  });
}

std::optional<Duration> Reliefs::coarse_step(const Predictor& predictor, const Plan& plan) const {
  // Records in numbered slots are those of single micro-batches.
  if (!hurried() || !plan.saved_records.empty()) return std::nullopt;
  return CoarseSteps(predictor).step(with_larger_pieces(plan, predictor.job()), Duration(0)).step;
}

Relief Reliefs::as_is(const MachineResource& resource, const Plan& plan, Duration step,
                      double factor, std::optional<Duration> coarse) const {
  Relief relief{.resource = resource.name, .factor = factor, .step = step, .plan = plan};
  if (resource.kind != ResourceKind::rate) return relief;
  const Predictor there = predictor_with_more(predictor_, calibration_, resource, factor);
  if (!coarse) {
    relief.step = there.step(plan);
    return relief;
  }
  const double ratio = to_seconds(*coarse_step(there, plan)) / to_seconds(*coarse);
  relief.step = std::chrono::round<Duration>(to_seconds(step) * ratio);
  relief.coarse = true;
  return relief;
}

Predictor Reliefs::with(const Relief& relief) const {
  return predictor_with_more(predictor_, calibration_, machine_resource(relief.resource),
                             relief.factor);
}

void Reliefs::search_again(Relief& relief, SearchSettings settings) const {
  const Predictor there = with(relief);
  if (uses_disk(relief.plan)) {
    const bool host = machine_resource(relief.resource).kind == ResourceKind::host;
    if (host) take(relief, less_on_disk(relief.plan, relief.step, there, settings_));
    return;
  }
  settings.effort =
      settings_.effort > 0 ? std::min(settings_.effort, kCompareEffort) : kCompareEffort;
  const auto found = search(there, settings);
  const auto* planned = std::get_if<Planned>(&found);
  if (planned == nullptr) return take(relief, std::nullopt);
  take(relief,
       TimedPlan{.plan = planned->best.prediction.plan, .step = planned->best.prediction.step});
}

bool Reliefs::costly() const { return tasks_ > static_cast<std::size_t>(kCompareEffort); }

bool Reliefs::leave_out(const std::string& what) {
  const bool time = settings_.until.left() > kSearchTakes * coarse_took_;
  if (time && !costly()) return false;
  if (std::ranges::find(left_out_, what) == left_out_.end()) left_out_.push_back(what);
  return true;
}

}  // namespace sluice::planner
