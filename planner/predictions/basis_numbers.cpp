#include "planner/predictions/basis_numbers.hpp"

#include <algorithm>
#include <string_view>

#include "planner/costs/cost_parts.hpp"
#include "planner/costs/fabric_rates.hpp"
#include "planner/costs/profile_rates.hpp"

namespace sluice::planner {
namespace {

Grounds grounds_of(Source source) {
  switch (source) {
    case Source::measured:
      return Grounds::fitted;
    case Source::datasheet:
      return Grounds::datasheet;
    case Source::estimated:
      break;
  }
  return Grounds::estimated;
}

/// The rule or datasheet of a number without the changes that a run states of it.
template <class Quantity>
std::string rule_of(const Measured<Quantity>& fact) {
  std::string_view note = fact.note;
  while (note.starts_with("set to ")) {
    const auto of = note.find(" of: ");
    if (of == std::string_view::npos) break;
    note.remove_prefix(of + 5);
  }
  return std::string(note);
}

/// Origin of a fact (BasisLine::origin): its rule, with the notes that name the GPU and the CPU.
template <class Quantity>
std::string origin_of(const MachineProfile& profile, const Measured<Quantity>& fact) {
  if (fact.source == Source::measured) return "";
  return rule_of(fact) + " | " + rule_of(profile.peak_bf16) + " | " + rule_of(profile.cores);
}

/// Origin of a fact of the device alone, which another CPU or other memory leaves as it is.
template <class Quantity>
std::string origin_on_device(const MachineProfile& profile, const Measured<Quantity>& fact) {
  if (fact.source == Source::measured) return "";
  return rule_of(fact) + " | " + rule_of(profile.peak_bf16);
}

/// Origin of a fact of the host alone, which another GPU leaves as it is.
template <class Quantity>
std::string origin_on_host(const MachineProfile& profile, const Measured<Quantity>& fact) {
  if (fact.source == Source::measured) return "";
  return rule_of(fact) + " | " + rule_of(profile.cores);
}

/// Name of a pass in words, such as "block forward", from its cost key ("forward/block|...").
std::string pass_name(const std::string& key) {
  std::string pass = key.substr(0, key.find('|'));
  const auto slash = pass.find('/');
  if (slash == std::string::npos) return pass;
  const std::string what = pass.substr(0, slash), of = pass.substr(slash + 1);
  if (what == "recompute") return of == "input" ? "block recomputation" : "recomputation, " + of;
  if (what == "loss") return "head and loss";
  return of + " " + what;
}

std::string measured_note(const CalibrationSample& sample) {
  if (sample.source == kSiblingSource) {
    return "measured passes of other shapes, by their ratio to the profile's time";
  }
  return "sluice " + (sample.source.empty() ? "train" : sample.source) + ", measured " +
         std::to_string(sample.count) + (sample.count == 1 ? " time" : " times") +
         (sample.time.empty() ? "" : ", last " + sample.time.substr(0, 10));
}

template <class Quantity>
void set_fact_of(BasisNumber& number, const Measured<Quantity>& fact) {
  number.grounds = grounds_of(fact.source);
  number.note = fact.note;
}

/// The parts of a compute task that was not measured.
class UncalibratedParts {
 public:
  UncalibratedParts(const StepTask& task, const ProfileCostModel& costs)
      : task_(task), costs_(costs), profile_(costs.profile()) {}

  std::vector<BasisNumber> make() {
    add_products();
    add_attention();
    add_element_wise();
    add_kernels();
    return std::move(numbers_);
  }

 private:
  /// The part of the task that does `work`, as the cost model times it; null where it takes no
  /// time.
  BasisNumber* part(const Work& work, std::string name, std::string cause) {
    const TaskCost cost = costs_.compute(CostKey{}, work);
    const double time = cost.amount.count() / cost.cap.count();
    if (!(time > 0)) return nullptr;
    BasisNumber number;
    number.name = std::move(name);
    number.cause = std::move(cause);
    number.time = time;
    number.relative_deviation = cost.relative_deviation;
    numbers_.push_back(std::move(number));
    return &numbers_.back();
  }

  void add_products() {
    Work work;
    work.gemms = task_.work.gemms;
    if (work.gemms.empty()) return;
    BasisNumber* number = part(work, "products, " + pass_name(task_.cost.name()), "products");
    if (number == nullptr) return;
    const auto most = std::ranges::max_element(
        work.gemms, {}, [](const Gemm& gemm) { return flops(gemm).count(); });
    const FlopRate rate = gemm_rate(profile_, flops(Gemm{most->m, most->n, most->k}));
    number->value = work.flops().count() / number->time;
    number->unit = BasisUnit::flops_per_second;
    number->origin = origin_on_device(profile_, rate);
    set_fact_of(*number, rate);
  }

