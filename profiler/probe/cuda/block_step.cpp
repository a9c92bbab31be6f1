#include "profiler/probe/cuda/block_step.hpp"

#include <algorithm>
#include <new>
#include <random>
#include <vector>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/host/templates.hpp"
#include "planner/costs/cost_key.hpp"

namespace sluice::profiler {

using engine::check_cuda;
using engine::cuda::Into;
using planner::Pass;

namespace {

constexpr std::size_t kHead = ProbedMemory::kUnits - 1;

/// Copies the `count` numbers at `from` to `to`, again and again, until `wanted` are filled.
void repeat(cudaStream_t stream, const std::uint16_t* from, std::int64_t count, std::uint16_t* to,
            std::int64_t wanted) {
  for (std::int64_t filled = 0; filled < wanted; filled += count) {
    const auto bytes = static_cast<std::size_t>(2 * std::min(count, wanted - filled));
    check_cuda(cudaMemcpyAsync(to + filled, from, bytes, cudaMemcpyDeviceToDevice, stream),
               "random weights");
  }
}

PassClock::MicroBatch which(int index) {
  return index == 0 ? PassClock::MicroBatch::first : PassClock::MicroBatch::later;
}

}  // namespace

BlockStep::BlockStep(const planner::Job& job, const engine::GemmTable& table)
    : job_(job),
      places_(probed_memory(job)),
      layout_(planner::block_record(job)),
      templates_(job, table),
      spans_(engine::adamw_spans(planner::unit_tensors(job.model, 1))),
      update_(sizeof(engine::AdamWStep)) {
  new (update_.data()) engine::AdamWStep(engine::adamw_step(job.optimizer, 1e-6, 10, 1.0F));
}

std::string BlockStep::key(Pass pass, std::size_t unit) const {
  return planner::compute_key(job_, pass, unit).name();
}

const std::uint16_t* BlockStep::weights(std::size_t unit) const {
  return engine::bf16(at(places_.weights[unit]));
}

float* BlockStep::gradient(std::size_t unit) const {
  return engine::fp32(at(places_.gradients[unit]));
}

engine::CudaRecord BlockStep::record(std::size_t block) const {
  std::byte* const whole = at(places_.records[block]);
  return {.input = whole,
          .record = whole,
          .full = nullptr,
          .kept = layout_.all_bytes,
          .layer = static_cast<std::int64_t>(block)};
}

void BlockStep::fill_norms(cudaStream_t stream) const {
  constexpr std::uint16_t kOne = 0x3F80;
  const std::vector<std::uint16_t> ones(static_cast<std::size_t>(job_.model.hidden), kOne);
  const auto fill = [&](std::size_t unit, const engine::Slot& norm) {
    if (!norm.exists()) return;
    check_cuda(cudaMemcpyAsync(at(places_.weights[unit]) + 2 * norm.offset, ones.data(),
                               2 * ones.size(), cudaMemcpyHostToDevice, stream),
               "weights of norms");
  };
  const engine::BlockSlots slots = engine::block_slots(job_.model);
  for (std::size_t block = 1; block < kHead; ++block) {
    fill(block, slots.norm_before_attention);
    fill(block, slots.norm_before_mlp);
  }
  fill(kHead, templates_.ends().final_norm);
  wait(stream);  // `ones` ends here.
}

void BlockStep::fill_tokens(cudaStream_t stream) const {
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::int32_t> token(
      0, static_cast<std::int32_t>(job_.model.vocab - 1));
  std::vector<std::int32_t> drawn(static_cast<std::size_t>(job_.micro_tokens()));
  for (const Bytes place : {places_.tokens, places_.targets}) {
    for (std::int32_t& each : drawn) each = token(random);
    check_cuda(
        cudaMemcpyAsync(at(place), drawn.data(), 4 * drawn.size(), cudaMemcpyHostToDevice, stream),
        "tokens");
    wait(stream);  // `drawn` is drawn anew.
  }
}

void BlockStep::prepare(cudaStream_t stream, std::byte* memory, const std::uint16_t* normals,
                        std::int64_t count) {
  memory_ = memory;
  for (std::size_t unit = 0; unit < ProbedMemory::kUnits; ++unit) {
    repeat(stream, normals, count, engine::bf16(at(places_.weights[unit])),
           planner::unit_padded_size(job_.model, unit));
  }
  const std::int64_t block = planner::unit_padded_size(job_.model, 1);
  repeat(stream, normals, count, engine::bf16(at(places_.low)), block);
  for (const Bytes zeros : {places_.m, places_.v}) {
    check_cuda(cudaMemsetAsync(at(zeros), 0, static_cast<std::size_t>(4 * block), stream),
               "moments");
  }
  fill_norms(stream);
  fill_tokens(stream);
}

void BlockStep::loss(cudaStream_t stream, Into into) {
  const engine::EndSlots& ends = templates_.ends();
  const bool tied = job_.model.tied_head;
  const engine::CudaLossArguments arguments{
      .head = weights(kHead),
      .lm_head = tied ? weights(0) + ends.embedding.offset : weights(kHead) + ends.lm_head.offset,
      .input = at(places_.head_input),
      .targets = reinterpret_cast<const std::int32_t*>(at(places_.targets)),
      .scale = 1.0F / static_cast<float>(kMicroBatches * job_.micro_tokens()),
      .gradient = gradient(kHead),
      .lm_head_gradient = tied ? engine::fp32(at(places_.tied_gradient)) + ends.embedding.offset
                               : gradient(kHead) + ends.lm_head.offset,
      .into = into,
      .stream_gradient = at(places_.stream_gradient),
      .loss_sum = reinterpret_cast<double*>(at(places_.sums))};
  templates_.loss(stream, arguments, at(places_.workspace));
}

void BlockStep::micro_batch(cudaStream_t stream, int index, PassClock& clock) {
  const auto* tokens = reinterpret_cast<const std::int32_t*>(at(places_.tokens));
  std::byte* const workspace = at(places_.workspace);
  templates_.embed_forward(stream, weights(0), tokens, job_.micro_tokens(), record(0).input);
  clock.lap(stream, key(Pass::embed_forward, 0));
  for (std::size_t block = 0; block < places_.records.size(); ++block) {
    const bool last = block + 1 == places_.records.size();
    std::byte* const next = last ? at(places_.head_input) : record(block + 1).input;
    templates_.block_forward(stream, weights(block + 1), record(block), next, workspace);
    clock.lap(stream, key(Pass::block_forward, 1));
  }
  if (index < 2) {
    loss(stream, index == 0 ? Into::overwrite : Into::accumulate);
    clock.lap(stream, key(Pass::loss, kHead), which(index));
  }
  backward(stream, index, clock);
}

void BlockStep::backward(cudaStream_t stream, int index, PassClock& clock) {
  const Into into = index == 0 ? Into::overwrite : Into::accumulate;
  std::byte* const workspace = at(places_.workspace);
  std::byte* const stream_gradient = at(places_.stream_gradient);
  for (std::size_t block = places_.records.size(); block-- > 0;) {
    const bool whole = (block + static_cast<std::size_t>(index)) % 2 == 0;
    templates_.block_recompute(stream, weights(block + 1), record(block),
                               whole ? planner::Keep::input : planner::Keep::selective, workspace);
    clock.lap(stream,
              key(whole ? Pass::block_recompute_input : Pass::block_recompute_selective, 1));
    templates_.block_backward(stream, weights(block + 1), gradient(block + 1), into, record(block),
                              stream_gradient, workspace);
    clock.lap(stream, key(Pass::block_backward, 1), which(index));
  }
  templates_.embed_backward(stream, reinterpret_cast<const std::int32_t*>(at(places_.tokens)),
                            stream_gradient, gradient(0), into);
  clock.lap(stream, key(Pass::embed_backward, 0), which(index));
}

void BlockStep::finish(cudaStream_t stream, PassClock& clock) {
  if (job_.model.tied_head) {
    engine::cuda::combine(stream, gradient(0), engine::fp32(at(places_.tied_gradient)),
                          planner::unit_padded_size(job_.model, 0));
    clock.lap(stream, key(Pass::combine, 0));
  }
  auto* const blocks = reinterpret_cast<double*>(at(places_.norm_blocks));
  for (std::size_t unit = 0; unit < ProbedMemory::kUnits; ++unit) {
    const std::int64_t size = planner::unit_padded_size(job_.model, unit);
    engine::cuda::norm_blocks(stream, gradient(unit), size, blocks);
    engine::cuda::sum_blocks(stream, blocks, engine::norm_block_count(size),
                             reinterpret_cast<double*>(at(places_.sums)) + 1);
    clock.lap(stream, key(Pass::norm, unit));
  }
  const engine::AdamWOperands operands{.high = engine::bf16(at(places_.weights[1])),
                                       .low = engine::bf16(at(places_.low)),
                                       .m = engine::fp32(at(places_.m)),
                                       .v = engine::fp32(at(places_.v)),
                                       .gradient = gradient(1)};
  for (const engine::AdamWSpan& span : spans_) {
    engine::cuda::adamw_update(operands, span.begin, span.end, span.decays,
                               reinterpret_cast<const engine::AdamWStep*>(update_.data()), stream);
  }
  const std::int64_t updated = planner::unit_padded_size(job_.model, 1);
  clock.lap(stream, planner::device_update_key(job_, updated).name());
}

}  // namespace sluice::profiler
