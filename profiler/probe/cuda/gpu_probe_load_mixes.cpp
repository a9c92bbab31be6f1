#include <fmt/format.h>

#include <algorithm>

#include "profiler/probe/cuda/gpu_probe.hpp"
#include "profiler/probe/probe_text.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::MachineProfile;
using planner::Source;

}  // namespace

void GpuProbe::load_mixes() {
  update_ =
      std::make_unique<UpdateBench>(updated_parameters(), static_cast<int>(cores_), &*memory_);
  const LoadMixBenches loads{*link_, *product_bench_, *update_};
  auto samples =
      measure_load_mixes(loads, contention_load_mixes(threads_), budget_.grid, budget_.window);
  result_.grid = contention_grid(samples);
  const std::int64_t most = threads_.back();
  const std::vector<std::int64_t> beside =
      depth_ == ProbeDepth::quick ? std::vector<std::int64_t>{most}
                                  : std::vector<std::int64_t>{threads_[threads_.size() / 2], most};
  const auto with_products =
      measure_load_mixes(loads, product_load_mixes(beside), budget_.products, budget_.window);
  samples.insert(samples.end(), with_products.begin(), with_products.end());
  say("together", load_mixes_text(samples));
  result_.profile.interference = product_interference(samples, most);
}

/// Measures the optimizer alone on more threads than the contention grid has.
void GpuProbe::optimizer_alone() {
  std::string text;
  for (const std::int64_t count : {std::int64_t{1}, cores_ / 2, cores_}) {
    if (count < 1 || result_.profile.update.contains(count)) continue;
    result_.profile.update[count] =
        measured_rate(static_cast<double>(update_->parameters()),
                      time_repeatedly(Timer::wall, budget_.kernel,
                                      [&] { update_->update(static_cast<int>(count)); }),
                      "fused AdamW");
  }
  for (const auto& [count, rate] : result_.profile.update) {
    text += fmt::format("{}{:.2f} on {}", text.empty() ? "" : ", ", rate.value / 1e9, count);
  }
  say("optimizer", text + " (G parameters/s by threads)");
}

void GpuProbe::fit() {
  MachineProfile& profile = result_.profile;
  if (threads_.size() >= 3) {
    result_.fit = fit_contention(profile, result_.grid);
    profile = result_.fit->profile;
    say("contention",
        fmt::format("host memory {}, {:.2f} and {:.2f} bytes of it a byte copied down and up",
                    planner::format_rate(profile.dram.value), profile.h2d_dram.value,
                    profile.d2h_dram.value));
    return;
  }
  // With too few cores for a grid, takes the points themselves, and the triad as the memory's
  // capacity.
  profile = with_lone_rates(std::move(profile), result_.grid);
  for (Fact MachineProfile::*each : {&MachineProfile::h2d_dram, &MachineProfile::d2h_dram}) {
    profile.*each = {.value = 1,
                     .deviation = 0.3,
                     .count = 0,
                     .source = Source::estimated,
                     .note = "a byte copied is a byte of host memory"};
  }
}

void GpuProbe::staged() {
  result_.profile.staged_copy = staged_copy_rate(256_MiB, budget_.kernel);
  say("copies not pinned",
      planner::format_rate(result_.profile.staged_copy.value) + " through a ring");
}

}  // namespace sluice::profiler
