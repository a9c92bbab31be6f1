#include "planner/costs/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_parts.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/costs/lane_boost.hpp"
#include "planner/costs/lane_interference.hpp"
#include "planner/costs/profile_rates.hpp"
#include "planner/costs/tabulated_kernels.hpp"
#include "planner/costs/tiled_work.hpp"
#include "planner/files/hash.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kH2dLink = "pcie_h2d";
constexpr const char* kD2hLink = "pcie_d2h";
constexpr const char* kDramLink = "dram";
constexpr const char* kCoresLink = "cores";

/// Sharing weights of copies over their rates alone, for CUDA machines whose profile has none (see
/// the class comment).
constexpr double kH2dWeight = 1;
constexpr double kD2hWeight = 2;

}  // namespace

bool is_rate(const CostKey& key) {
  return (is_copy(key.kind()) || key.kind() == CostKind::cpu_update) && !sized(key.name());
}

CostKey hand_off_key(CopyDirection direction) {
  return CostKey(CostKind::hand_off, direction == CopyDirection::h2d ? "h2d" : "d2h");
}

ProfileCostModel::ProfileCostModel(MachineProfile profile, Calibration calibration,
                                   CostSwitches switches)
    : profile_(std::move(profile)), calibration_(std::move(calibration)), switches_(switches) {
  if (switches_.boost) boost_ = lane_boost(profile_, calibration_);
  CanonicalText text("sluice cost model 1");
  text.add("profile", profile_hash(profile_));
  text.add("contention", switches_.contention).add("dispatch", switches_.dispatch);
  text.add("latency", switches_.latency).add("interference", switches_.interference);
  // Added later: profiles without it keep their hash.
  if (!switches_.boost) text.add("boost", false);
  for (const auto& [key, sample] : calibration_) {
    text.add(key.name(), sample.value)
        .add("deviation", sample.deviation)
        .add("count", sample.count);
  }
  hash_ = text.hash();
}

std::vector<CostModel::LinkCapacity> ProfileCostModel::links() const {
  std::vector<LinkCapacity> links{{kH2dLink, Rate(profile_.h2d.value.count())},
                                  {kD2hLink, Rate(profile_.d2h.value.count())}};
  if (switches_.contention) {
    const Rate dram(profile_.dram.value.count());
    if (dram > Rate(0)) links.push_back({kDramLink, dram, true});
    if (profile_.cores.value > 0) links.push_back({kCoresLink, Rate(profile_.cores.value), true});
  }
  return links;
}

std::vector<CostModel::LaneInterference> ProfileCostModel::interference(
    std::int64_t threads) const {
  if (!switches_.interference) return {};
  return lane_interference(profile_, calibration_, threads);
}

const CalibrationSample* ProfileCostModel::sample(const CostKey& key) const {
  const auto found = calibration_.find(key);
  return found == calibration_.end() || !(found->second.value > 0) ? nullptr : &found->second;
}

void ProfileCostModel::share_cores(TaskCost& cost, double per_unit) const {
  if (!switches_.contention || per_unit <= 0 || profile_.cores.value <= 0) return;
  cost.uses.emplace_back(kCoresLink, per_unit);
  if (profile_.device == DeviceKind::host) cost.weight = 1 / per_unit;
}

void ProfileCostModel::share_dram(TaskCost& cost, double per_unit) const {
  if (!switches_.contention || per_unit <= 0 || profile_.dram.value <= BytesPerSecond(0)) return;
  cost.uses.emplace_back(kDramLink, per_unit);
}