  void add_attention() {
    for (const bool backward : {false, true}) {
      Work work;
      for (const AttentionWork& one : task_.work.attention) {
        if (one.backward == backward) work.attention.push_back(one);
      }
      if (work.attention.empty()) continue;
      const std::string name = backward ? "attention backward" : "attention forward";
      BasisNumber* number = part(work, name, name);
      if (number == nullptr) continue;
      const AttentionWork& first = work.attention.front();
      const bool tiled = first.tiled && profile_.device == DeviceKind::cuda;
      const FlopRate rate = tiled ? scaled_for_experts(profile_) : attention_rate(profile_, first);
      number->value = work.flops().count() / number->time;
      number->unit = BasisUnit::flops_per_second;
      number->origin = origin_on_device(profile_, rate);
      set_fact_of(*number, rate);
    }
  }

  void add_element_wise() {
    Work work;
    work.streamed = task_.work.streamed;
    work.parameters = task_.work.parameters;
    const bool updates = work.parameters > 0 && profile_.device_update.value > 0;
    const Fact fact = updates ? profile_.device_update : number_of(profile_.hbm_bandwidth);
    const std::string name = updates ? "updates on the device" : "element-wise kernels";
    BasisNumber* number = part(work, name, name);
    if (number == nullptr) return;
    number->value = fact.value;
    number->unit = updates ? BasisUnit::parameters_per_second : BasisUnit::bytes_per_second;
    number->origin = origin_on_device(profile_, fact);
    set_fact_of(*number, fact);
  }

  void add_kernels() {
    Work work;
    work.kernels = task_.work.kernels;
    BasisNumber* number = part(work, "kernel starts", "kernel starts");
    if (number == nullptr) return;
    number->value = profile_.kernel_overhead.value.count();
    number->unit = BasisUnit::seconds;
    number->origin = origin_on_device(profile_, profile_.kernel_overhead);
    set_fact_of(*number, profile_.kernel_overhead);
  }

