#include "planner/predictions/basis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace sluice::planner {
namespace {

std::string lane_name(LaneKind lane) {
  switch (lane) {
    case LaneKind::compute:
      return "device";
    case LaneKind::h2d:
      return "copies down";
    case LaneKind::d2h:
      return "copies up";
    case LaneKind::cpu:
      return "CPU";
    case LaneKind::launch:
      return "launches";
    case LaneKind::disk_read:
      return "disk reads";
    case LaneKind::disk_write:
      return "disk writes";
    case LaneKind::fabric:
      return "fabric";
  }
  return "";
}

/// Splits the error of each cost among the numbers that it is made from.
class BasisMaker {
 public:
  explicit BasisMaker(const BasisInputs& inputs)
      : inputs_(inputs), profile_(inputs.costs.profile()) {
    for (const CriticalCost& cost : inputs.critical) lane_time(cost.lane) += cost.time.count();
  }

  std::vector<BasisLine> make() {
    for (const CriticalCost& cost : inputs_.critical) {
      const StepTask& task = inputs_.graph.tasks[cost.task];
      add_numbers(cost, task);
      add_slowing(cost);
      add_of_run(cost);
      add_model(cost);
    }
    // A period without tasks still has the model's own error.
    if (inputs_.critical.empty()) {
      CriticalCost whole;
      whole.time = inputs_.period;
      add_model(whole);
    }
    share_variance();
    return std::move(lines_);
  }

 private:
  double& lane_time(LaneKind lane) { return lane_times_[static_cast<std::size_t>(lane)]; }

  static std::string group_of(const CriticalCost& cost) {
    return cost.errs_alone ? "alone/" + cost.key.name() : "facts of " + lane_name(cost.lane);
  }

  void add_numbers(const CriticalCost& cost, const StepTask& task) {
    std::vector<BasisNumber> numbers = basis_numbers(task, inputs_.costs, cost);
    double time = 0, variance = 0;
    for (const BasisNumber& number : numbers) {
      time += number.time;
      variance += std::pow(number.time * number.relative_deviation, 2);
    }
    for (BasisNumber& number : numbers) {
      // Parts of one cost err independently: each causes its share of the cost's variance.
      const double part =
          time > 0 ? number.time / time : 1.0 / static_cast<double>(std::size(numbers));
      const double of_error =
          variance > 0 ? std::pow(number.time * number.relative_deviation, 2) / variance : part;
      BasisLine line;
      line.name = std::move(number.name);
      line.cause = cost.errs_alone ? cost.key.name() : number.cause;
      line.group = group_of(cost);
      line.origin = std::move(number.origin);
      line.value = number.value;
      line.unit = number.unit;
      line.time = cost.alone * part;
      line.relative_deviation = number.relative_deviation;
      line.deviation = cost.time * (cost.relative_deviation * of_error);
      line.grounds = number.grounds;
      line.note = std::move(number.note);
      lines_.push_back(std::move(line));
    }
  }

  /// What other lanes, or rest, change of the time alone; its error is that of the cost it changes.
  void add_slowing(const CriticalCost& cost) {
    const Seconds more = cost.time - cost.alone;
    if (more.count() == 0) return;
    BasisNumber number = slowing_number(inputs_.costs, cost.lane);
    BasisLine line;
    line.name = std::move(number.name);
    line.cause = "slowing of " + lane_name(cost.lane);
    line.group = group_of(cost);
    line.value = cost.time / cost.alone;
    line.unit = BasisUnit::ratio;
    line.time = more;
    line.grounds = number.grounds;
    line.note = std::move(number.note);
    lines_.push_back(std::move(line));
  }

  /// The lane's deviation between runs, dealt to its costs so that squares sum to it: two plans
  /// whose paths are alike share what differs between runs, others share less of it.
  void add_of_run(const CriticalCost& cost) {
    const double of_lane = lane_time(cost.lane);
    const double relative = run_deviation(profile_, cost.lane, cost.errs_alone);
    BasisLine line;
    line.name = "between runs: " + lane_name(cost.lane);
    line.cause = "run/" + cost.key.name();
    line.group = "run/" + lane_name(cost.lane) + "/" + cost.key.name();
    line.relative_deviation = relative;
    line.deviation = Seconds(relative * std::sqrt(of_lane * cost.time.count()));
    line.note = run_deviation_note(profile_, cost.lane, cost.errs_alone);
    lines_.push_back(std::move(line));
  }

