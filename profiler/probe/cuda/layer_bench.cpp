#include "profiler/probe/cuda/layer_bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/cuda/attention/attention.hpp"
#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "planner/costs/cost.hpp"
#include "planner/costs/profile_rates.hpp"
#include "profiler/probe/block_bench.hpp"

namespace sluice::profiler {
namespace {

using engine::check_cuda;
using planner::Fact;

std::uint16_t* halves(const DeviceMemory& memory, std::int64_t element = 0) {
  return static_cast<std::uint16_t*>(memory.get()) + element;
}

struct AttentionTimes {
  Fact forward, backward;
  planner::AttentionPoint point;
};

/// Relative deviation between shapes of one length.
constexpr double kShapeDeviation = 0.08;

planner::FlopRate of_any_shape(Fact rate) {
  rate.deviation = std::hypot(rate.deviation, kShapeDeviation * rate.value);
  return planner::in_unit<FlopsPerSecond>(std::move(rate));
}

AttentionTimes measure_shape(const engine::Cudnn& cudnn, KernelTimer& timer,
                             engine::AttentionShape shape, Seconds budget, BytesPerSecond memory) {
  shape.qkv_row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
  shape.out_row = shape.heads * shape.head_dim;
  const std::int64_t tokens = shape.sequences * shape.length;
  const std::int64_t k = shape.heads * shape.head_dim;
  const std::int64_t v = k + shape.kv_heads * shape.head_dim;
  const DeviceMemory qkv = random_bf16(tokens * shape.qkv_row);
  const DeviceMemory d_out = random_bf16(tokens * shape.out_row);
  const DeviceMemory out = allocate_device(Bytes(2 * tokens * shape.out_row));
  const DeviceMemory d_qkv = allocate_device(Bytes(2 * tokens * shape.qkv_row));
  const DeviceMemory lse = allocate_device(Bytes(4 * tokens * shape.heads));
  const engine::CudaAttention attention(cudnn, shape);
  const DeviceMemory scratch =
      allocate_device(std::max(attention.forward_workspace(), attention.backward_workspace()));
  const planner::AttentionWork work{.sequences = shape.sequences,
                                    .length = shape.length,
                                    .heads = shape.heads,
                                    .kv_heads = shape.kv_heads,
                                    .head_dim = shape.head_dim};
  planner::AttentionWork back = work;
  back.backward = true;
  back.sums = planner::attention_sum_traffic(shape);
  back.narrow_keys = planner::attention_keys_of_narrow_runs(shape);
  const std::string note = std::to_string(shape.sequences) + " x " + std::to_string(shape.length) +
                           " tokens, " + std::to_string(shape.heads) + "/" +
                           std::to_string(shape.kv_heads) + " heads of " +
                           std::to_string(shape.head_dim);
  const auto forward = [&](cudaStream_t stream) {
    attention.forward(stream, halves(qkv), halves(qkv, k), halves(qkv, v), out.get(),
                      static_cast<float*>(lse.get()), scratch.get());
  };
  const auto backward = [&](cudaStream_t stream) {
    attention.backward(stream, halves(qkv), halves(qkv, k), halves(qkv, v), out.get(),
                       static_cast<const float*>(lse.get()), d_out.get(), halves(d_qkv),
                       halves(d_qkv, k), halves(d_qkv, v), scratch.get());
  };
  AttentionTimes times;
  times.forward = measured_rate(flops(work).count(), timer.samples(forward, budget), note);
  Samples seconds = timer.samples(backward, budget);
  times.backward = measured_rate(flops(back).count(), seconds, note);
  const double besides = planner::narrow_run_time(back).count() +
                         static_cast<double>(back.sums.count()) / memory.count();
  for (double& sample : seconds) sample = std::max(sample - besides, sample / 4);
  times.point = {
      .head_dim = shape.head_dim,
      .length = shape.length,
      .forward = of_any_shape(times.forward),
      .backward = of_any_shape(measured_rate(flops(back).count(), std::move(seconds), note))};
  wait(timer.stream());
  return times;
}

}  // namespace

AttentionRates measure_attention(Seconds budget_each, BytesPerSecond memory) {
  KernelTimer timer;
  const engine::Cudnn cudnn;
  constexpr std::size_t kUsual = 4;
  const std::array<engine::AttentionShape, 9> shapes = {{
      {.sequences = 8, .length = 1024, .heads = 14, .kv_heads = 2, .head_dim = 64},
      {.sequences = 8, .length = 1024, .heads = 28, .kv_heads = 4, .head_dim = 128},
      {.sequences = 2, .length = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128},
      {.sequences = 1, .length = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128},
      // Long sequences, whose backward pass runs in parts (docs/design/attention.md).
      {.sequences = 1, .length = 8192, .heads = 16, .kv_heads = 4, .head_dim = 64},
      {.sequences = 1, .length = 16384, .heads = 8, .kv_heads = 2, .head_dim = 64},
      {.sequences = 1, .length = 32768, .heads = 8, .kv_heads = 2, .head_dim = 64},
      {.sequences = 1, .length = 16384, .heads = 8, .kv_heads = 2, .head_dim = 128},
      {.sequences = 1, .length = 32768, .heads = 8, .kv_heads = 2, .head_dim = 128},
  }};
  AttentionRates rates;
  const Bytes room(device_room().free.count() / 2);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0 && planner::attention_workspace_bound(shapes[i]) > room) continue;
    AttentionTimes times = measure_shape(cudnn, timer, shapes[i], budget_each, memory);
    rates.points.push_back(std::move(times.point));
    if (i >= kUsual) continue;
    rates.forward.push_back(std::move(times.forward));
    rates.backward.push_back(std::move(times.backward));
  }
  std::ranges::sort(rates.points, {}, [](const planner::AttentionPoint& point) {
    return std::pair(point.head_dim, point.length);
  });
  return rates;
}

