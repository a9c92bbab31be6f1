#include "profiler/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/execution/poll.hpp"
#include "engine/host/blas.hpp"
#include "engine/host/gemm.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/profile_rates.hpp"
#include "profiler/doctor/system_files.hpp"
#include "profiler/probe/block_bench.hpp"
#include "profiler/probe/disk_bench.hpp"
#include "profiler/probe/memory_bench.hpp"
#include "profiler/probe/sampling.hpp"
#include "profiler/probe/speed_beside.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::LaneKind;
using planner::MachineProfile;

class HostProbe {
 public:
  HostProbe(ProbeDepth depth, const ProbeProgress& progress, const ProbedDisk& disk)
      : unit_(depth == ProbeDepth::quick ? Seconds(0.12) : Seconds(0.4)),
        disk_{.drive = disk, .file = 1_GiB, .budget = Seconds(1)},
        progress_(progress),
        profile_(planner::here_estimate()) {
    // The measured machine has another name than the estimated one: for calibration they are two
    // machines.
    profile_.name = SystemFiles().cpu_model().value_or("host");
    if (depth == ProbeDepth::quick) {
      disk_.file = 128_MiB;
      disk_.budget = Seconds(0.25);
    }
    cores_ = std::max(1, static_cast<int>(std::lround(profile_.cores.value)));
    engine::prepare_blas();
  }

  MachineProfile run() {
    memory();
    products();
    block_kernels();
    optimizer();
    hand_off();
    interference();
    disk();
    return profile_;
  }

 private:
  void say(const std::string& part, const std::string& result) {
    if (progress_) progress_(part, result);
  }

  void memory();
  void products();
  void block_kernels();
  void optimizer();
  void hand_off();
  void interference();
  void disk();

  Seconds unit_;  ///< Time in which to measure one number.
  DiskBenchOptions disk_;
  ProbeProgress progress_;
  MachineProfile profile_;
  int cores_ = 1;
};

void HostProbe::memory() {
  // Four times the largest second-level caches of today: DRAM, or a last level that is shared with
  // other tenants and cannot be counted on.
  CopyBench all(64_MiB, cores_);
  profile_.dram =
      measured_rate(2 * all.bytes(), time_repeatedly(Timer::wall, unit_, [&] { all.copy(); }),
                    "memcpy on all cores, bytes read and written");
  say("memory", fmt::format("{} read and written by {} cores",
                            planner::format_rate(profile_.dram.value), cores_));
  CopyBench one(16_MiB, 1);
  const Fact rate = measured_rate(static_cast<double>(one.bytes().count()),
                                  time_repeatedly(Timer::thread, unit_ / 2, [&] { one.copy(); }),
                                  "memcpy on one core");
  profile_.copy_cores = rate;
  profile_.copy_cores.value = 1 / rate.value;
  profile_.copy_cores.deviation = rate.deviation / (rate.value * rate.value);
}

void HostProbe::products() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1);
  constexpr std::int64_t kTokens = 256;
  profile_.gemm.clear();
  double best = 0;
  for (const std::int64_t size : {16, 64, 128, 256, 512, 1024}) {
    const auto elements = static_cast<std::size_t>(size * size);
    std::vector<std::uint16_t> weight(elements);
    for (auto& bits : weight) bits = static_cast<std::uint16_t>(0x3C00U | (random() & 0x80FFU));
    std::vector<float> x(static_cast<std::size_t>(kTokens * size));
    for (float& value : x) value = normal(random);
    std::vector<float> y(x.size());
    std::vector<float> panel(elements);
    const double flops = 2.0 * kTokens * static_cast<double>(size * size);
    const engine::WeightMatrix matrix{weight.data(), nullptr, size, size};
    const Fact rate = measured_rate(
        flops,
        time_repeatedly(
            Timer::thread, unit_ / 2,
            [&] { engine::multiply(x.data(), kTokens, matrix, panel.data(), y.data()); }),
        "sgemm of 256 tokens by bf16 weights, conversion included");
    profile_.gemm.push_back({Flops(flops), planner::in_unit<FlopsPerSecond>(rate)});
    best = std::max(best, rate.value);
    if (rate.value == best) profile_.peak_bf16 = planner::in_unit<FlopsPerSecond>(rate);
  }
  profile_.peak_bf16.note = "best measured matrix product of one core";
  say("matrix products", fmt::format("{} on one core (bf16 weights, fp32 arithmetic)",
                                     planner::format_rate(FlopsPerSecond(best))));
}