TaskCost ProfileCostModel::compute(const CostKey& key, const Work& work) const {
  TaskCost cost;
  cost.cap = Rate(1);
  if (const CalibrationSample* known = sample(key)) {
    cost.amount = Amount(known->value);
    cost.evidence = known->source == kSiblingSource ? Evidence::fitted : Evidence::measured;
    cost.errs_alone = true;
    cost.relative_deviation = relative_deviation(*known);
  } else {
    CostParts parts;
    CostParts products;  // One curve: its errors go together.
    double product_deviation = 0;
    CostParts tabulated;  // So do those of one table.
    double tabulated_deviation = 0;
    for (const Gemm& g : work.gemms) {
      if (profile_.device == DeviceKind::cuda && g.dealt != Gemm::Dealt::nothing) {
        const FlopRate& scaled = scaled_for_experts(profile_);
        const bool is_measured = scaled.source == Source::measured;
        const double share = expert_share_deviation(g.dealt);
        parts.add(expert_product_time(profile_, g),
                  is_measured ? share : std::hypot(share, deviation_of(scaled)),
                  is_measured ? Evidence::fitted : Evidence::datasheet);
        continue;
      }
      if (profile_.device == DeviceKind::cuda && g.chunks) {
        parts.add(chunk_product_time(profile_, g), kChunkProductDeviation, Evidence::fitted);
        continue;
      }
      double factor = 1, ruled = 0;
      if (profile_.device == DeviceKind::cuda && g.fp8 > 0) {
        const Fact speedup = fp8_speedup(profile_, g);
        factor = fp8_time_factor(g, speedup.value);
        ruled = speedup.deviation / speedup.value;
      }
      if (const auto known = tabulated_time(profile_, g)) {
        const double deviation = std::hypot(known->relative_deviation, ruled);
        tabulated.add(known->time * factor, deviation, known->evidence);
        tabulated_deviation = std::max(tabulated_deviation, deviation);
        continue;
      }
      const FlopRate rate = gemm_rate(profile_, flops(Gemm{g.m, g.n, g.k}));
      const double slowing = profile_.device == DeviceKind::cuda ? g.slowing : 1;
      products.add_work(flops(g) * slowing * factor, rate);
      product_deviation = std::max(product_deviation, std::hypot(deviation_of(rate), ruled));
    }
    parts.add(products.total(), product_deviation, products.evidence());
    parts.add(tabulated.total(), tabulated_deviation, tabulated.evidence());
    for (const AttentionWork& a : work.attention) {
      if (a.tiled && profile_.device == DeviceKind::cuda) {
        parts.add(tiled_time(profile_, a), kTiledDeviation, Evidence::fitted);
        continue;
      }
      if (const auto known = tabulated_time(profile_, a)) {
        parts.add(known->time, known->relative_deviation, known->evidence);
      } else {
        parts.add_work(flops(a), attention_rate(profile_, a));
      }
      if (profile_.device == DeviceKind::cuda) {
        parts.add_bytes(a.sums, profile_.hbm_bandwidth);
        parts.add(narrow_run_time(a), kNarrowRunDeviation, Evidence::fitted);
      }
    }
    if (work.parameters > 0 && profile_.device_update.value > 0) {
      parts.add_rate(static_cast<double>(work.parameters), profile_.device_update);
    } else {
      const Bytes waited = profile_.device == DeviceKind::cuda ? work.waited : Bytes(0);
      parts.add_bytes(work.streamed + waited, profile_.hbm_bandwidth);
    }
    if (switches_.latency) {
      parts.add_times(static_cast<double>(work.kernels), profile_.kernel_overhead);
    }
    cost.amount = Amount(parts.total().count());
    cost.evidence = parts.evidence();
    cost.relative_deviation = parts.relative_deviation();
  }
  if (profile_.device == DeviceKind::host) share_cores(cost, 1);
  if (boost_) cost.boosts = boost_share(profile_, work, Seconds(cost.amount.count()));
  return cost;
}

