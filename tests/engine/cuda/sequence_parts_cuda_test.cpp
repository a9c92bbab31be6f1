// A sequence in parts against the same sequence as a whole, on the cuda backend.
#include "tests/engine/cuda/templates_run.hpp"

namespace sluice::engine {
namespace {

class CudaSequencePartsTest : public TemplatesTest, public EveryFamily {};

/// One of them is a single token.
TEST_P(CudaSequencePartsTest, AgreeWithTheWhole) {
  planner::Job whole = small_job(GetParam(), planner::ComputeType::bf16);
  whole.batch_size = whole.micro_batch = 1;
  planner::Job parts = whole;
  parts.sequence_chunk = 64;
  const std::int64_t hidden = whole.model.hidden, elements = whole.seq_len * hidden;
  RandomValues random(3);
  Halves x = random.halves(elements), high = weights(whole, 1);
  make_choices_plain(whole, high, x);
  const DeviceArray<std::uint16_t> weight(high), input(x), next(elements);
  {
    CudaTemplates templates(whole);
    const planner::BlockRecord layout = planner::block_record(whole);
    const DeviceArray<std::byte> record(layout.all_bytes.count());
    const DeviceArray<std::byte> workspace(planner::cuda_workspace(whole).total.count());
    templates.block_forward(stream_, weight.data(),
                            {.input = reinterpret_cast<std::byte*>(input.data()),
                             .record = record.data(),
                             .full = nullptr,
                             .kept = layout.all_bytes},
                            reinterpret_cast<std::byte*>(next.data()), workspace.data());
    finish();
  }
  CudaTemplates templates(parts);
  const planner::BlockRecord layout = planner::block_record(parts);
  const DeviceArray<std::byte> full((layout.all_bytes - layout.input_bytes).count());
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(parts).total.count());
  const DeviceArray<std::uint16_t> kept(2 * whole.seq_len * whole.model.kv_heads *
                                        whole.model.head_dim);
  const DeviceArray<std::uint16_t> extended(elements);
  std::int64_t first = 0;
  for (const std::int64_t count : {64, 1, 50, 13}) {
    templates.block_extend(stream_, weight.data(),
                           {.input = reinterpret_cast<std::byte*>(input.data() + first * hidden),
                            .record = nullptr,
                            .full = full.data(),
                            .kept = layout.input_bytes},
                           {kept.data(), first, count},
                           reinterpret_cast<std::byte*>(extended.data() + first * hidden),
                           workspace.data());
    first += count;
  }
  finish();
  EXPECT_TRUE(full.intact() && workspace.intact() && kept.intact() && extended.intact());
  // The same roundings, but for weights of attention, which are not rounded here.
  EXPECT_LT(relative_error(doubles(extended.values()), doubles(next.values())), 0.005);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaSequencePartsTest, every_family());

}  // namespace
}  // namespace sluice::engine