/// Time of the matrix products of `work` by the profile's curve.
Seconds product_time(const MachineProfile& profile, const planner::Work& work) {
  Seconds time{0};
  for (const planner::Gemm& gemm : work.gemms) {
    time += flops(gemm) /
            planner::gemm_rate(profile, flops(planner::Gemm{gemm.m, gemm.n, gemm.k})).value;
  }
  return time;
}

Flops attention_flops(const planner::Work& work) {
  Flops sum{0};
  for (const planner::AttentionWork& attention : work.attention) sum += flops(attention);
  return sum;
}

void HostProbe::block_kernels() {
  // The same tokens as one long or several short sequences: only attention differs.
  BlockSizes sizes{.hidden = 128,
                   .intermediate = 128,
                   .heads = 4,
                   .head_dim = 64,
                   .seq_len = 512,
                   .sequences = 1};
  BlockBench longer(block_job(sizes));
  sizes.seq_len = 128;
  sizes.sequences = 4;
  BlockBench shorter(block_job(sizes));
  const auto attention_rate = [&](planner::Pass pass, void (BlockBench::*run)()) {
    const Flops flops = attention_flops(work_of(longer.job(), pass, 1)) -
                        attention_flops(work_of(shorter.job(), pass, 1));
    Samples differences;
    for (int i = 0; i < 5; ++i) {
      const double slow =
          median(time_repeatedly(Timer::thread, unit_ / 8, [&] { (longer.*run)(); }));
      const double fast =
          median(time_repeatedly(Timer::thread, unit_ / 8, [&] { (shorter.*run)(); }));
      differences.push_back(std::max(slow - fast, 0.05 * slow));  // noise must not make it free
    }
    return planner::in_unit<FlopsPerSecond>(
        measured_rate(flops.count(), differences, "512 tokens as one sequence against four"));
  };
  longer.forward();
  shorter.forward();
  profile_.attention_forward = attention_rate(planner::Pass::block_forward, &BlockBench::forward);
  profile_.attention_backward =
      attention_rate(planner::Pass::block_backward, &BlockBench::backward);
  say("attention",
      fmt::format("{} forward, {} backward", planner::format_rate(profile_.attention_forward.value),
                  planner::format_rate(profile_.attention_backward.value)));

  // What a block's forward takes besides products and attention is element-wise work.
  BlockBench block(block_job({}));
  const planner::Work work = work_of(block.job(), planner::Pass::block_forward, 1);
  const Seconds known =
      product_time(profile_, work) + attention_flops(work) / profile_.attention_forward.value;
  Samples rest = time_repeatedly(Timer::thread, unit_, [&] { block.forward(); });
  for (double& seconds : rest) seconds = std::max(seconds - known.count(), 0.05 * seconds);
  profile_.hbm_bandwidth = measured_rate(
      work.streamed, rest, "a block's forward less its matrix products and attention");

  // A block so small that nothing but calling its kernels takes time.
  BlockBench tiny(block_job({.hidden = 32,
                             .intermediate = 32,
                             .heads = 1,
                             .head_dim = 32,
                             .seq_len = 1,
                             .sequences = 1}));
  const planner::Work small = work_of(tiny.job(), planner::Pass::block_forward, 1);
  Samples calls = time_repeatedly(Timer::thread, unit_ / 8, [&] { tiny.forward(); });
  for (double& seconds : calls) seconds /= static_cast<double>(small.kernels);
  profile_.kernel_overhead = measured_time(calls, "a block of one token, by its kernels");
  say("element-wise kernels",
      fmt::format("{}, {} a call", planner::format_rate(profile_.hbm_bandwidth.value),
                  planner::format_seconds(profile_.kernel_overhead.value)));
}

