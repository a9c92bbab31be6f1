#include "profiler/probe/probed_blocks.hpp"

#include <algorithm>

#include "engine/host/templates.hpp"
#include "planner/graph/record.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::profiler {
namespace {

/// Shapes between which the costs of others are interpolated (planner/costs/ratio_field.hpp):
/// widths that differ by less than a factor of 2, heads of 64, 80 and 128 with and without shared
/// keys, sequences of 512 to 16384 tokens, micro-batches of 4096 to 32768 tokens.
constexpr std::array kShapes{
    ProbedShape{.why = "narrow, heads of 64 that share keys: element-wise kernels take their share",
                .from = ProbeDepth::quick,
                .hidden = 896,
                .intermediate = 4864,
                .heads = 14,
                .kv_heads = 2,
                .head_dim = 64,
                .vocab = 151936,
                .qkv_bias = true,
                .tied_head = true,
                .tokens = 4096,
                .lengths = {512, 1024, 4096}},
    ProbedShape{.why = "medium, heads of 80, each with keys of its own",
                .from = ProbeDepth::quick,
                .hidden = 2560,
                .intermediate = 6912,
                .heads = 32,
                .kv_heads = 32,
                .head_dim = 80,
                .vocab = 50304,
                .qkv_bias = false,
                .tied_head = false,
                .tokens = 8192,
                .lengths = {1024, 4096, 0}},
    ProbedShape{.why = "wide, heads of 128 that share keys, short sequences",
                .from = ProbeDepth::quick,
                .hidden = 3584,
                .intermediate = 18944,
                .heads = 28,
                .kv_heads = 4,
                .head_dim = 128,
                .vocab = 152064,
                .qkv_bias = true,
                .tied_head = false,
                .tokens = 4096,
                .lengths = {512, 1024, 0}},
    ProbedShape{.why = "wide, heads of 128, the longest products",
                .from = ProbeDepth::quick,
                .hidden = 4096,
                .intermediate = 14336,
                .heads = 32,
                .kv_heads = 8,
                .head_dim = 128,
                .vocab = 128256,
                .qkv_bias = false,
                .tied_head = false,
                .tokens = 8192,
                .lengths = {2048, 8192, 0}},
    ProbedShape{.why = "medium, long sequences of heads of 128: attention takes its share",
                .from = ProbeDepth::quick,
                .hidden = 2048,
                .intermediate = 8192,
                .heads = 16,
                .kv_heads = 4,
                .head_dim = 128,
                .vocab = 32000,
                .qkv_bias = false,
                .tied_head = false,
                .tokens = 16384,
                .lengths = {2048, 16384, 0}},
    ProbedShape{.why = "narrow, long sequences of heads of 64, whose backward pass runs in parts",
                .from = ProbeDepth::full,
                .hidden = 896,
                .intermediate = 4864,
                .heads = 14,
                .kv_heads = 2,
                .head_dim = 64,
                .vocab = 151936,
                .qkv_bias = true,
                .tied_head = true,
                .tokens = 16384,
                .lengths = {8192, 16384, 0}},
    ProbedShape{.why = "between narrow and medium, heads of 128",
                .from = ProbeDepth::full,
                .hidden = 1536,
                .intermediate = 8960,
                .heads = 12,
                .kv_heads = 2,
                .head_dim = 128,
                .vocab = 151936,
                .qkv_bias = true,
                .tied_head = true,
                .tokens = 8192,
                .lengths = {1024, 8192, 0}},
    ProbedShape{.why = "medium, heads of 64, each with keys of its own, a small vocabulary",
                .from = ProbeDepth::full,
                .hidden = 2048,
                .intermediate = 8192,
                .heads = 32,
                .kv_heads = 32,
                .head_dim = 64,
                .vocab = 50304,
                .qkv_bias = false,
                .tied_head = false,
                .tokens = 4096,
                .lengths = {512, 2048, 4096}},
    ProbedShape{.why = "between medium and wide, heads of 128 that share keys",
                .from = ProbeDepth::full,
                .hidden = 3072,
                .intermediate = 8192,
                .heads = 24,
                .kv_heads = 8,
                .head_dim = 128,
                .vocab = 128256,
                .qkv_bias = false,
                .tied_head = true,
                .tokens = 8192,
                .lengths = {1024, 8192, 0}},
    ProbedShape{.why = "wide, heads of 128, each with keys of its own, as many tokens as fit",
                .from = ProbeDepth::full,
                .hidden = 4096,
                .intermediate = 11008,
                .heads = 32,
                .kv_heads = 32,
                .head_dim = 128,
                .vocab = 32000,
                .qkv_bias = false,
                .tied_head = false,
                .tokens = 32768,
                .lengths = {1024, 4096, 0}},
    ProbedShape{.why = "wide, the longest sequences",
                .from = ProbeDepth::full,
                .hidden = 4096,
                .intermediate = 14336,
                .heads = 32,
                .kv_heads = 8,
                .head_dim = 128,
                .vocab = 128256,
                .qkv_bias = false,
                .tied_head = false,
                .tokens = 16384,
                .lengths = {1024, 16384, 0}},
};

class Offsets {
 public:
  Bytes take(Bytes bytes) {
    const Bytes start = next_;
    next_ += Bytes((bytes.count() + 255) / 256 * 256);
    return start;
  }
  [[nodiscard]] Bytes end() const { return next_; }

