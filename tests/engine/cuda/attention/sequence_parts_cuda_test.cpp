// A sequence in parts against the same sequence as a whole, on the cuda backend.
#include "tests/engine/cuda/layers/block_agreement.hpp"
#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

class CudaSequencePartsTest : public TemplatesTest, public EveryFamily {};

TEST_P(CudaSequencePartsTest, AgreeWithTheWhole) {
  expect_sequence_parts_agree(stream_, small_job(GetParam(), planner::ComputeType::bf16), 1);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaSequencePartsTest, every_family());

class CudaRoutedExpertsTest : public TemplatesTest, public EveryFamily {};

TEST_P(CudaRoutedExpertsTest, GiveTheBitsOfTheWholeBlockAndReadNoIdleOne) {
  constexpr std::int64_t kTokens = 3;
  constexpr std::uint16_t kNotANumber = 0x7FFF;
  planner::Job job = small_job(GetParam(), planner::ComputeType::bf16);
  job.batch_size = job.micro_batch = 1;
  job.sequence_chunk = 64;
  const std::int64_t experts = job.model.experts->count, elements = kTokens * job.model.hidden;
  RandomValues random(3);
  const Halves high = weights(job, 1);
  const DeviceArray<std::uint16_t> weight(high), input(random.halves(elements));
  const DeviceArray<std::uint16_t> whole(elements), routed(elements);
  CudaTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const DeviceArray<std::byte> full((layout.all_bytes - layout.input_bytes).count());
  const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
  const DeviceArray<std::uint16_t> kept(2 * job.seq_len * job.model.kv_heads * job.model.head_dim);
  const DeviceArray<std::int32_t> begins(experts + 1);
  const CudaRecord record{.input = reinterpret_cast<std::byte*>(input.data()),
                          .record = nullptr,
                          .full = full.data(),
                          .kept = layout.input_bytes};
  const auto bytes = [](const DeviceArray<std::uint16_t>& array) {
    return reinterpret_cast<std::byte*>(array.data());
  };
  templates.block_extend(stream_, weight.data(), record, {kept.data(), 0, kTokens}, bytes(whole),
                         workspace.data());
  templates.block_route(stream_, weight.data(), record, {kept.data(), 0, kTokens}, begins.data(),
                        workspace.data());
  finish();
  const std::vector<std::int32_t> first = begins.values();
  ASSERT_EQ(first.back(), kTokens * job.model.experts->active);
  const planner::ExpertRange range = planner::expert_range(job.model);
  Halves needed = high;
  std::int64_t idle = 0;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto index = static_cast<std::size_t>(expert);
    if (first[index] != first[index + 1]) continue;
    ++idle;
    std::fill_n(needed.begin() + range.first + expert * range.stride, range.stride, kNotANumber);
  }
  EXPECT_GE(idle, experts - first.back());
  const DeviceArray<std::uint16_t> loaded(needed);
  templates.block_experts(stream_, loaded.data(), record, kTokens, bytes(routed), workspace.data());
  finish();
  EXPECT_TRUE(begins.intact() && routed.intact() && workspace.intact());
  EXPECT_EQ(routed.values(), whole.values());
}

INSTANTIATE_TEST_SUITE_P(Families, CudaRoutedExpertsTest,
                         ::testing::Values(planner::Family::qwen3_moe, planner::Family::mixtral));

}  // namespace
}  // namespace sluice::engine
