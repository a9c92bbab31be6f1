#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "engine/cuda/backend/gemm_tuner.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/machines/host_memory.hpp"
#include "profiler/probe/cuda/fp8_bench.hpp"
#include "profiler/probe/cuda/gpu_probe.hpp"
#include "profiler/probe/cuda/layer_bench.hpp"
#include "profiler/probe/pci_link.hpp"
#include "profiler/probe/probe_text.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::MachineProfile;
using planner::Source;

/// Repeats `work` on a thread of its own during its lifetime.
class Background {
 public:
  explicit Background(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          while (!stop_.load(std::memory_order_relaxed)) work();
        }) {}
  ~Background() {
    stop_.store(true);
    thread_.join();
  }
  Background(const Background&) = delete;  // Its thread holds `this`.
  Background& operator=(const Background&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

const planner::FlopRate& fastest(const std::vector<planner::FlopRate>& rates) {
  return *std::ranges::max_element(rates, {}, &planner::FlopRate::value);
}

}  // namespace

Bytes GpuProbe::copy_buffer() const {
  const Bytes eighth(first_room_.free.count() / 8);
  const Bytes host_eighth(static_cast<std::int64_t>(result_.profile.host.value) / 8);
  Bytes buffer = 1_GiB;
  while (buffer > 64_MiB && (buffer > eighth || buffer > host_eighth)) {
    buffer = Bytes(buffer.count() / 4);
  }
  return buffer;
}

Bytes GpuProbe::dram_array() const {
  const Bytes sixteenth(static_cast<std::int64_t>(result_.profile.host.value) / 16);
  return std::min(budget_.dram, sixteenth);
}

std::int64_t GpuProbe::updated_parameters() const {
  // 16 bytes a parameter, in at most an eighth of the memory.
  const std::int64_t most = static_cast<std::int64_t>(result_.profile.host.value) / 128;
  return std::max<std::int64_t>(std::min(budget_.parameters, most), 1 << 20);
}

void GpuProbe::host_memory() {
  // The last term: each part's last huge page.
  const Bytes parts(2 * copy_buffer().count() + 3 * dram_array().count() +
                    16 * updated_parameters() + (32_MiB).count());
  const Bytes available = planner::host_memory().available;
  const Bytes surveyed = std::min<Bytes>(128_GiB, Bytes(available.count() / 8 * 7));
  memory_.emplace(parts, surveyed);
  if (const auto& kinds = memory_->kinds()) {
    say("memory latency",
        fmt::format(
            "{:.0f} ns a load in {:.0f} %, {:.0f} ns in {:.0f} % of {}: two NUMA nodes that "
            "the system does not show; training and this probe spread memory over both",
            1e9 * kinds->quick.count(), 100 * (1 - kinds->slow_share), 1e9 * kinds->slow.count(),
            100 * kinds->slow_share, planner::format_bytes(std::max(parts, surveyed))));
  }
}

void GpuProbe::copies() {
  const Bytes buffer = copy_buffer();
  link_ = std::make_unique<LinkBench>(buffer, &*memory_);
  if (const auto refusal = link_->refusal()) {
    result_.warnings.push_back({"pinned memory", Verdict::warn,
                                planner::format_bytes(buffer) + " cannot be pinned: " + *refusal,
                                "ulimit -l unlimited (or raise the container's memory limit)"});
  }
  const auto down = link_->by_size(CopyDirection::h2d, budget_.copy_size);
  const auto up = link_->by_size(CopyDirection::d2h, budget_.copy_size);
  say("copies to device", sizes_text(down));
  say("copies from device", sizes_text(up));
  auto short_copies = down;
  short_copies.insert(short_copies.end(), up.begin(), up.end());
  const double rate = std::max(down.back().rate.value, up.back().rate.value);
  if (const auto latency = copy_latency(short_copies, rate)) {
    result_.profile.copy_latency = *latency;
    say("copy latency", planner::format_seconds(latency->value));
  }
  const planner::MeasuredTime gap_down = link_->gap(CopyDirection::h2d),
                              gap_up = link_->gap(CopyDirection::d2h);
  result_.profile.copy_gap = mean_of_directions(gap_down, gap_up);
  say("between copies", planner::format_seconds(gap_down.value) + " to the device, " +
                            planner::format_seconds(gap_up.value) + " from it");
  // Asked while copies run, since an idle GPU lowers its link.
  const auto busy = link_->steady(CopyDirection::h2d);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const SystemFiles files;
  for (Finding& finding : examine_link(pci_link(files, bus_id_), files.numa_nodes())) {
    say(finding.subject, finding.text);
    if (finding.verdict != Verdict::ok) result_.warnings.push_back(std::move(finding));
  }
  busy->stop();
}

