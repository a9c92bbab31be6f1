#include "planner/explanation/hosts_scaling.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "planner/costs/fabric_rates.hpp"
#include "planner/predictions/limited_by.hpp"
#include "planner/requests/run_devices.hpp"
#include "planner/requests/run_step.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// NICs of hosts that are rented and sold, slowest first.
constexpr std::array kNics = {"10GbE",  "25GbE",    "100GbE",   "200GbE",
                              "400GbE", "2x400GbE", "4x400GbE", "8x400GbE"};
/// Share of their number times one host's tokens/s from which hosts are said to scale.
constexpr double kScales = 0.9;
/// Largest batch that is tried, over that of a micro-batch on every device.
constexpr std::int64_t kMostTimesLeast = 64;

/// Groups of a run that states none: the devices of the most hosts that can share its steps so.
std::int64_t common_groups(const Request& run, const ScalingOptions& options, std::int64_t local) {
  RunConfig config = run.config;
  std::int64_t groups = run.config.devices;
  for (const std::int64_t hosts : options.hosts) {
    config.groups = local * hosts;
    if (!why_not_shared(config, local * hosts)) groups = std::max(groups, local * hosts);
  }
  return groups;
}

/// Steps of a run on any number of hosts, with any batch; each is searched for once.
class Steps {
 public:
  Steps(const Request& run, const ScalingOptions& options)
      : run_(run),
        options_(options),
        local_(run.config.devices / hosts_of(run.config)),
        groups_(run.config.groups.value_or(common_groups(run, options, local_))) {}

  [[nodiscard]] std::int64_t local() const { return local_; }

  /// The run on `hosts` hosts, with another batch.
  [[nodiscard]] RunConfig config(std::int64_t hosts, std::int64_t batch) const {
    RunConfig config = run_.config;
    config.devices = local_ * hosts;
    config.stated.insert("devices");
    config.batch_size = batch;
    config.gradient_accumulation.reset();
    config.groups = std::min(groups_, batch / config.micro_batch);
    if (hosts == 1) {
      config = on_one_host(std::move(config));
    } else {
      config.machine_overrides["hosts"] = std::to_string(hosts);
    }
    return config;
  }

  /// The best of a search and of the plan of one host with its part of the batch. None where the
  /// hosts cannot share such steps, or do not hold the run.
  const std::optional<PredictedStep>& at(std::int64_t hosts, std::int64_t batch) {
    if (!found_.contains({hosts, batch})) {
      options_.progress(std::to_string(hosts) + (hosts == 1 ? " host, " : " hosts, ") +
                        std::to_string(batch) + " sequences a step");
      auto step = step_of_changed(run_, config(hosts, batch), options_.deadline);
      if (hosts > 1 && batch % hosts == 0) {
        auto other = as_one_host(hosts, batch);
        if (other && (!step || other->prediction.step < step->prediction.step)) step = other;
      }
      found_[{hosts, batch}] = std::move(step);
    }
    return found_[{hosts, batch}];
  }

  [[nodiscard]] double tokens_per_s(std::int64_t hosts, std::int64_t batch) {
    const auto& step = at(hosts, batch);
    return step ? step->prediction.tokens_per_s : 0;
  }

  HostsPoint point(std::int64_t hosts, std::int64_t batch) {
    HostsPoint point{.hosts = hosts, .devices = local_ * hosts, .batch_size = batch};
    const auto& step = at(hosts, batch);
    if (!step) return point;
    point.step = step->prediction.step;
    point.tokens_per_s = step->prediction.tokens_per_s;
    std::tie(point.limit, point.limit_share) = limited_by(step->prediction);
    return point;
  }

  /// Time of the plan found for the run's NICs, with others; none where there is no plan.
  std::optional<Duration> step_with(const std::string& nic, std::int64_t hosts,
                                    std::int64_t batch) {
    const auto& own = at(hosts, batch);
    if (!own) return std::nullopt;
    RunConfig changed = config(hosts, batch);
    changed.machine_overrides["nic"] = nic;
    const Request there = run_.with(std::move(changed));
    Plan plan = own->prediction.plan;
    plan.hosts = hosts_of_plans(there.machine().profile, plan.ranks, plan.gather);
    return there.predictor.predict(plan).prediction.step;
  }