 private:
  Bytes next_{0};
};

}  // namespace

std::span<const ProbedShape> probed_shapes() { return kShapes; }

std::vector<planner::Job> jobs_of(const ProbedShape& shape) {
  planner::Job job;
  job.model.name = "probe";
  job.model.layers = kProbedLayers;
  job.model.hidden = shape.hidden;
  job.model.intermediate = shape.intermediate;
  job.model.heads = shape.heads;
  job.model.kv_heads = shape.kv_heads;
  job.model.head_dim = shape.head_dim;
  job.model.vocab = shape.vocab;
  job.model.qkv_bias = shape.qkv_bias;
  job.model.tied_head = shape.tied_head;
  job.compute = planner::ComputeType::bf16;
  std::vector<planner::Job> jobs;
  for (const std::int64_t length : shape.lengths) {
    if (length == 0) continue;
    job.seq_len = length;
    job.micro_batch = job.batch_size = shape.tokens / length;
    jobs.push_back(job);
  }
  return jobs;
}

std::string text_of(const planner::Job& job) {
  const planner::ModelShape& m = job.model;
  return std::to_string(job.micro_batch) + " x " + std::to_string(job.seq_len) + " tokens, " +
         std::to_string(m.heads) + "/" + std::to_string(m.kv_heads) + " heads of " +
         std::to_string(m.head_dim) + ", " + std::to_string(m.hidden) + " wide";
}

ProbedMemory probed_memory(const planner::Job& job) {
  Offsets offsets;
  ProbedMemory memory{};
  std::int64_t largest = 0;
  for (std::size_t unit = 0; unit < ProbedMemory::kUnits; ++unit) {
    const std::int64_t size = planner::unit_padded_size(job.model, unit);
    largest = std::max(largest, size);
    memory.weights[unit] = offsets.take(Bytes(2 * size));
    memory.gradients[unit] = offsets.take(Bytes(4 * size));
  }
  memory.tied_gradient =
      offsets.take(Bytes(job.model.tied_head ? 4 * planner::unit_padded_size(job.model, 0) : 0));
  const planner::BlockRecord record = planner::block_record(job);
  for (Bytes& place : memory.records) place = offsets.take(record.all_bytes);
  memory.head_input = offsets.take(planner::stream_bytes(job));
  memory.stream_gradient = offsets.take(planner::stream_bytes(job));
  memory.workspace = offsets.take(planner::cuda_workspace(job).total);
  memory.tokens = offsets.take(Bytes(4 * job.micro_tokens()));
  memory.targets = offsets.take(Bytes(4 * job.micro_tokens()));
  const std::int64_t block = planner::unit_padded_size(job.model, 1);
  memory.low = offsets.take(Bytes(2 * block));
  memory.m = offsets.take(Bytes(4 * block));
  memory.v = offsets.take(Bytes(4 * block));
  memory.norm_blocks = offsets.take(Bytes(8 * engine::norm_block_count(largest)));
  memory.sums = offsets.take(Bytes(16));
  memory.total = offsets.end();
  return memory;
}

ProbedJobs probed_jobs(ProbeDepth depth, Bytes room) {
  ProbedJobs probed;
  for (const ProbedShape& shape : kShapes) {
    if (shape.from == ProbeDepth::full && depth == ProbeDepth::quick) continue;
    for (planner::Job& job : jobs_of(shape)) {
      const bool fits = probed_memory(job).total <= room;
      (fits ? probed.jobs : probed.too_large).push_back(std::move(job));
    }
  }
  return probed;
}

}  // namespace sluice::profiler