  const StepTask& task_;
  const ProfileCostModel& costs_;
  const MachineProfile& profile_;
  std::vector<BasisNumber> numbers_;
};

/// What a task on another lane than compute rests on, where its own cost was not measured.
BasisNumber lane_number(const StepTask& task, const MachineProfile& profile) {
  BasisNumber number;
  const auto rest_on = [&](const char* name, const auto& fact, BasisUnit unit, std::string origin) {
    number.name = number.cause = name;
    number.unit = unit;
    number.origin = std::move(origin);
    set_fact_of(number, fact);
  };
  switch (task.lane) {
    case LaneKind::h2d:
      rest_on("copies down", profile.h2d, BasisUnit::bytes_per_second,
              origin_of(profile, profile.h2d));
      break;
    case LaneKind::d2h:
      rest_on("copies up", profile.d2h, BasisUnit::bytes_per_second,
              origin_of(profile, profile.d2h));
      break;
    case LaneKind::disk_read:
      rest_on("disk reads", profile.disk_read, BasisUnit::bytes_per_second,
              origin_on_host(profile, profile.disk_read));
      break;
    case LaneKind::disk_write:
      rest_on("disk writes", profile.disk_write, BasisUnit::bytes_per_second,
              origin_on_host(profile, profile.disk_write));
      break;
    case LaneKind::fabric: {
      const Bandwidth rate = fastest_collective(required_fabric(profile));
      rest_on("fabric", rate, BasisUnit::bytes_per_second, origin_of(profile, rate));
      break;
    }
    case LaneKind::cpu: {
      const Fact rate = update_rate(profile, task.work.threads);
      const std::string threads = std::to_string(task.work.threads);
      rest_on("CPU update", rate, BasisUnit::parameters_per_second, origin_on_host(profile, rate));
      if (task.kind == TaskKind::host_pass) number.name = number.cause = "host passes";
      number.name += ", " + threads + (task.work.threads == 1 ? " thread" : " threads");
      // A rule errs for all numbers of threads alike; each measured number of threads for itself.
      if (rate.source == Source::measured) number.cause += "/t" + threads;
      break;
    }
    case LaneKind::launch:
    case LaneKind::compute:
      if (task.kind == TaskKind::data) {
        number.name = number.cause = "gathering tokens";
        number.unit = BasisUnit::seconds;
        number.grounds = Grounds::estimated;
        number.note = "one core's memory copy";
      } else {
        rest_on("launches", profile.launch, BasisUnit::seconds,
                origin_on_host(profile, profile.launch));
      }
      break;
  }
  return number;
}

/// Value of a number whose unit is a rate or a time, for a task that takes `time` seconds alone.
double value_of(const StepTask& task, BasisUnit unit, double time) {
  if (!(time > 0)) return 0;
  switch (unit) {
    case BasisUnit::bytes_per_second:
      return static_cast<double>(task.bytes.count()) / time;
    case BasisUnit::parameters_per_second:
      return static_cast<double>(task.work.parameters) / time;
    case BasisUnit::seconds:
      return time / static_cast<double>(std::max<std::int64_t>(1, task.work.kernels));
    case BasisUnit::flops_per_second:
    case BasisUnit::ratio:
    case BasisUnit::none:
      break;
  }
  return time;
}

}  // namespace

const char* to_string(Grounds grounds) {
  switch (grounds) {
    case Grounds::measured:
      return "measured";
    case Grounds::fitted:
      return "fitted";
    case Grounds::datasheet:
      return "datasheet";
    case Grounds::estimated:
      return "estimated";
  }
  return "";
}

const char* to_string(BasisUnit unit) {
  switch (unit) {
    case BasisUnit::flops_per_second:
      return "FLOP/s";
    case BasisUnit::bytes_per_second:
      return "bytes/s";
    case BasisUnit::parameters_per_second:
      return "parameters/s";
    case BasisUnit::seconds:
      return "s";
    case BasisUnit::ratio:
      return "times";
    case BasisUnit::none:
      break;
  }
  return "";
}

std::vector<BasisNumber> basis_numbers(const StepTask& task, const ProfileCostModel& costs,
                                       const CriticalCost& cost) {
  const auto found = costs.calibration().find(cost.key);
  const bool own = found != costs.calibration().end() && found->second.value > 0;
  const double time = cost.each.count();
  if (task.lane == LaneKind::compute && !own) {
    std::vector<BasisNumber> parts = UncalibratedParts(task, costs).make();
    if (!parts.empty()) return parts;
  }
  BasisNumber number;
  if (task.lane == LaneKind::compute) {
    number.name = number.cause =
        task.kind == TaskKind::update ? "updates on the device" : pass_name(cost.key.name());
    number.unit = BasisUnit::seconds;
    number.value = time;
  } else {
    number = lane_number(task, costs.profile());
    number.value = value_of(task, number.unit, time);
  }
  number.time = time;
  number.relative_deviation = cost.relative_deviation;
  if (own) {
    number.note = measured_note(found->second);
    number.origin.clear();
    number.grounds = cost.evidence == Evidence::measured ? Grounds::measured : Grounds::fitted;
  } else if (cost.evidence == Evidence::fitted && number.grounds != Grounds::fitted) {
    // A line through the calibrated sizes of the family.
    number.origin.clear();
    number.grounds = Grounds::fitted;
    number.note = "a line through measured sizes";
  }
  return {std::move(number)};
}

BasisNumber slowing_number(const ProfileCostModel& costs, LaneKind lane) {
  const MachineProfile& profile = costs.profile();
  BasisNumber number;
  if (lane == LaneKind::compute) {
    number.name = costs.boost() ? "interference, less boost" : "interference on kernels";
    const bool measured = std::ranges::any_of(costs.calibration(), [](const auto& sample) {
      return sample.first.kind() == CostKind::interference;
    });
    const auto pair = std::ranges::find(profile.interference, LaneKind::compute,
                                        &MachineProfile::Interference::on);
    if (measured) {
      number.grounds = Grounds::measured;
      number.note = "runs with copies beside kernels";
    } else if (pair != profile.interference.end()) {
      set_fact_of(number, pair->factor);
    } else {
      number.grounds = Grounds::estimated;
      number.note = "cores shared between lanes";
    }
    return number;
  }
  number.name = lane == LaneKind::cpu      ? "host memory shared, updates"
                : lane == LaneKind::launch ? "cores shared, launches"
                                           : "host memory and link shared, copies";
  set_fact_of(number, profile.dram);
  return number;
}

std::string run_deviation_note(const MachineProfile& profile, LaneKind lane, bool learnt) {
  if (lane == LaneKind::cpu &&
      run_deviation(profile, lane, learnt) > run_deviation(MachineProfile(), lane, learnt)) {
    return "0.7 of what the probe's repetitions differ by";
  }
  const bool of_host = lane == LaneKind::cpu || lane == LaneKind::h2d || lane == LaneKind::d2h;
  if (!learnt && of_host)
    return "what 127 runs on three H200 hosts showed, nothing being learnt here";
  return "half of what 127 runs on three H200 hosts showed";
}

}  // namespace sluice::planner
