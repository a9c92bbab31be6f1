#include "planner/sibling_costs.hpp"

#include <array>
#include <cmath>
#include <optional>

#include "planner/cost_key.hpp"
#include "planner/cost_model.hpp"

namespace sluice::planner {
namespace {

constexpr double kDeviation = 0.05;
/// Of a pass whose nearest sibling is a factor e away in one size.
constexpr double kDeviationOfDistance = 0.05;

/// In the order in which a missing pass over a block looks for a measured one of its own job.
constexpr std::array kBlockPasses{Pass::block_forward, Pass::block_recompute_input,
                                  Pass::block_recompute_selective, Pass::block_backward};

struct PassOfUnit {
  Pass pass;
  std::size_t unit;
};

/// Every pass with a cost key of its own; unit 1 is a block.
std::vector<PassOfUnit> passes_of(const Job& job) {
  const std::size_t head = unit_count(job.model) - 1;
  std::vector<PassOfUnit> passes;
  passes.reserve(kBlockPasses.size() + 6);
  for (const Pass pass : kBlockPasses) passes.push_back({pass, 1});
  passes.push_back({Pass::embed_forward, 0});
  passes.push_back({Pass::embed_backward, 0});
  passes.push_back({Pass::loss, head});
  for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, head}) {
    passes.push_back({Pass::norm, unit});
  }
  return passes;
}

class Siblings {
 public:
  Siblings(const Job& job, const MachineProfile& profile, const Calibration& calibration)
      : job_(job), uncalibrated_(profile, {}), calibration_(calibration) {}

  [[nodiscard]] double profile_time(const Job& job, PassOfUnit p) const {
    return uncalibrated_.compute(compute_key(job, p.pass, p.unit), work_of(job, p.pass, p.unit))
        .amount.count();
  }

  struct Scale {
    double ratio;  ///< Measured over the profile's time.
    double deviation;
  };
  /// From the same pass of other jobs.
  [[nodiscard]] std::optional<Scale> of_other_jobs(PassOfUnit p) const {
    // A distance of a tenth (some 10 % in one size) still counts as near.
    constexpr double kNear = 0.01;
    const std::string own = compute_key(job_, p.pass, p.unit).name;
    const std::string pass = own.substr(0, own.find('|') + 1);
    double weights = 0, sum = 0, nearest = INFINITY;
    for (auto it = calibration_.lower_bound(CostKey{pass});
         it != calibration_.end() && it->first.name.starts_with(pass); ++it) {
      const std::optional<Job> other = job_named_by(it->first, job_);
      // What the job has in common with this one by assumption, the key has to say, too.
      if (!other || compute_key(*other, p.pass, p.unit) != it->first) continue;
      const double time = profile_time(*other, p);
      if (!(time > 0) || !(it->second.value > 0)) continue;
      const double squared = squared_distance(*other);
      const double weight = 1 / std::pow(squared + kNear, 2);
      weights += weight;
      sum += weight * std::log(it->second.value / time);
      nearest = std::min(nearest, squared);
    }
    if (weights == 0) return std::nullopt;
    return Scale{std::exp(sum / weights), kDeviation + kDeviationOfDistance * std::sqrt(nearest)};
  }

  /// From another pass over the same job's blocks.
  [[nodiscard]] std::optional<Scale> of_other_passes() const {
    for (const Pass pass : kBlockPasses) {
      const auto found = calibration_.find(compute_key(job_, pass, 1));
      const double time = profile_time(job_, {pass, 1});
      if (found != calibration_.end() && time > 0) {
        return Scale{found->second.value / time, kDeviation};
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] double squared_distance(const Job& other) const {
    const auto apart = [](std::int64_t a, std::int64_t b) {
      return std::pow(std::log(static_cast<double>(a) / static_cast<double>(b)), 2);
    };
    return apart(job_.model.hidden, other.model.hidden) +
           apart(job_.model.head_dim, other.model.head_dim) + apart(job_.seq_len, other.seq_len) +
           apart(job_.micro_tokens(), other.micro_tokens());
  }

  const Job& job_;
  ProfileCostModel uncalibrated_;
  const Calibration& calibration_;
};

}  // namespace

Calibration with_siblings(const Job& job, const MachineProfile& profile, Calibration calibration) {
  const Siblings siblings(job, profile, calibration);
  const auto within = siblings.of_other_passes();
  std::vector<CalibrationSample> added;
  for (const PassOfUnit& p : passes_of(job)) {
    const CostKey key = compute_key(job, p.pass, p.unit);
    if (calibration.contains(key)) continue;
    auto scale = siblings.of_other_jobs(p);
    if (!scale && unit_at(job.model, p.unit).kind == UnitKind::block && p.pass != Pass::norm) {
      scale = within;
    }
    if (!scale) continue;
    CalibrationSample sample;
    sample.key = key;
    sample.value = siblings.profile_time(job, p) * scale->ratio;
    sample.deviation = sample.value * scale->deviation;
    sample.source = kSiblingSource;
    added.push_back(std::move(sample));
  }
  for (CalibrationSample& sample : added) calibration.emplace(sample.key, std::move(sample));
  return calibration;
}

}  // namespace sluice::planner
