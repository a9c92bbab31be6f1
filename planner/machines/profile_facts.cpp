// The profile's numbers by name: their units, their text, `--set machine.NAME`, and their hash.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "planner/files/hash.hpp"
#include "planner/machines/host_bandwidth.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Profile = MachineProfile;

constexpr std::array kFields = {
    FactField{"hbm", FactUnit::bytes, &Profile::hbm, "device memory"},
    FactField{"context", FactUnit::bytes, &Profile::context, "device memory besides the arena"},
    FactField{"host", FactUnit::bytes, &Profile::host, "host memory"},
    FactField{"disk", FactUnit::bytes, &Profile::disk, "free disk"},
    FactField{"cores", FactUnit::number, &Profile::cores, "cores of the CPU side"},
    FactField{"h2d", FactUnit::bytes_per_second, &Profile::h2d, "host to device, alone"},
    FactField{"d2h", FactUnit::bytes_per_second, &Profile::d2h, "device to host, alone"},
    FactField{"h2d_duplex", FactUnit::bytes_per_second, &Profile::h2d_duplex,
              "host to device, both directions at once"},
    FactField{"d2h_duplex", FactUnit::bytes_per_second, &Profile::d2h_duplex,
              "device to host, both directions at once"},
    FactField{"copy_latency", FactUnit::seconds, &Profile::copy_latency, "latency of a copy"},
    FactField{"copy_gap", FactUnit::seconds, &Profile::copy_gap,
              "between copies that follow each other"},
    FactField{"staged_copy", FactUnit::bytes_per_second, &Profile::staged_copy,
              "copies through a pinned ring"},
    FactField{"dram", FactUnit::bytes_per_second, &Profile::dram, "host memory under load"},
    FactField{"hbm_bandwidth", FactUnit::bytes_per_second, &Profile::hbm_bandwidth,
              "device memory"},
    FactField{"disk_read", FactUnit::bytes_per_second, &Profile::disk_read, "disk, reading"},
    FactField{"disk_write", FactUnit::bytes_per_second, &Profile::disk_write, "disk, writing"},
    FactField{"disk_both", FactUnit::bytes_per_second, &Profile::disk_both,
              "disk, read and written at once"},
    FactField{"disk_depth", FactUnit::number, &Profile::disk_depth,
              "disk, blocks in flight each way"},
    FactField{"disk_endurance", FactUnit::bytes, &Profile::disk_endurance,
              "disk, bytes that may be written by its rating"},
    FactField{"h2d_dram", FactUnit::number, &Profile::h2d_dram,
              "host memory bytes per byte copied to the device"},
    FactField{"d2h_dram", FactUnit::number, &Profile::d2h_dram,
              "host memory bytes per byte copied from the device"},
    FactField{"update_dram", FactUnit::number, &Profile::update_dram,
              "host memory bytes per parameter updated"},
    FactField{"h2d_weight", FactUnit::number, &Profile::h2d_weight,
              "hold of copies to the device on full host memory"},
    FactField{"d2h_weight", FactUnit::number, &Profile::d2h_weight,
              "hold of copies from the device on full host memory"},
    FactField{"copy_cores", FactUnit::number, &Profile::copy_cores, "core-seconds per byte copied"},
    FactField{"peak_bf16", FactUnit::flops_per_second, &Profile::peak_bf16,
              "dense bf16 peak, fp32 accumulate"},
    FactField{"fp8_speedup", FactUnit::number, &Profile::fp8_speedup,
              "speed of forward products and input gradients in FP8, over bf16"},
    FactField{"fp8_gradient_speedup", FactUnit::number, &Profile::fp8_gradient_speedup,
              "speed of weight gradients in FP8, over bf16"},
    FactField{"attention_forward", FactUnit::flops_per_second, &Profile::attention_forward,
              "causal attention, forward"},
    FactField{"attention_backward", FactUnit::flops_per_second, &Profile::attention_backward,
              "causal attention, backward"},
    FactField{"gemm_ceiling", FactUnit::flops_per_second, &Profile::gemm_ceiling,
              "matrix products, the fastest seen"},
    FactField{"attention_forward_ceiling", FactUnit::flops_per_second,
              &Profile::attention_forward_ceiling, "causal attention, forward, the fastest seen"},
    FactField{"attention_backward_ceiling", FactUnit::flops_per_second,
              &Profile::attention_backward_ceiling, "causal attention, backward, the fastest seen"},
    FactField{"launch", FactUnit::seconds, &Profile::launch, "launcher time of a kernel"},
    FactField{"kernel_overhead", FactUnit::seconds, &Profile::kernel_overhead,
              "device time of a kernel besides its work"},
    FactField{"device_update", FactUnit::per_second, &Profile::device_update,
              "parameters updated on the device"},
    FactField{"boost_gain", FactUnit::number, &Profile::boost_gain,
              "speed of products gained by rest, over sustained"},
    FactField{"boost_most", FactUnit::number, &Profile::boost_most,
              "speed of products after a long rest, over sustained"},
    FactField{"boost_window", FactUnit::seconds, &Profile::boost_window,
              "time over which rest is averaged"},
};

