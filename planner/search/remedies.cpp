#include "planner/search/remedies.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "planner/effort/search_settings.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/search/disk_search.hpp"
#include "planner/search/disk_shares.hpp"
#include "planner/search/fitting_plans.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

constexpr std::size_t kRemedies = 3;
/// Smallest mlp_chunk: fewer tokens leave a GPU idle while weights and gradients are read and
/// written.
constexpr std::int64_t kLeastMlpChunk = 1024;
/// Factor of roomier memory than the least that will do, and the ratio of steps that makes it worth
/// a word.
constexpr double kRoomy = 1.1, kMuchFaster = 0.9;
/// Host memory that no plan fills.
constexpr Bytes kPlenty{1ll << 58};

/// A changed request.
struct Change {
  Job job;
  ResolvedMachine machine;
  Bytes on_disk{0};  ///< Bytes that the host lacks, which are to lie on the disk.
};

/// A plan that fits after a change; none where no sketch does.
std::optional<TimedPlan> plan_after(const Change& change, const Predictor& predictor,
                                    const Calibration& calibration,
                                    const SearchSettings& settings) {
  try {
    validate(change.job);
    const std::vector<std::int64_t> ranks = ranks_of(change.job);
    if (std::ranges::find(ranks, predictor.ranks()) == ranks.end()) return std::nullopt;
    const Predictor changed(change.job, change.machine, calibration, predictor.residency(),
                            predictor.costs().switches(), predictor.ranks());
    if (change.on_disk.count() > 0) return fitting_on_disk(changed, change.on_disk, settings);
    const FittingPlans in_memory(changed, settings);
    auto found = in_memory.any();
    if (found || !change.machine.state_on_disk) return found;
    const auto smallest = in_memory.plan_of_least_memory(Tier::host);
    if (smallest)
      return fitting_on_disk(changed, at(smallest->memory, Tier::host).missing(), settings);
  } catch (const BadRequest&) {
    // The pins do not go with the changed job: no remedy.
  }
  return std::nullopt;
}

/// Divisors of `value` below it, largest first.
std::vector<std::int64_t> smaller_divisors(std::int64_t value) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = value - 1; d >= 1; --d) {
    if (value % d == 0) all.push_back(d);
  }
  return all;
}

std::vector<std::int64_t> halvings(std::int64_t value, std::int64_t least) {
  std::vector<std::int64_t> all;
  for (value /= 2; value >= least; value /= 2) all.push_back(value);
  return all;
}

/// `bytes` rounded up to what people say: whole GiB, or whole MiB below 16 GiB.
Bytes rounded_up(Bytes bytes) {
  constexpr std::int64_t kMib = 1 << 20, kGib = 1 << 30;
  const std::int64_t unit = bytes.count() < 16 * kGib ? kMib : kGib;
  return Bytes((bytes.count() + unit - 1) / unit * unit);
}

std::string as_setting(Bytes rounded) {
  const std::int64_t mib = rounded.count() >> 20;
  return mib % 1024 == 0 ? std::to_string(mib / 1024) + "GiB" : std::to_string(mib) + "MiB";
}

/// The memory with `factor` times as much of each tier that is short.
Memory with_more(const Memory& memory, double factor) {
  Memory more = memory;
  for (TierMemory& tier : more) {
    if (tier.fits()) continue;
    tier.peak = Bytes(static_cast<std::int64_t>(factor * static_cast<double>(tier.peak.count())));
  }
  return more;
}

class Remedies {
 public:
  Remedies(const Predictor& predictor, const Calibration& calibration,
           const SearchSettings& settings, const MemoryOrder& order)
      : predictor_(predictor), calibration_(calibration), settings_(settings), order_(order) {}

  /// Adds the first of `values` that fits, as `field` of the job.
  void try_job(const std::string& field, std::int64_t now, const std::vector<std::int64_t>& values,
               const std::function<void(Job&, std::int64_t)>& set) {
    for (const std::int64_t value : values) {
      if (is_over()) return;
      Change change{predictor_.job(), predictor_.machine()};
      set(change.job, value);
      if (add(change, field + " " + std::to_string(value) + " instead of " + std::to_string(now),
              field + "=" + std::to_string(value), true)) {
        return;
      }
    }
  }

