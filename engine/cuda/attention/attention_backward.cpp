#include "engine/cuda/attention/attention_backward.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "engine/cuda/attention/attention_graph.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "planner/effort/parallel_for.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kBf16Bytes = 2;
constexpr std::int64_t kAddressMultiple = 256;

/// Largest number of threads that compile plans; each needs a handle of 10 MiB of device memory
/// meanwhile.
constexpr std::size_t kMostCompilers = 12;

Bytes aligned(Bytes bytes) {
  return Bytes((bytes.count() + kAddressMultiple - 1) / kAddressMultiple * kAddressMultiple);
}

const void* at(const void* base, std::int64_t bytes) {
  return static_cast<const std::byte*>(base) + bytes;
}
void* at(void* base, std::int64_t bytes) { return static_cast<std::byte*>(base) + bytes; }

std::uint16_t* bf16(void* memory) { return static_cast<std::uint16_t*>(memory); }

/// Whether a run's keys need packing. cuDNN 9.19 (compute capability 9.0) addresses the keys of the
/// product that makes the queries' gradients with 32 bits: 524288 tokens of 4608 elements gave NaN
/// in the last queries' gradients on an H200.
bool keys_pass_32_bits(const AttentionShape& part) {
  return part.length * part.qkv_row > std::numeric_limits<std::int32_t>::max();
}

}  // namespace

AttentionBackward::AttentionBackward(const Cudnn& cudnn, const AttentionShape& shape,
                                     GradientOrder order, planner::AttentionLimits limits)
    : cudnn_(cudnn),
      shape_(shape),
      part_(planner::attention_backward_part(shape, order,
                                             planner::attention_run_limit(shape, order, limits))),
      order_(order),
      sums_(planner::shares_keys_between_runs(shape, part_)),
      packs_keys_(sums_ && keys_pass_32_bits(part_)) {
  if (planner::attention_runs_in_flight(shape_, part_, limits) > 1) side_.emplace();
  try {
    blocks_ = blocks_of(planner::attention_blocks(shape_, part_));
  } catch (const EnvironmentError& error) {
    if (!sums_) throw;
    using planner::AttentionRunKind;
    const AttentionRunKind kind =
        part_.queries ? AttentionRunKind::one_head : AttentionRunKind::whole_group;
    throw EnvironmentError(
        std::string(error.what()) + ": use seq_len of at most " +
        std::to_string(planner::attention_longest(
            shape, kind, order, planner::attention_run_limit(shape, order, limits))) +
        ", which needs no such run");
  }
}

/// Compiles the plans of all blocks on a few threads, each with a handle of its own: a plan takes
/// about a second of one core, and half a million tokens have more than a hundred.
std::vector<AttentionBackward::Block> AttentionBackward::blocks_of(
    const std::vector<planner::AttentionBlock>& ranges) const {
  const std::size_t threads =
      std::min({ranges.size(), kMostCompilers,
                std::size_t{std::max(1U, std::thread::hardware_concurrency())}});
  std::vector<std::optional<Block>> built(ranges.size());
  std::atomic<std::size_t> next{0};
  planner::parallel_for(threads, std::ssize(built), [&](std::size_t thread) {
    std::optional<Cudnn> own;
    try {
      if (thread > 0) own.emplace();
    } catch (const EnvironmentError&) {
      return;  // No device memory for another handle: other threads compile this share.
    }
    for (std::size_t i = next++; i < built.size(); i = next++) {
      built[i].emplace(block_of(own ? *own : cudnn_, ranges[i]));
    }
  });
  std::vector<Block> blocks;
  blocks.reserve(built.size());
  for (std::optional<Block>& block : built) blocks.push_back(std::move(*block));
  return blocks;
}

AttentionBackward::Block AttentionBackward::block_of(const Cudnn& cudnn,
                                                     const planner::AttentionBlock& range) const {
  AttentionShape run = part_;
  run.length = range.keys;
  run.queries = std::nullopt;
  if (range.queries < range.keys) run.queries = range.queries;
  return {.range = range,
          .scalars = AttentionScalars(run),
          .plan = attention_backward_plan(cudnn, run, order_,
                                          sums_ ? KeyGradients::part : KeyGradients::whole,
                                          packs_keys_ ? KeyRows::packed : KeyRows::apart)};
}

