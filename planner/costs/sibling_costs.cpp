#include "planner/costs/sibling_costs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/probed_passes.hpp"
#include "planner/costs/ratio_field.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

/// Largest number of measured passes, the nearest, from which a pass's cost is derived.
constexpr std::size_t kMostSiblings = 96;

struct PassOfUnit {
  Pass pass;
  std::size_t unit;
};
/// Passes whose measurements inform each other.
using PassGroup = std::vector<PassOfUnit>;

/// Groups of all passes with a cost key of their own, of the first block of each kind.
std::vector<PassGroup> passes_of(const Job& job) {
  const std::size_t head = unit_count(job.model) - 1;
  PassGroup products;
  std::vector<PassGroup> groups;
  for (const BlockClass& each : block_classes(job.model)) {
    products.insert(products.end(), {{Pass::block_forward, each.unit},
                                     {Pass::block_recompute_input, each.unit},
                                     {Pass::block_recompute_selective, each.unit},
                                     {Pass::block_backward, each.unit}});
    groups.push_back({{Pass::norm, each.unit}});
  }
  products.push_back({Pass::loss, head});
  groups.insert(
      groups.begin(),
      {products, {{Pass::embed_forward, 0}}, {{Pass::embed_backward, 0}}, {{Pass::norm, 0}}});
  groups.push_back({{Pass::norm, head}});
  return groups;
}

/// Whether passes of `job` run the kernels that a probe's blocks run.
bool alike_probed(const Job& job) {
  return job.operators == Operators::fused && job.compute != ComputeType::fp32 &&
         !job.model.experts && !job.sequence_chunk;
}

/// Adds the samples of `probed` for the job's own passes where no run measured them.
void add_own(const Job& job, const Calibration& probed, Calibration& calibration) {
  std::vector<PassOfUnit> own{{Pass::combine, 0}};
  for (const PassGroup& group : passes_of(job)) own.insert(own.end(), group.begin(), group.end());
  for (const PassOfUnit& p : own) {
    const auto found = probed.find(compute_key(job, p.pass, p.unit));
    if (found != probed.end()) calibration.emplace(found->first, found->second);
  }
}

class Siblings {
 public:
  /// `probed`: the profile's passes; `calibration`: what runs measured.
  Siblings(const Job& job, const MachineProfile& profile, const Calibration& probed,
           const Calibration& calibration)
      : job_(job), uncalibrated_(profile, {}), calibration_(calibration) {
    if (!alike_probed(job)) return;
    for (const auto& [key, sample] : probed) {
      if (calibration.contains(key)) continue;
      if (auto pass = probed_pass(key)) probed_.push_back({std::move(*pass), sample.value});
    }
  }

  [[nodiscard]] double profile_time(const Job& job, PassOfUnit p) const {
    return profile_time(job, p, work_of(job, p.pass, p.unit));
  }

  [[nodiscard]] PassPlace place_of(const Job& job, PassOfUnit p) const {
    const auto logarithm = [](std::int64_t size) { return std::log(static_cast<double>(size)); };
    Work element_wise = work_of(job, p.pass, p.unit);
    element_wise.gemms.clear();
    element_wise.attention.clear();
    const double time = profile_time(job, p);
    return {p.pass,
            {logarithm(job.model.hidden), logarithm(job.model.head_dim), logarithm(job.seq_len),
             logarithm(job.micro_tokens())},
            time > 0 ? profile_time(job, p, element_wise) / time : 0};
  }

  [[nodiscard]] std::vector<RatioField::Measured> measured(const PassGroup& group) const {
    std::vector<Found> found;
    for (const PassOfUnit& p : group) {
      const PassPlace own = place_of(job_, p);
      add_run(p, own, found);
      add_probed(p, own, found);
    }
    std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
    std::vector<RatioField::Measured> nearest;
    for (std::size_t i = 0; i < std::min(found.size(), kMostSiblings); ++i) {
      nearest.push_back(found[i].second);
    }
    return nearest;
  }