  bool add(const Change& change, std::string what, std::string setting, bool changes_bits) {
    if (full()) return false;
    const auto best = plan_after(change, predictor_, calibration_, settings_);
    if (!best) return false;
    found_.push_back({std::move(what), std::move(setting), changes_bits, best->step});
    return true;
  }

  /// Adds the memory that `memory` lacks, and the step with a tenth more where that is much
  /// shorter, for with the least that will do only slow plans fit.
  void add_memory(const Memory& memory) {
    if (!found_.empty() && settings_.is_late()) return;
    const MoreMemory more = order_(predictor_.machine(), memory);
    if (more.what.empty() || !add({predictor_.job(), more.machine}, more.what, more.setting, false))
      return;
    if (settings_.is_late()) return;
    const MoreMemory roomy = order_(predictor_.machine(), with_more(memory, kRoomy));
    if (roomy.setting == more.setting) return;
    const auto best =
        plan_after({predictor_.job(), roomy.machine}, predictor_, calibration_, settings_);
    Remedy& said = found_.back();
    if (!best || to_seconds(best->step) > kMuchFaster * to_seconds(said.step)) return;
    said.what += " (" + format_seconds(to_seconds(best->step)) + " with " + roomy.setting + ")";
  }

  /// Adds state on the disk instead of what the host lacks, and how much longer a step then takes
  /// than with enough host memory.
  void add_disk(Bytes host_short) {
    const ResolvedMachine& machine = predictor_.machine();
    if (is_over() || machine.state_on_disk ||
        machine.profile.disk_read.value <= BytesPerSecond(0)) {
      return;
    }
    if (!may_use_disk(predictor_.job())) return;
    if (host_short > machine.disk) return;  // What leaves the host takes as much there.
    Change change{predictor_.job(), machine};
    change.machine.state_on_disk = true;
    change.on_disk = host_short;
    const auto best = plan_after(change, predictor_, calibration_, settings_);
    if (!best || !uses_disk(best->plan)) return;
    std::string what = disk_share_text(best->plan);
    change.machine.host = kPlenty;
    change.machine.state_on_disk = false;
    change.on_disk = Bytes(0);
    if (const auto base = plan_after(change, predictor_, calibration_, settings_)) {
      const Duration more = best->step - base->step;
      if (more > Duration(0)) what += ": +" + format_seconds(to_seconds(more)) + " a step";
    }
    const std::int64_t gib = 1ll << 30;
    const std::int64_t needed = (at(best->memory, Tier::disk).peak.count() + gib - 1) / gib;
    found_.push_back({what, "--disk " + std::to_string(needed) + "GiB", false, best->step});
  }

  [[nodiscard]] bool full() const { return found_.size() >= kRemedies; }
  /// Whether nothing but more memory is tried any more.
  [[nodiscard]] bool is_over() const { return full() || settings_.is_late(); }
  [[nodiscard]] std::vector<Remedy> take() { return std::move(found_); }

 private:
  const Predictor& predictor_;
  const Calibration& calibration_;
  const SearchSettings& settings_;
  const MemoryOrder& order_;
  std::vector<Remedy> found_;
};

}  // namespace

MoreMemory more_memory(const ResolvedMachine& machine, const Memory& memory) {
  MoreMemory more{machine, {}, {}};
  for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
    const TierMemory& used = at(memory, tier);
    if (used.fits()) continue;
    const Bytes needed = rounded_up(used.peak);
    (tier == Tier::hbm    ? more.machine.hbm
     : tier == Tier::host ? more.machine.host
                          : more.machine.disk) = needed;
    const std::string name = to_string(tier);
    more.what += (more.what.empty() ? "" : ", ") + name + " " + format_bytes(needed) +
                 " instead of " + format_bytes(used.capacity);
    more.setting += (more.setting.empty() ? "--" : " --") + name + " " + as_setting(needed);
  }
  return more;
}