std::vector<Fact> measure_memory_kernels(Seconds budget_each) {
  constexpr std::int64_t kTokens = 8192, kHidden = 4096, kWidth = 14336;
  KernelTimer timer;
  const DeviceMemory gate_up = random_bf16(kTokens * 2 * kWidth);
  const DeviceMemory activation = allocate_device(Bytes(2 * kTokens * kWidth));
  const DeviceMemory x = random_bf16(kTokens * kHidden);
  const DeviceMemory weight = random_bf16(kHidden);
  const DeviceMemory out = allocate_device(Bytes(2 * kTokens * kHidden));
  const DeviceMemory rstd = allocate_device(Bytes(4 * kTokens));
  const engine::cuda::GateUp in{halves(gate_up), halves(gate_up, kWidth), 2 * kWidth};
  const auto swiglu = [&](cudaStream_t stream) {
    engine::cuda::activate(stream, planner::Activation::silu, in, kTokens, kWidth,
                           halves(activation));
  };
  const auto norm = [&](cudaStream_t stream) {
    engine::cuda::rms_norm(stream, halves(x), halves(weight), 1e-6F, kTokens, kHidden, halves(out),
                           static_cast<float*>(rstd.get()));
  };
  std::vector<Fact> rates = {
      measured_rate(2.0 * 3 * kTokens * kWidth, timer.samples(swiglu, budget_each), "SwiGLU"),
      measured_rate(2.0 * 2 * kTokens * kHidden, timer.samples(norm, budget_each), "RMSNorm")};
  wait(timer.stream());
  return rates;
}