double parse_in(FactUnit unit, const std::string& text, const std::string& field) {
  switch (unit) {
    case FactUnit::bytes:
      return static_cast<double>(parse_bytes(text, field).count());
    case FactUnit::bytes_per_second:
      return parse_bytes_per_second(text, field).count();
    case FactUnit::flops_per_second:
      return parse_flops_per_second(text, field).count();
    case FactUnit::seconds:
      return parse_seconds(text, field).count();
    case FactUnit::per_second:
      return parse_per_second(text, field);
    case FactUnit::number:
      break;
  }
  const double number = parse_number(text, field);
  if (number < 0) throw BadRequest(field + ": \"" + text + "\" must not be negative");
  return number;
}

/// The factor in a text such as "0.5x"; none for other texts.
std::optional<double> factor_of(const std::string& text, const std::string& field) {
  if (text.size() < 2 || text.back() != 'x') return std::nullopt;
  const double factor = parse_number(std::string_view(text).substr(0, text.size() - 1), field);
  if (factor <= 0) throw BadRequest(field + ": \"" + text + "\" must be a positive factor");
  return factor;
}

/// Facts that must be above 0 in every profile.
constexpr std::array<FactField::Member, 8> kNeeded = {&Profile::cores,
                                                      &Profile::h2d,
                                                      &Profile::d2h,
                                                      &Profile::dram,
                                                      &Profile::hbm_bandwidth,
                                                      &Profile::peak_bf16,
                                                      &Profile::attention_forward,
                                                      &Profile::attention_backward};

/// Largest value that is not a mistake: for bytes what can be counted, for others what a step can
/// use.
double most_of(const FactField& field) {
  constexpr double kMostBytes = 9e18, kMostCores = 1 << 20, kMost = 1e30;
  const bool fp8 = field.is(&Profile::fp8_speedup) || field.is(&Profile::fp8_gradient_speedup);
  if (fp8) return kMostFp8Speedup;
  if (field.unit == FactUnit::bytes) return kMostBytes;
  return field.is(&Profile::cores) ? kMostCores : kMost;
}

bool is_needed(const FactField& field) {
  return std::find(kNeeded.begin(), kNeeded.end(), field.member) != kNeeded.end();
}

template <class Quantity>
void scale(Measured<Quantity>& fact, double factor, const std::string& text) {
  scale_by(fact, factor);
  fact.source = Source::estimated;
  fact.note = "set to " + text + " of: " + (fact.note.empty() ? "the profile" : fact.note);
}

std::string pair_text(const LaneSlowing& pair) {
  return std::string(to_string(pair.on)) + "<" + to_string(pair.from);
}

void add_fact(CanonicalText& text, const std::string& name, const Fact& fact) {
  text.add(name, fact.value)
      .add(name + ".deviation", fact.deviation)
      .add(name + ".count", fact.count)
      .add(name + ".source", to_string(fact.source));
}

}  // namespace