 private:
  /// A measured pass and its squared distance from the job's own.
  using Found = std::pair<double, RatioField::Measured>;

  /// Adds passes that runs measured of jobs like this one.
  void add_run(PassOfUnit p, const PassPlace& own, std::vector<Found>& found) const {
    const std::string key = compute_key(job_, p.pass, p.unit).name();
    const std::string pass = key.substr(0, key.find('|') + 1);
    for (auto it = calibration_.lower_bound(CostKey{pass});
         it != calibration_.end() && it->first.name().starts_with(pass); ++it) {
      const std::optional<Job> other = job_named_by(it->first, job_);
      // The key must state everything that this job is assumed to have in common with `like`.
      if (!other || compute_key(*other, p.pass, p.unit) != it->first) continue;
      add(*other, p, {own, it->second.value, RatioField::By::run}, found);
    }
  }

  /// Adds passes that the machine's probe measured and no run did.
  void add_probed(PassOfUnit p, const PassPlace& own, std::vector<Found>& found) const {
    const UnitKind unit = unit_at(job_.model, p.unit).kind;
    for (const auto& [probed, seconds] : probed_) {
      if (probed.pass != p.pass || unit_at(probed.job.model, probed.unit).kind != unit) continue;
      add(probed.job, {probed.pass, probed.unit}, {own, seconds, RatioField::By::probe}, found);
    }
  }

  struct Timed {
    const PassPlace& own;
    double seconds;
    RatioField::By by;
  };
  void add(const Job& job, PassOfUnit p, const Timed& timed, std::vector<Found>& found) const {
    const double time = profile_time(job, p);
    if (!(time > 0) || !(timed.seconds > 0)) return;
    const PassPlace place = place_of(job, p);
    found.push_back({squared_distance(timed.own, place), {place, timed.seconds / time, timed.by}});
  }

  [[nodiscard]] double profile_time(const Job& job, PassOfUnit p, const Work& work) const {
    return uncalibrated_.compute(compute_key(job, p.pass, p.unit), work).amount.count();
  }

  static double squared_distance(const PassPlace& a, const PassPlace& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.log_sizes.size(); ++i) {
      sum += std::pow(a.log_sizes[i] - b.log_sizes[i], 2);
    }
    return sum;
  }

  const Job& job_;
  ProfileCostModel uncalibrated_;
  const Calibration& calibration_;
  std::vector<std::pair<ProbedPass, double>> probed_;  ///< Passes, and their measured seconds.
};

}  // namespace

Calibration with_siblings(const Job& job, const MachineProfile& profile, Calibration calibration) {
  const Calibration probed = probed_passes(profile);
  const Siblings siblings(job, profile, probed, calibration);
  std::vector<CalibrationSample> added;
  for (const PassGroup& group : passes_of(job)) {
    const std::vector<RatioField::Measured> measured = siblings.measured(group);
    if (measured.empty()) continue;
    const RatioField field(measured);
    // Beside runs, the probe's own time of a pass is one more measurement, of another minute.
    const bool by_runs = std::ranges::any_of(
        measured, [](const auto& each) { return each.by == RatioField::By::run; });
    for (const PassOfUnit& p : group) {
      CalibrationSample sample;
      sample.key = compute_key(job, p.pass, p.unit);
      if (calibration.contains(sample.key)) continue;
      if (probed.contains(sample.key) && !by_runs) continue;
      const RatioField::Estimate estimate = field.at(siblings.place_of(job, p));
      sample.value = siblings.profile_time(job, p) * estimate.ratio;
      sample.deviation = sample.value * estimate.deviation;
      sample.source = kSiblingSource;
      added.push_back(std::move(sample));
    }
  }
  for (CalibrationSample& sample : added) calibration.emplace(sample.key, std::move(sample));
  add_own(job, probed, calibration);
  return calibration;
}

}  // namespace sluice::planner