std::vector<Remedy> remedies_for(const Predictor& predictor, const Infeasible& shortage,
                                 const Calibration& calibration, const SearchSettings& settings,
                                 const MemoryOrder& order) {
  Remedies remedies(predictor, calibration, settings, order);
  const Job& job = predictor.job();
  if (shortage.tier == Tier::hbm) {
    remedies.try_job("loss_chunk", job.loss_chunk,
                     halvings(std::min(job.loss_chunk, job.micro_tokens()), 16),
                     [](Job& changed, std::int64_t value) { changed.loss_chunk = value; });
    remedies.try_job("micro_batch", job.micro_batch, smaller_divisors(job.micro_batch),
                     [](Job& changed, std::int64_t value) { changed.micro_batch = value; });
    remedies.try_job("groups", job.groups, halvings(job.groups, 1),
                     [](Job& changed, std::int64_t value) { changed.groups = value; });
    // Fewer sequences at a time would cost less than an MLP that is computed again.
    if (job.micro_batch == 1 && !job.model.experts) {
      remedies.try_job("mlp_chunk", job.mlp_chunk, halvings(job.mlp_tokens(), kLeastMlpChunk),
                       [](Job& changed, std::int64_t value) { changed.mlp_chunk = value; });
    }
  }
  if (shortage.tier == Tier::host) {
    remedies.add_disk(shortage.short_by);
  }
  remedies.add_memory(shortage.memory);
  if (shortage.tier == Tier::host && job.gradient_wire == GradientWire::fp32 &&
      !remedies.is_over()) {
    Change change{job, predictor.machine()};
    change.job.gradient_wire = GradientWire::bf16;
    remedies.add(change, "gradients cross the link and wait as bf16", "gradient_wire=bf16", true);
  }
  // Weights, state and gradients do not shrink with the sequence.
  if (shortage.tier != Tier::hbm) return remedies.take();
  remedies.try_job("seq_len", job.seq_len, halvings(job.seq_len, 16),
                   [](Job& changed, std::int64_t value) { changed.seq_len = value; });
  return remedies.take();
}

std::vector<Remedy> remedies_for_given(const GivenPlan& given, const Memory& memory,
                                       const Predictor& predictor, const Calibration& calibration,
                                       const SearchSettings& settings, const MemoryOrder& order) {
  const std::string flag = given.source == PlanSource::file ? "--plan" : "--policy";
  const std::string without = ", without " + flag;
  const std::string taken_back = flag + "=";
  std::vector<Remedy> remedies;
  const auto found = search_or_remedy(predictor, calibration, settings, order);
  if (const auto* planned = std::get_if<Planned>(&found)) {
    remedies.push_back({"another plan, found by search" + without, taken_back, false,
                        planned->best.prediction.step});
  } else {
    remedies = std::get<Infeasible>(found).remedies;
    for (Remedy& remedy : remedies) {
      remedy.what += without;
      remedy.setting.insert(0, taken_back + " ");
    }
  }
  const MoreMemory more = order(predictor.machine(), memory);
  const Prediction as_given =
      Predictor(predictor.job(), more.machine, calibration, predictor.residency(),
                predictor.costs().switches(), predictor.ranks())
          .predict(given.plan)
          .prediction;
  if (as_given.fits) {
    if (remedies.size() == kRemedies) remedies.pop_back();
    remedies.push_back({more.what, more.setting, false, as_given.step});
  }
  return remedies;
}

std::variant<Planned, Infeasible> search_or_remedy(const Predictor& predictor,
                                                   const Calibration& calibration,
                                                   const SearchSettings& settings,
                                                   const MemoryOrder& order) {
  auto found = search(predictor, settings);
  if (auto* infeasible = std::get_if<Infeasible>(&found)) {
    infeasible->remedies = remedies_for(predictor, *infeasible, calibration, settings, order);
  }
  return found;
}

}  // namespace sluice::planner