bool is_stated(const MachineProfile& profile, const FactField& field) {
  const bool optional = field.is(&Profile::boost_gain) || field.is(&Profile::boost_most) ||
                        field.is(&Profile::boost_window) || field.is(&Profile::fp8_speedup) ||
                        field.is(&Profile::fp8_gradient_speedup);
  return !optional || field.of(profile).value > 0;
}

Fact FactField::of(const MachineProfile& profile) const {
  return std::visit([&](auto each) { return number_of(profile.*each); }, member);
}

void FactField::set(MachineProfile& profile, Fact number) const {
  std::visit(
      [&]<class Quantity>(Measured<Quantity> MachineProfile::*each) {
        profile.*each = in_unit<Quantity>(std::move(number));
      },
      member);
}

std::span<const FactField> fact_fields() { return kFields; }

namespace {

/// Multiplies a speed of one kind of the profile's kernels, where it has them, by `factor`.
void scale_kernels(MachineProfile& profile, KernelKind kind, double KernelFamily::*speed,
                   double factor) {
  if (!profile.kernels || profile.kernels->family(kind) == nullptr || !(factor > 0)) return;
  KernelModel model = *profile.kernels;
  KernelFamily family = *model.family(kind);
  family.*speed *= factor;
  model.set(std::move(family));
  profile.kernels = std::make_shared<const KernelModel>(std::move(model));
}

/// Scales attention's kernels as the number `changed` was scaled, where it is an attention rate.
void scale_attention(MachineProfile& profile, const FactField& changed, double factor) {
  if (!std::isfinite(factor)) return;  // There was no rate.
  if (changed.is(&MachineProfile::attention_forward)) {
    scale_kernels(profile, KernelKind::attention, &KernelFamily::speed, factor);
    // The backward pass keeps its time, which is stated over the forward pass's.
    scale_kernels(profile, KernelKind::attention, &KernelFamily::backward_speed, 1 / factor);
  } else if (changed.is(&MachineProfile::attention_backward)) {
    scale_kernels(profile, KernelKind::attention, &KernelFamily::backward_speed, factor);
  }
}

}  // namespace

void set_fact(MachineProfile& profile, const std::string& name, const std::string& value) {
  const std::string where = "machine." + name;
  const auto factor = factor_of(value, where);
  if (name == "gemm" || name == "update") {
    if (!factor) throw BadRequest(where + ": \"" + value + "\" must be a factor such as \"0.5x\"");
    for (ProductPoint& point : profile.gemm) {
      if (name == "gemm") scale(point.rate, *factor, value);
    }
    for (auto& [threads, rate] : profile.update) {
      if (name == "update") scale(rate, *factor, value);
    }
    if (name == "gemm") {
      scale_kernels(profile, KernelKind::gemm, &KernelFamily::speed, *factor);
    }
    return;
  }
  std::vector<std::string> names = {"gemm", "update"};
  for (const FactField& field : kFields) {
    if (name != field.name) {
      names.emplace_back(field.name);
      continue;
    }
    Fact fact = field.of(profile);
    const double before = fact.value;
    if (factor && !is_stated(profile, field)) {
      throw BadRequest(where + ": \"" + value +
                       "\" scales a number that the machine does not state: give a number");
    }
    if (factor) {
      scale(fact, *factor, value);
    } else if (field.is(&Profile::dram) && profile.device == DeviceKind::cuda) {
      const double number = parse_in(field.unit, value, where);
      if (!(number > 0)) throw BadRequest(where + ": \"" + value + "\" must be more than 0");
      set_host_bandwidth(profile, BytesPerSecond(number), "set to " + value);
      fact = field.of(profile);
    } else {
      const double number = parse_in(field.unit, value, where);
      if (is_needed(field) && number == 0) {
        throw BadRequest(where + ": \"" + value + "\" must be more than 0");
      }
      fact = Fact{.value = number,
                  .deviation = 0,
                  .count = 1,
                  .source = Source::estimated,
                  .note = "set to " + value};
    }
    field.set(profile, fact);
    if (!(fact.value <= most_of(field))) {
      throw BadRequest(where + ": \"" + value + "\" is too large");
    }
    scale_attention(profile, field, fact.value / before);
    for (AttentionPoint& point : profile.attention) {
      FlopRate* of_all = field.is(&Profile::attention_forward)    ? &point.forward
                         : field.is(&Profile::attention_backward) ? &point.backward
                                                                  : nullptr;
      if (of_all != nullptr) scale(*of_all, fact.value / before, value);
    }
    return;
  }
  throw BadRequest(where + ": unknown number of a machine" + sim::did_you_mean(name, names) +
                   " (sluice machines show NAME lists them)");
}