void GpuProbe::copies_beside_loads() {
  if (depth_ == ProbeDepth::quick) return;
  const int most = static_cast<int>(threads_.back());
  const auto sweep = [&](const std::string& others) {
    for (const CopyDirection direction : {CopyDirection::h2d, CopyDirection::d2h}) {
      say((direction == CopyDirection::h2d ? "h2d " : "d2h ") + others,
          sizes_text(link_->by_size(direction, budget_.copy_size / 4)));
    }
  };
  const auto products = [this] {
    return std::make_unique<SteadyLoad>(
        [this](cudaStream_t stream, std::int64_t) { product_bench_->run_large(stream); });
  };
  {
    const auto up = link_->steady(CopyDirection::d2h);
    say("h2d beside d2h", sizes_text(link_->by_size(CopyDirection::h2d, budget_.copy_size / 4)));
    up->stop();
  }
  {
    const auto down = link_->steady(CopyDirection::h2d);
    say("d2h beside h2d", sizes_text(link_->by_size(CopyDirection::d2h, budget_.copy_size / 4)));
    down->stop();
  }
  {
    const Background adam([this, most] { update_->update(most); });
    sweep("beside AdamW");
    const auto load = products();
    sweep("beside both");
    load->stop();
  }
  const auto load = products();
  sweep("beside products");
  load->stop();
}

void GpuProbe::memory() {
  DramBench bench(dram_array(), static_cast<int>(cores_), &*memory_);
  std::string text;
  Fact best = {.value = 0, .deviation = 0, .count = 0, .source = Source::measured, .note = {}};
  std::vector<std::int64_t> counts = {1};
  for (std::int64_t count = 2; count < cores_; count *= 2) counts.push_back(count);
  if (cores_ > 1) counts.push_back(cores_);
  for (const std::int64_t count : counts) {
    const int threads = static_cast<int>(count);
    const Fact reading = measured_rate(
        bench.read_bytes(),
        time_repeatedly(Timer::wall, budget_.kernel / 2, [&] { bench.read(threads); }), "reading");
    const Fact triad = measured_rate(
        bench.triad_bytes(),
        time_repeatedly(Timer::wall, budget_.kernel / 2, [&] { bench.triad(threads); }),
        "triad, stores past the caches, on " + std::to_string(count) + " threads");
    if (triad.value > best.value) best = triad;
    text += fmt::format("{}{:.1f} read and {:.1f} triad on {}", text.empty() ? "" : ", ",
                        reading.value / 1e9, triad.value / 1e9, count);
  }
  result_.profile.dram = planner::in_unit<BytesPerSecond>(best);
  say("host memory", text + " GB/s by threads");
}

/// Algorithms of the products of `jobs`: those that runs use, or in a quick probe about as fast
/// ones, found in a tenth of the time.
engine::GemmTable GpuProbe::product_table(const std::vector<planner::Job>& jobs) const {
  if (depth_ == ProbeDepth::quick) return engine::estimated_gemm_table(jobs);
  for (const planner::Job& job : jobs) (void)engine::ensure_gemm_table(job);
  return engine::ensure_gemm_table(jobs.front());
}