 private:
  /// The step by one host's plan for its part of the batch, which each of the hosts then follows;
  /// none where it is no plan for all of them, or does not fit.
  std::optional<PredictedStep> as_one_host(std::int64_t hosts, std::int64_t batch) {
    const std::optional<PredictedStep>& one = at(1, batch / hosts);
    if (!one) return std::nullopt;
    try {
      const Request there = run_.with(config(hosts, batch));
      Plan plan = one->prediction.plan;
      plan.ranks = there.predictor.ranks();
      plan.hosts = hosts_of_plans(there.machine().profile, plan.ranks, plan.gather);
      if (plan.ranks == 1 || !is_valid(plan, there.job())) return std::nullopt;
      PredictedStep step = there.predictor.predict(plan);
      if (!step.prediction.fits) return std::nullopt;
      return step;
    } catch (const BadRequest&) {
      return std::nullopt;
    }
  }

  const Request& run_;
  const ScalingOptions& options_;
  std::int64_t local_, groups_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::optional<PredictedStep>> found_;
};

void set_efficiencies(std::vector<HostsPoint>& points) {
  const auto first =
      std::ranges::find_if(points, [](const HostsPoint& each) { return each.step.has_value(); });
  if (first == points.end()) return;
  const double one = first->tokens_per_s / static_cast<double>(first->hosts);
  for (HostsPoint& each : points) {
    each.efficiency = each.tokens_per_s / (one * static_cast<double>(each.hosts));
  }
}

/// The first of `batches` at which the hosts do more than `times` what one does.
std::optional<std::int64_t> first_above(double times, Steps& steps, std::int64_t hosts,
                                        const std::vector<std::int64_t>& batches,
                                        const Deadline& deadline) {
  std::size_t low = 0, high = batches.size();
  while (low < high && !deadline.is_late()) {
    const std::size_t middle = (low + high) / 2;
    const std::int64_t batch = batches[middle];
    const double all = steps.tokens_per_s(hosts, batch);
    if (all > 0 && all > times * steps.tokens_per_s(1, batch)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low < high || high == batches.size()) return std::nullopt;
  return batches[high];
}

}  // namespace

HostsScaling hosts_scaling(const Request& run, const ScalingOptions& options) {
  const RunConfig& config = run.config;
  const auto nic = config.machine_overrides.find("nic");
  if (nic == config.machine_overrides.end()) {
    throw BadRequest(
        "machine.nic: is missing, and hosts are joined by it: set it to a host's NICs, such as "
        "--nic 8x400GbE");
  }
  Steps steps(run, options);
  const std::int64_t batch = run.job().batch_size;
  HostsScaling scaling{.machine = config.machine, .nic = nic->second, .seq_len = run.job().seq_len};
  for (const std::int64_t hosts : options.hosts) {
    scaling.strong.push_back(steps.point(hosts, batch));
    scaling.weak.push_back(steps.point(hosts, batch * hosts));
  }
  set_efficiencies(scaling.strong);
  set_efficiencies(scaling.weak);
  const auto several =
      std::ranges::find_if(options.hosts, [](std::int64_t hosts) { return hosts > 1; });
  if (several == options.hosts.end()) return scaling;
  scaling.hosts = *several;
  const std::int64_t least = config.micro_batch * steps.local() * scaling.hosts;
  std::vector<std::int64_t> batches;
  for (std::int64_t each = least; each <= kMostTimesLeast * least; each *= 2) {
    batches.push_back(each);
  }
  scaling.most_tried = batches.back() * scaling.seq_len;
  const auto tokens = [&](double times) -> std::optional<std::int64_t> {
    const auto first = first_above(times, steps, scaling.hosts, batches, options.deadline);
    if (!first) return std::nullopt;
    return *first * scaling.seq_len;
  };
  scaling.pays_from = tokens(1);
  scaling.scales_from = tokens(kScales * static_cast<double>(scaling.hosts));
  const auto& one = steps.at(1, batch);
  if (!one) return scaling;
  for (const char* each : kNics) {
    const auto step = steps.step_with(each, scaling.hosts, batch);
    if (!step) break;
    scaling.nics.push_back({.nic = each,
                            .speed = to_seconds(one->prediction.step) / to_seconds(*step),
                            .step = *step});
  }
  return scaling;
}

const NicPoint* nic_that_does(const HostsScaling& scaling, double share) {
  const double times = share * static_cast<double>(scaling.hosts);
  const auto found = std::ranges::find_if(
      scaling.nics, [times](const NicPoint& each) { return each.speed >= times; });
  return found == scaling.nics.end() ? nullptr : &*found;
}

}  // namespace sluice::planner
