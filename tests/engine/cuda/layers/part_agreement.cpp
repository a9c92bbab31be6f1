#include "planner/models/unit_classes.hpp"
#include "tests/engine/cuda/layers/block_agreement.hpp"
#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

struct Block {
  std::int64_t layer;
  const DeviceArray<std::uint16_t>& weights;
  const DeviceArray<std::uint16_t>& input;
};

/// Output of the block for the whole sequence.
std::vector<double> whole_output(cudaStream_t stream, const planner::Job& job, const Block& block) {
  CudaTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const DeviceArray<std::byte> record(layout.all_bytes.count());
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  const DeviceArray<std::uint16_t> next(job.seq_len * job.model.hidden);
  templates.block_forward(stream, block.weights.data(),
                          {.input = reinterpret_cast<std::byte*>(block.input.data()),
                           .record = record.data(),
                           .full = nullptr,
                           .kept = layout.all_bytes,
                           .layer = block.layer},
                          reinterpret_cast<std::byte*>(next.data()), workspace.data());
  cuda::testing::succeed(cudaStreamSynchronize(stream), "a kernel failed");
  return doubles(next.values());
}

/// Output of the block for the sequence in parts.
std::vector<double> output_in_parts(cudaStream_t stream, const planner::Job& job,
                                    const Block& block) {
  CudaTemplates templates(job);
  const std::int64_t hidden = job.model.hidden;
  const planner::BlockRecord layout = planner::block_record(job);
  const DeviceArray<std::byte> full((layout.all_bytes - layout.input_bytes).count());
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  const DeviceArray<std::uint16_t> kept(planner::kept_bytes(job, block.layer).count() / 2);
  const DeviceArray<std::uint16_t> extended(job.seq_len * hidden);
  std::int64_t first = 0;
  for (const std::int64_t count : {64, 1, 50, 13}) {
    templates.block_extend(
        stream, block.weights.data(),
        {.input = reinterpret_cast<std::byte*>(block.input.data() + first * hidden),
         .record = nullptr,
         .full = full.data(),
         .kept = layout.input_bytes,
         .layer = block.layer},
        {kept.data(), first, count}, reinterpret_cast<std::byte*>(extended.data() + first * hidden),
        workspace.data());
    first += count;
  }
  cuda::testing::succeed(cudaStreamSynchronize(stream), "a kernel failed");
  EXPECT_TRUE(full.intact() && workspace.intact() && kept.intact() && extended.intact());
  return doubles(extended.values());
}

}  // namespace

void expect_sequence_parts_agree(cudaStream_t stream, const planner::Job& job, std::size_t unit) {
  planner::Job whole = job;
  whole.batch_size = whole.micro_batch = 1;
  planner::Job parts = whole;
  parts.sequence_chunk = 64;
  RandomValues random(3);
  Halves x = random.halves(whole.seq_len * whole.model.hidden), high = test_weights(whole, unit);
  make_choices_plain(planner::uniform_job(whole, unit), high, x);
  const DeviceArray<std::uint16_t> weight(high), input(x);
  const Block block{static_cast<std::int64_t>(unit) - 1, weight, input};
  // The same roundings, except for attention weights, which are not rounded in parts.
  EXPECT_LT(
      relative_error(output_in_parts(stream, parts, block), whole_output(stream, whole, block)),
      0.005);
}

}  // namespace sluice::engine