TaskCost ProfileCostModel::copy(const CostKey& key, CopyDirection direction, Bytes bytes) const {
  if (direction == CopyDirection::disk_read || direction == CopyDirection::disk_write) {
    return disk_transfer(key, direction, bytes);
  }
  const bool down = direction == CopyDirection::h2d;
  const Bandwidth& link = down ? profile_.h2d : profile_.d2h;
  const double size = static_cast<double>(bytes.count());
  TaskCost cost;
  cost.amount = Amount(size);
  cost.cap = Rate(link.value.count());
  cost.latency = switches_.latency ? profile_.copy_latency.value : Seconds(0);
  cost.evidence = evidence_of(link);
  cost.relative_deviation = deviation_of(link);
  // Known seconds of the task alone keep the share of latency and correct the rate.
  const auto take_seconds = [&](double seconds, double deviation, Evidence evidence) {
    const double latency = std::min(cost.latency.count(), seconds / 2);
    if (!(seconds > 0) || !(size > 0)) return;
    cost.latency = Seconds(latency);
    cost.cap = Rate(size / (seconds - latency));
    cost.relative_deviation = deviation;
    cost.evidence = evidence;
    cost.errs_alone = evidence == Evidence::measured;
  };
  if (const CalibrationSample* known = sample(key)) {
    if (is_rate(key)) {
      cost.cap = Rate(known->value);
      cost.relative_deviation = relative_deviation(*known);
      cost.evidence = Evidence::measured;
      cost.errs_alone = true;
    } else {
      take_seconds(known->value, relative_deviation(*known), Evidence::measured);
    }
  } else if (const auto fit =
                 from_family(calibration_, key,
                             {link.value.count(), deviation_of(link), cost.latency.count()})) {
    take_seconds(fit->seconds, fit->relative_deviation, Evidence::fitted);
  }
  if (switches_.latency) {
    const CalibrationSample* const known = sample(hand_off_key(direction));
    cost.latency += known != nullptr ? Seconds(known->value) : profile_.copy_gap.value;
  }
  // A link carries what was measured on it, even where its capacity is a datasheet's.
  cost.uses.emplace_back(down ? kH2dLink : kD2hLink,
                         std::min(1.0, link.value.count() / std::max(cost.cap.count(), 1.0)));
  if (profile_.device == DeviceKind::cuda) {
    const double fitted = down ? profile_.h2d_weight.value : profile_.d2h_weight.value;
    cost.weight = cost.cap.count() * (fitted > 0 ? fitted : down ? kH2dWeight : kD2hWeight);
  }
  share_dram(cost, down ? profile_.h2d_dram.value : profile_.d2h_dram.value);
  share_cores(cost, profile_.copy_cores.value);
  return cost;
}

TaskCost ProfileCostModel::at_rate(const CostKey& key, double amount, const Fact& rate) const {
  TaskCost cost;
  cost.amount = Amount(amount);
  cost.cap = Rate(rate.value);
  cost.evidence = evidence_of(rate);
  cost.relative_deviation = deviation_of(rate);
  if (const CalibrationSample* known = sample(key)) {
    cost.cap = Rate(is_rate(key) ? known->value : amount / known->value);
    cost.evidence = Evidence::measured;
    cost.errs_alone = true;
    cost.relative_deviation = relative_deviation(*known);
  } else if (const auto fit = from_family(calibration_, key, {rate.value, deviation_of(rate)})) {
    cost.cap = Rate(amount / fit->seconds);
    cost.evidence = Evidence::fitted;
    cost.relative_deviation = fit->relative_deviation;
  }
  return cost;
}

TaskCost ProfileCostModel::cpu_update(const CostKey& key, const Work& work) const {
  const double parameters = static_cast<double>(work.parameters);
  const Fact rate = update_rate(profile_, work.threads);
  TaskCost cost = at_rate(key, parameters, rate);
  cost.weight = profile_.device == DeviceKind::cuda ? cost.cap.count() : 1;
  share_dram(cost, profile_.update_dram.value);
  share_cores(cost, static_cast<double>(work.threads) / cost.cap.count());
  return cost;
}

TaskCost ProfileCostModel::launch(const CostKey& key, const Work& work) const {
  TaskCost cost;
  cost.cap = Rate(1);
  cost.evidence = evidence_of(profile_.launch);
  cost.relative_deviation = deviation_of(profile_.launch);
  if (!switches_.dispatch) return cost;
  cost.amount = Amount(static_cast<double>(work.kernels) * profile_.launch.value.count());
  if (const CalibrationSample* known = sample(key)) {
    cost.amount = Amount(known->value);
    cost.evidence = Evidence::measured;
    cost.errs_alone = true;
    cost.relative_deviation = relative_deviation(*known);
  }
  share_cores(cost, 1);
  return cost;
}

TaskCost ProfileCostModel::data(const CostKey& key, std::int64_t tokens) const {
  // Two int32 a token, gathered by one thread: far below the noise of anything else, so the rate of
  // one core's memory copy (5 GB/s, low for any machine here) will do until it is measured.
  constexpr double kGatherBytesPerSecond = 5e9;
  TaskCost cost;
  cost.cap = Rate(1);
  cost.amount = Amount(static_cast<double>(tokens) * 8 / kGatherBytesPerSecond);
  cost.relative_deviation = 0.5;
  if (const CalibrationSample* known = sample(key)) {
    cost.amount = Amount(known->value);
    cost.evidence = Evidence::measured;
    cost.errs_alone = true;
    cost.relative_deviation = relative_deviation(*known);
  }
  share_cores(cost, 1);
  return cost;
}

}  // namespace sluice::planner