void HostProbe::optimizer() {
  constexpr std::int64_t kParameters = 2'000'000;  // a small model's layer: 56 MB touched
  profile_.update.clear();
  for (int threads = 1; threads <= cores_; threads *= 2) {
    UpdateBench bench(kParameters, threads);
    profile_.update[threads] = measured_rate(
        static_cast<double>(kParameters),
        time_repeatedly(threads == 1 ? Timer::thread : Timer::wall, unit_, [&] { bench.update(); }),
        "fused AdamW");
  }
  profile_.device_update = profile_.update.begin()->second;
  std::string rates;
  for (const auto& [threads, rate] : profile_.update) {
    rates += fmt::format("{}{} parameters/s on {}", rates.empty() ? "" : ", ",
                         planner::format_amount(rate.value), threads);
  }
  say("optimizer", rates);
}

void HostProbe::hand_off() {
  const planner::MeasuredTime wake = measured_time(hand_off_times(200), "waking a sleeping thread");
  profile_.launch = wake;
  // The launcher of the host backend enqueues nothing: it wakes the compute lane once a group of
  // kernels, of which a block's forward has some twenty.
  constexpr double kKernelsOfAGroup = 20;
  profile_.launch.value = wake.value / kKernelsOfAGroup;
  profile_.launch.deviation = wake.deviation / kKernelsOfAGroup;
  CopyBench copy(2_MiB, 1);
  const engine::LinkPace pace{profile_.h2d.value, profile_.copy_latency.value};
  const Seconds due = pace.latency + copy.bytes() / pace.bandwidth;
  engine::sleep_precisely();
  Samples late = time_repeatedly(Timer::wall, unit_ / 2, [&] { copy.paced(pace); });
  for (double& seconds : late) seconds -= due.count();
  say("lanes", fmt::format("{} to wake a thread, copies end {} late at {}",
                           planner::format_seconds(wake.value),
                           planner::format_seconds(Seconds(std::max(0.0, median(late)))),
                           planner::format_rate(pace.bandwidth)));
}

void HostProbe::interference() {
  BlockBench block(block_job({}));
  UpdateBench update(2'000'000, 1);
  CopyBench copy(1_MiB, 1);
  const engine::LinkPace pace{profile_.h2d.value, Seconds(0)};
  const Load compute = [&] {
    block.forward();
    block.backward();
  };
  const Load adam = [&] { update.update(); };
  const Load paced = [&] { copy.paced(pace); };
  profile_.interference.clear();
  const auto measure = [&](LaneKind on, LaneKind from, const Load& load, const Load& beside) {
    profile_.interference.push_back(
        {on, from,
         speed_beside(load, beside, 2 * unit_,
                      fmt::format("{} beside {}", to_string(on), to_string(from)))});
  };
  measure(LaneKind::compute, LaneKind::cpu, compute, adam);
  measure(LaneKind::cpu, LaneKind::compute, adam, compute);
  measure(LaneKind::compute, LaneKind::h2d, compute, paced);
  measure(LaneKind::cpu, LaneKind::h2d, adam, paced);
  // A paced copy is the same work in either direction.
  for (const LaneKind on : {LaneKind::compute, LaneKind::cpu}) {
    for (const auto& known : std::vector(profile_.interference)) {
      if (known.on == on && known.from == LaneKind::h2d) {
        profile_.interference.push_back({on, LaneKind::d2h, known.factor});
      }
    }
  }
  std::string text;
  for (const auto& pair : profile_.interference) {
    text += fmt::format("{}{} beside {} {:.0f} %", text.empty() ? "" : ", ", to_string(pair.on),
                        to_string(pair.from), 100 * pair.factor.value);
  }
  say("speed beside others", text);
}

void HostProbe::disk() {
  if (const auto work = disk_.long_work()) say("disk", *work);
  try {
    const DiskRates rates = measure_disk(disk_);
    rates.enter(profile_);
    say("disk", rates.text() + (rates.caveat ? "; " + *rates.caveat : ""));
  } catch (const EnvironmentError& error) {
    say("disk", std::string("not measured: ") + error.what());
  }
}

}  // namespace

MachineProfile probe_host(ProbeDepth depth, const ProbeProgress& progress, const ProbedDisk& disk) {
  return HostProbe(depth, progress, disk).run();
}

}  // namespace sluice::profiler