void GpuProbe::products() {
  const bool small = first_room_.free < 16_GiB;
  const JobChoice choice = small                              ? JobChoice::small
                           : depth_ == ProbeDepth::quick      ? JobChoice::few
                           : first_room_.free < Bytes(24_GiB) ? JobChoice::few
                                                              : JobChoice::all;
  const std::vector<planner::Job> jobs = probe_jobs(choice);
  product_bench_ = std::make_unique<ProductBench>(jobs, product_table(jobs));
  const Fact burst = product_bench_->burst();
  const auto measured_products = product_bench_->sustained(budget_.product, budget_.settle);
  std::vector<SizedRate> rates;
  Fact sustained{.value = 0, .deviation = 0, .count = 0, .source = Source::measured, .note = {}};
  double same = 0;  // Rate of the burst's product when sustained.
  for (const auto& product : measured_products) {
    rates.push_back({product.key.work().count(), product.rate});
    if (product.rate.value > sustained.value) sustained = product.rate;
    if (product.key.work() == product_bench_->large_work() &&
        product.key.product == engine::GemmProduct::forward) {
      same = product.rate.value;
    }
  }
  result_.profile.gemm = curve_of(
      std::move(rates), "tuned products of transformer layers, sustained, random operands");
  best_product_ = std::max(burst.value, sustained.value);
  result_.profile.gemm_ceiling =
      planner::in_unit<FlopsPerSecond>(burst.value > sustained.value ? burst : sustained);
  say("matrix products",
      fmt::format("{} products, fastest {}; one after a pause {}, sustained {}",
                  measured_products.size(), with_deviation(sustained, "TFLOP/s", 1e12),
                  with_deviation(burst, "TFLOP/s", 1e12),
                  planner::format_rate(FlopsPerSecond(same))));
}

void GpuProbe::fp8_products() {
  if (!planner::has_fp8_products(result_.profile)) return;
  const planner::Job job = fp8_probe_job();
  const Fp8Speedups found = measure_fp8(job, product_table({job}), budget_.product, budget_.settle);
  result_.profile.fp8_speedup = found.products;
  result_.profile.fp8_gradient_speedup = found.gradients;
  say("products in FP8",
      fmt::format("{:.2f} times as fast as in bf16 ({} to {}), weight gradients {:.2f} times ({} "
                  "to {})",
                  found.products.value, planner::format_rate(found.products_bf16),
                  planner::format_rate(found.products_fp8), found.gradients.value,
                  planner::format_rate(found.gradients_bf16),
                  planner::format_rate(found.gradients_fp8)));
}

void GpuProbe::layers() {
  MachineProfile& profile = result_.profile;
  const auto kernels = measure_memory_kernels(budget_.kernel / 2);
  profile.hbm_bandwidth = planner::in_unit<BytesPerSecond>(
      rate_of_shapes(kernels, "SwiGLU and RMSNorm of a large micro-batch"));
  const AttentionRates attention =
      measure_attention(budget_.kernel / 2, profile.hbm_bandwidth.value);
  const auto usual = [](const std::vector<Fact>& rates) {
    return rate_of_shapes(rates, "causal, four shapes, cuDNN");
  };
  const Fact usual_forward = usual(attention.forward), usual_backward = usual(attention.backward);
  profile.attention_forward = planner::in_unit<FlopsPerSecond>(usual_forward);
  profile.attention_backward = planner::in_unit<FlopsPerSecond>(usual_backward);
  profile.attention = attention.points;
  std::vector<planner::FlopRate> forward, backward;
  std::string by_length;
  for (const planner::AttentionPoint& point : attention.points) {
    forward.push_back(point.forward);
    backward.push_back(point.backward);
    by_length += fmt::format("{}{:.0f} and {:.0f} over {} by heads of {}",
                             by_length.empty() ? "" : ", ", point.forward.value.count() / 1e12,
                             point.backward.value.count() / 1e12, point.length, point.head_dim);
  }
  profile.attention_forward_ceiling = fastest(forward);
  profile.attention_backward_ceiling = fastest(backward);
  say("attention", fmt::format("{} forward, {} backward, over shapes",
                               with_deviation(usual_forward, "TFLOP/s", 1e12),
                               with_deviation(usual_backward, "TFLOP/s", 1e12)));
  say("attention by length", by_length + " TFLOP/s forward and backward");
  profile.device_update = measure_device_update(budget_.kernel);
  say("device memory", fmt::format("{} by element-wise kernels, {} updated",
                                   planner::format_rate(profile.hbm_bandwidth.value),
                                   with_deviation(profile.device_update, "G parameters/s", 1e9)));
  const LaunchCosts launches = measure_launches(budget_.kernel);
  profile.launch = launches.launch;
  profile.kernel_overhead = launches.kernel;
  say("launches", fmt::format("{} of the launcher a kernel, {} of the device, {} an event",
                              planner::format_seconds(launches.launch.value),
                              planner::format_seconds(launches.kernel.value),
                              planner::format_seconds(launches.event.value)));
}

}  // namespace sluice::profiler