std::string AttentionBackward::engines() const {
  if (!sums_) return blocks_.front().plan.engine();
  std::string text = "of one head, queries/keys";
  for (const Block& block : blocks_) {
    text += " " + std::to_string(block.range.queries) + "/" + std::to_string(block.range.keys) +
            " " + block.plan.engine();
  }
  return text;
}

Bytes AttentionBackward::out_sum_bytes() const {
  const std::int64_t queries = part_.queries.value_or(part_.length);
  return aligned(Bytes(std::int64_t{4} * part_.sequences * part_.heads * queries));
}

Bytes AttentionBackward::d_q_sum_bytes() const {
  if (order_ == GradientOrder::fixed) return Bytes(0);
  const std::int64_t queries = part_.queries.value_or(part_.length);
  return aligned(Bytes(std::int64_t{4} * part_.sequences * part_.heads * queries * part_.head_dim));
}

Bytes AttentionBackward::run_workspace() const {
  Bytes most{0};
  for (const Block& block : blocks_) most = std::max(most, block.plan.workspace());
  return planner::attention_backward_sums(shape_, part_) + out_sum_bytes() + d_q_sum_bytes() +
         aligned(most);
}

Bytes AttentionBackward::workspace() const { return run_workspace() * (side_ ? 2 : 1); }

AttentionBackward::Sums AttentionBackward::sums_at(void* workspace) const {
  auto* first = static_cast<float*>(workspace);
  const std::int64_t array = planner::attention_backward_sums(shape_, part_).count() / 16;
  return {.d_k = bf16(first),
          .d_v = bf16(first + array),
          .d_k_total = first + 2 * array,
          .d_v_total = first + 3 * array,
          .k = bf16(first) + array};  // Behind the run's d_k, which takes half of its array.
}

void AttentionBackward::run(cudaStream_t stream, const AttentionGradients& of,
                            void* workspace) const {
  const std::int64_t group = shape_.heads / shape_.kv_heads;
  if (side_) side_->follow(stream);
  bool aside = false;
  for (std::int64_t sequence = 0; sequence < shape_.sequences; sequence += part_.sequences) {
    for (std::int64_t kv_head = 0; kv_head < shape_.kv_heads; kv_head += part_.kv_heads) {
      const Origin origin{.sequence = sequence, .head = kv_head * group, .kv_head = kv_head};
      const cudaStream_t own = aside ? side_->get() : stream;
      void* const scratch = at(workspace, aside ? run_workspace().count() : 0);
      if (sums_) {
        run_group(own, origin, of, scratch);
      } else {
        run_block(own, blocks_.front(), origin, of, scratch);
      }
      if (side_) aside = !aside;
    }
  }
  if (side_) side_->join(stream);
}

/// Runs the heads of queries in order, and the blocks of each in order, which fixes the order of
/// sums.
void AttentionBackward::run_group(cudaStream_t stream, const Origin& origin,
                                  const AttentionGradients& of, void* workspace) const {
  const Sums sums = sums_at(workspace);
  const std::int64_t all = shape_.length * shape_.head_dim;
  cuda::fill_zero(stream, sums.d_k_total, Bytes(4 * all));
  cuda::fill_zero(stream, sums.d_v_total, Bytes(4 * all));
  const std::int64_t kv_bytes = kBf16Bytes * (origin.sequence * shape_.length * shape_.qkv_row +
                                              origin.kv_head * shape_.head_dim);
  if (packs_keys_) pack_keys(stream, at(of.k, kv_bytes), sums.k);
  for (std::int64_t head = 0; head < shape_.heads / shape_.kv_heads; ++head) {
    Origin run = origin;
    run.head += head;
    for (const Block& block : blocks_) {
      run_block(stream, block, run, of, workspace);
      const std::int64_t first = block.range.first_key * shape_.head_dim;
      const std::int64_t count = block.range.keys * shape_.head_dim;
      cuda::add_bf16(stream, sums.d_k_total + first, sums.d_k, count);
      cuda::add_bf16(stream, sums.d_v_total + first, sums.d_v, count);
    }
  }
  round_into(stream, sums.d_k_total, sums.d_k, at(of.d_k, kv_bytes));
  round_into(stream, sums.d_v_total, sums.d_v, at(of.d_v, kv_bytes));
}