  void add_model(const CriticalCost& cost) {
    const double relative = model_deviation(cost);
    BasisLine line;
    line.name = "what is not simulated";
    line.cause = "model/" + cost.key.name();
    line.group = "model/" + cost.key.name();
    line.relative_deviation = relative;
    line.deviation = Seconds(relative * std::sqrt(inputs_.period.count() * cost.time.count()));
    line.grounds = Grounds::estimated;
    line.note = cost.errs_alone && cost.evidence == Evidence::measured
                    ? "hand-offs and wake-ups"
                    : "hand-offs and wake-ups; tasks that were never run here";
    lines_.push_back(std::move(line));
  }

  void share_variance() {
    std::map<std::string, double> groups;
    for (const BasisLine& line : lines_) groups[line.group] += line.deviation.count();
    double variance = 0;
    for (const auto& [name, sum] : groups) variance += sum * sum;
    if (!(variance > 0)) return;
    for (BasisLine& line : lines_) {
      line.variance_share = line.deviation.count() * groups[line.group] / variance;
    }
  }

  const BasisInputs& inputs_;
  const MachineProfile& profile_;
  std::array<double, kLaneKinds> lane_times_{};
  std::vector<BasisLine> lines_;
};

/// Whether lines of this group are costs that err alone, or parts of a deviation dealt to them.
bool is_dealt(const std::string& group) {
  return group.starts_with("alone/") || group.starts_with("run/") || group.starts_with("model/");
}

/// Sums while lines are merged.
struct Merging {
  BasisLine line;
  double weight = 0;      ///< Seconds over which deviations are averaged.
  double amount = 0;      ///< Units of a rate, or number of items of a time.
  double deviations = 0;  ///< Linear sum of deviations, or sum of their squares.
};

double weight_of(const BasisLine& line) { return std::max(std::abs(line.time.count()), 1e-12); }

void add(Merging& sum, const BasisLine& line) {
  const double weight = weight_of(line);
  const double time = line.time.count();
  sum.weight += weight;
  sum.line.time += line.time;
  sum.line.relative_deviation += weight * line.relative_deviation;
  sum.line.variance_share += line.variance_share;
  const double seconds = line.deviation.count();
  sum.deviations += is_dealt(line.group) ? seconds * seconds : seconds;
  if (!(line.value > 0)) return;
  if (line.unit == BasisUnit::ratio) {
    sum.amount += line.value > 1 || line.value < 1 ? time / (line.value - 1) : 0;
  } else {
    sum.amount += line.unit == BasisUnit::seconds ? time / line.value : time * line.value;
  }
}

BasisLine finished(Merging sum) {
  BasisLine line = std::move(sum.line);
  const double time = line.time.count();
  line.relative_deviation /= sum.weight;
  line.deviation = Seconds(is_dealt(line.group) ? std::sqrt(sum.deviations) : sum.deviations);
  if (is_dealt(line.group)) line.group = line.name + ": " + line.note;
  if (line.unit == BasisUnit::ratio) {
    line.value = sum.amount > 0 ? 1 + time / sum.amount : 1;
  } else if (line.unit == BasisUnit::seconds) {
    line.value = sum.amount > 0 ? time / sum.amount : line.value;
  } else if (time > 0 && line.unit != BasisUnit::none) {
    line.value = sum.amount / time;
  }
  return line;
}

}  // namespace

std::vector<BasisLine> basis_lines(const BasisInputs& inputs) { return BasisMaker(inputs).make(); }

std::vector<BasisLine> merged_lines(const std::vector<BasisLine>& lines) {
  using Alike = std::tuple<std::string, Grounds, std::string, std::string>;
  std::map<Alike, Merging> merging;
  for (const BasisLine& line : lines) {
    const std::string group = is_dealt(line.group) ? "" : line.group;
    Merging& sum = merging[{line.name, line.grounds, line.note, group}];
    if (sum.weight == 0) {
      sum.line = line;
      sum.line.time = Seconds(0);
      sum.line.relative_deviation = sum.line.variance_share = 0;
    }
    add(sum, line);
  }
  std::vector<BasisLine> merged;
  merged.reserve(merging.size());
  for (auto& [alike, sum] : merging) merged.push_back(finished(std::move(sum)));
  std::ranges::stable_sort(merged, [](const BasisLine& a, const BasisLine& b) {
    return std::tie(a.variance_share, a.time) > std::tie(b.variance_share, b.time);
  });
  return merged;
}

Seconds combined_deviation(const std::vector<BasisLine>& lines) {
  std::map<std::string, double> groups;
  for (const BasisLine& line : lines) groups[line.group] += line.deviation.count();
  double variance = 0;
  for (const auto& [name, sum] : groups) variance += sum * sum;
  return Seconds(std::sqrt(variance));
}

}  // namespace sluice::planner
