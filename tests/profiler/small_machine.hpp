// A small job and a made-up host machine for the profiler's tests.
#pragma once

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::profiler::test {

inline planner::Job small_job() {
  planner::Job job;
  job.model.name = "small";
  job.model.family = planner::Family::llama;
  job.model.layers = 4;
  job.model.hidden = 64;
  job.model.intermediate = 128;
  job.model.heads = 4;
  job.model.kv_heads = 2;
  job.model.head_dim = 16;
  job.model.vocab = 256;
  job.seq_len = 32;
  job.batch_size = 4;
  job.micro_batch = 1;
  job.loss_chunk = 32;
  return job;
}

/// Profile of a host machine with two cores and a link of 20 MB/s each way, so that copies take
/// about as long as a layer's passes.
inline planner::MachineProfile small_machine() {
  const auto fact = [](double value) {
    return planner::Fact{.value = value,
                         .deviation = 0.05 * value,
                         .count = 5,
                         .source = planner::Source::measured,
                         .note = ""};
  };
  const auto bytes = [&fact](double value) {
    return planner::in_unit<BytesPerSecond>(fact(value));
  };
  const auto time = [&fact](double value) { return planner::in_unit<Seconds>(fact(value)); };
  const auto rate = [&fact](double value) { return planner::in_unit<FlopsPerSecond>(fact(value)); };
  planner::MachineProfile machine;
  machine.name = "small";
  machine.device = planner::DeviceKind::host;
  machine.architecture = "x86_64-test";
  machine.hbm = fact(256e6);
  machine.host = fact(8e9);
  machine.disk = fact(8e9);
  machine.cores = fact(2);
  machine.h2d = machine.d2h = machine.h2d_duplex = machine.d2h_duplex = bytes(20e6);
  machine.copy_latency = time(50e-6);
  machine.dram = bytes(10e9);
  machine.hbm_bandwidth = bytes(5e9);
  machine.h2d_dram = machine.d2h_dram = fact(2);
  machine.update_dram = fact(28);
  machine.copy_cores = fact(1e-10);
  machine.peak_bf16 = rate(1e11);
  machine.gemm = {{Flops(1e6), rate(1e9)}, {Flops(1e9), rate(2e9)}};
  machine.attention_forward = rate(5e8);
  machine.attention_backward = rate(5e8);
  machine.launch = time(2e-6);
  machine.kernel_overhead = time(1e-6);
  machine.update = {{1, fact(1e8)}};
  machine.device_update = fact(1e8);
  machine.interference = {{planner::LaneKind::compute, planner::LaneKind::cpu, fact(0.9)},
                          {planner::LaneKind::cpu, planner::LaneKind::compute, fact(0.9)},
                          {planner::LaneKind::compute, planner::LaneKind::h2d, fact(0.98)},
                          {planner::LaneKind::compute, planner::LaneKind::d2h, fact(0.98)}};
  return machine;
}

inline planner::Plan small_plan(const planner::Job& job, std::int64_t rounds,
                                std::int64_t weight_buffers) {
  planner::Plan plan = planner::uniform_plan(job, planner::UnitPlan{}, rounds);
  set_weight_buffers(plan, weight_buffers);
  return plan;
}

}  // namespace sluice::profiler::test