std::string format_fact(const Fact& fact, FactUnit unit) {
  switch (unit) {
    case FactUnit::bytes:
      return format_bytes(Bytes(static_cast<std::int64_t>(fact.value)));
    case FactUnit::bytes_per_second:
      return format_rate(BytesPerSecond(fact.value));
    case FactUnit::flops_per_second:
      return format_rate(FlopsPerSecond(fact.value));
    case FactUnit::seconds:
      return format_seconds(Seconds(fact.value));
    case FactUnit::per_second:
      return format_amount(fact.value) + "/s";
    case FactUnit::number:
      break;
  }
  return format_amount(fact.value);
}

std::string profile_hash(const MachineProfile& profile) {
  CanonicalText text("sluice/profile/1");
  text.add("name", profile.name)
      .add("device", to_string(profile.device))
      .add("architecture", profile.architecture);
  for (const FactField& field : kFields) {
    const Fact fact = field.of(profile);
    // Added later: a profile without them keeps its hash.
    const bool younger = field.is(&Profile::h2d_weight) || field.is(&Profile::d2h_weight) ||
                         field.is(&Profile::disk_both) || field.is(&Profile::disk_depth) ||
                         field.is(&Profile::disk_endurance) || field.is(&Profile::copy_gap);
    if (is_stated(profile, field) && (!younger || fact.value > 0)) add_fact(text, field.name, fact);
  }
  for (const ProductPoint& point : profile.gemm) {
    text.add("gemm", point.size.count());
    add_fact(text, "gemm.rate", number_of(point.rate));
  }
  for (const AttentionPoint& point : profile.attention) {
    text.add("attention.head_dim", point.head_dim).add("attention.length", point.length);
    add_fact(text, "attention.forward", number_of(point.forward));
    add_fact(text, "attention.backward", number_of(point.backward));
  }
  for (const auto& [threads, rate] : profile.update) {
    text.add("update", threads);
    add_fact(text, "update.rate", rate);
  }
  for (const MachineProfile::Interference& pair : profile.interference) {
    text.add("interference", pair_text(pair));
    if (pair.threads > 0) text.add("interference.threads", pair.threads);
    add_fact(text, "interference.factor", pair.factor);
  }
  if (profile.devices) text.add("devices", *profile.devices);
  if (profile.fabric) {
    if (profile.fabric->path != FabricPath::nvlink) {
      text.add("fabric.path", to_string(profile.fabric->path));
    }
    for (const LaneSlowing& pair : profile.fabric->interference) {
      text.add("fabric.interference", pair_text(pair));
      add_fact(text, "fabric.interference.factor", pair.factor);
    }
    add_fact(text, "fabric.latency", number_of(profile.fabric->latency));
    for (const auto& [name, curve] : {std::pair("fabric.gather", &profile.fabric->gather),
                                      std::pair("fabric.exchange", &profile.fabric->exchange)}) {
      for (const CurvePoint& point : *curve) {
        text.add(name, point.size);
        add_fact(text, std::string(name) + ".rate", number_of(point.rate));
      }
    }
  }
  for (const MeasuredPass& pass : profile.passes) {
    text.add("pass", pass.key)
        .add("pass.time", pass.time.count())
        .add("pass.deviation", pass.deviation.count())
        .add("pass.count", pass.count);
  }
  if (profile.kernels) text.add("kernels", profile.kernels->hash());
  return text.hash();
}

}  // namespace sluice::planner