/// Copies one head's keys from rows of qkv_row elements to rows without gaps.
void AttentionBackward::pack_keys(cudaStream_t stream, const void* from, std::uint16_t* to) const {
  const auto width = static_cast<std::size_t>(kBf16Bytes * shape_.head_dim);
  check_cuda(cudaMemcpy2DAsync(
                 to, width, from, static_cast<std::size_t>(kBf16Bytes * shape_.qkv_row), width,
                 static_cast<std::size_t>(shape_.length), cudaMemcpyDeviceToDevice, stream),
             "a head's keys");
}

/// Rounds one head's gradient to bf16, into rows of qkv_row elements.
void AttentionBackward::round_into(cudaStream_t stream, const float* total, std::uint16_t* scratch,
                                   void* gradient) const {
  cuda::round_to_bf16(stream, total, shape_.length * shape_.head_dim, scratch);
  const auto width = static_cast<std::size_t>(kBf16Bytes * shape_.head_dim);
  check_cuda(cudaMemcpy2DAsync(gradient, static_cast<std::size_t>(kBf16Bytes * shape_.qkv_row),
                               scratch, width, width, static_cast<std::size_t>(shape_.length),
                               cudaMemcpyDeviceToDevice, stream),
             "the gradient of a head's keys");
}

void AttentionBackward::run_block(cudaStream_t stream, const Block& block, const Origin& origin,
                                  const AttentionGradients& of, void* workspace) const {
  const std::int64_t token = origin.sequence * shape_.length;
  const std::int64_t query = token + block.range.first_query;
  const std::int64_t key = token + block.range.first_key;
  const std::int64_t head_column = origin.head * shape_.head_dim;
  const std::int64_t q_bytes = kBf16Bytes * (query * shape_.qkv_row + head_column);
  const std::int64_t kv_bytes =
      kBf16Bytes * (key * shape_.qkv_row + origin.kv_head * shape_.head_dim);
  const std::int64_t out_bytes = kBf16Bytes * (query * shape_.out_row + head_column);
  const std::int64_t lse_at =
      (origin.sequence * shape_.heads + origin.head) * shape_.length + block.range.first_query;
  const Sums sums = sums_at(workspace);
  void* const out_sum = at(workspace, planner::attention_backward_sums(shape_, part_).count());
  void* const d_q_sum = at(out_sum, out_sum_bytes().count());
  AttentionBindings bindings;
  bindings.add(AttentionTensor::q, at(of.q, q_bytes));
  bindings.add(AttentionTensor::k,
               packs_keys_ ? sums.k + block.range.first_key * shape_.head_dim : at(of.k, kv_bytes));
  bindings.add(AttentionTensor::v, at(of.v, kv_bytes));
  bindings.add(AttentionTensor::out, at(of.out, out_bytes));
  bindings.add(AttentionTensor::lse, of.lse + lse_at);
  bindings.add(AttentionTensor::d_out, at(of.d_out, out_bytes));
  bindings.add(AttentionTensor::d_q, at(of.d_q, q_bytes));
  bindings.add(AttentionTensor::d_k, sums_ ? sums.d_k : at(of.d_k, kv_bytes));
  bindings.add(AttentionTensor::d_v, sums_ ? sums.d_v : at(of.d_v, kv_bytes));
  bindings.add(AttentionTensor::out_sum, out_sum);
  if (shape_.documents) bindings.add(AttentionTensor::starts, of.starts + query);
  if (order_ == GradientOrder::any) bindings.add(AttentionTensor::d_q_sum, d_q_sum);
  block.scalars.bind_one(bindings);
  block.scalars.bind(bindings);
  block.plan.execute(cudnn_, stream, bindings.view(), at(d_q_sum, d_q_sum_bytes().count()),
                     "attention backward");
}

}  // namespace sluice::engine