Fact measure_device_update(Seconds budget) {
  constexpr std::int64_t kParameters = std::int64_t{64} << 20;
  KernelTimer timer;
  const DeviceMemory high = random_bf16(kParameters, 0.02F);
  const DeviceMemory low = random_bf16(kParameters);
  const DeviceMemory m = allocate_device(Bytes(4 * kParameters));
  const DeviceMemory v = allocate_device(Bytes(4 * kParameters));
  // Pairs of random bf16 are fp32 numbers near the second of them.
  const DeviceMemory gradient = random_bf16(2 * kParameters, 1e-3F);
  for (const DeviceMemory* zero : {&m, &v}) {
    check_cuda(cudaMemsetAsync(zero->get(), 0, std::size_t{4} * kParameters, timer.stream()),
               "moments");
  }
  engine::SharedMemory constants(sizeof(engine::AdamWStep));
  auto* step = reinterpret_cast<engine::AdamWStep*>(constants.data());
  *step = engine::adamw_step({}, 1e-6, 10, 1.0F);
  const engine::AdamWOperands operands{halves(high), halves(low), static_cast<float*>(m.get()),
                                       static_cast<float*>(v.get()), gradient.get()};
  const auto update = [&](cudaStream_t stream) {
    engine::cuda::adamw_update(operands, 0, kParameters, true, step, stream);
  };
  const Fact rate = measured_rate(static_cast<double>(kParameters), timer.samples(update, budget),
                                  "fused AdamW on the device");
  wait(timer.stream());
  return rate;
}

LaunchCosts measure_launches(Seconds budget) {
  const planner::Job job = block_job({.hidden = 128,
                                      .intermediate = 256,
                                      .heads = 2,
                                      .head_dim = 64,
                                      .seq_len = 128,
                                      .sequences = 1});
  KernelTimer timer;
  engine::CudaTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const std::int64_t elements = job.micro_tokens() * job.model.hidden;
  const DeviceMemory weights = random_bf16(planner::unit_tensors(job.model, 1).padded_size, 0.02F);
  const DeviceMemory record_memory = allocate_device(layout.all_bytes);
  const DeviceMemory x = random_bf16(elements);
  const DeviceMemory next = allocate_device(Bytes(2 * elements));
  const DeviceMemory workspace = allocate_device(planner::cuda_workspace(job).total);
  const engine::CudaRecord view{.input = static_cast<std::byte*>(x.get()),
                                .record = static_cast<std::byte*>(record_memory.get()),
                                .full = nullptr,
                                .kept = layout.all_bytes};
  const auto forward = [&](cudaStream_t stream) {
    templates.block_forward(stream, halves(weights), view, static_cast<std::byte*>(next.get()),
                            static_cast<std::byte*>(workspace.get()));
  };
  const auto kernels = static_cast<double>(work_of(job, planner::Pass::block_forward, 1).kernels);
  for (int i = 0; i < 3; ++i) forward(timer.stream());
  wait(timer.stream());

  Samples launches, kernel_times, events;
  const Event begin = make_event(EventUse::timing), end = make_event(EventUse::timing);
  // The stream is held up while layers are enqueued, so that the device then runs them in a row.
  constexpr int kLayers = 20;
  const Bytes hold = std::min(2_GiB, Bytes(device_room().free.count() / 2));
  const DeviceMemory held = allocate_device(hold);
  const Seconds started = read(Timer::wall);
  while (launches.size() < 5 || read(Timer::wall) - started < budget) {
    for (int i = 0; i < 4; ++i) {
      check_cuda(
          cudaMemsetAsync(held.get(), i, static_cast<std::size_t>(hold.count()), timer.stream()),
          "a memset");
    }
    record(begin.get(), timer.stream());
    const Seconds from = read(Timer::wall);
    for (int i = 0; i < kLayers; ++i) forward(timer.stream());
    launches.push_back((read(Timer::wall) - from).count() / (kLayers * kernels));
    const Seconds between = read(Timer::wall);
    record(end.get(), timer.stream());
    events.push_back((read(Timer::wall) - between).count());
    kernel_times.push_back(elapsed(begin.get(), end.get()).count() / (kLayers * kernels));
  }
  const std::string note = "a layer of 128 tokens, forward, by its kernels";
  return {.launch = measured_time(launches, note),
          .kernel = measured_time(kernel_times, note),
          .event = measured_time(events, "recording an event")};
}

}  // namespace sluice::profiler
