#include "planner/scratch/attention_shape.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Number of keys in a tile; blocks of queries start where a tile does.
constexpr std::int64_t kTile = 128;

/// Default scratch of one run, and queries of a block that exceeds it (AttentionLimits).
constexpr Bytes kUsualRun = Bytes(std::int64_t{1} << 30);
constexpr std::int64_t kUsualQueries = 12288;

/// Scratch for counters and alignment, which does not grow with the shape. cuDNN 9.19 takes 256
/// bytes on compute capability 9.0, 128 on 8.0.
constexpr Bytes kFixedScratch = Bytes(std::int64_t{1} << 16);

/// Largest number of scores of a run. The product that makes the queries' gradients in a fixed
/// order fails where keys span 2^31 elements (docs/design/attention.md); its other operand, the
/// scores, stays below that as well.
constexpr std::int64_t kMostScores = std::numeric_limits<std::int32_t>::max();

/// Elements of the score gradients that one run keeps, in tiles of 64 queries by 128 keys.
std::int64_t kept_scores(const AttentionShape& run) {
  return run.sequences * run.heads * round_up(run.queries.value_or(run.length), 64) *
         round_up(run.length, kTile);
}

bool run_fits(const AttentionShape& run, GradientOrder order, Bytes limit) {
  if (order == GradientOrder::fixed && kept_scores(run) > kMostScores) return false;
  return attention_backward_run_bound(run, order) <= limit;
}

}  // namespace

Bytes attention_forward_workspace_bound(const AttentionShape& shape) {
  (void)shape;  // The fused kernel keeps everything on chip.
  return kFixedScratch;
}

Bytes attention_backward_run_bound(const AttentionShape& shape, GradientOrder order) {
  const std::int64_t heads = shape.sequences * shape.heads;
  const std::int64_t queries = heads * shape.queries.value_or(shape.length);
  std::int64_t bytes = 4 * queries;  // fp32: the sum over d_out * out.
  if (order == GradientOrder::fixed) {
    // The gradient of the scores in bf16, from which the gradient of the queries is a product in a
    // fixed order.
    bytes += 2 * kept_scores(shape);
  } else {
    // The gradient of the queries in fp32; the engines for compute capability 8.0 keep it twice.
    bytes += 8 * queries * shape.head_dim;
  }
  if (shape.heads != shape.kv_heads) {
    // The gradients of keys and values for each head of queries, before a group is added up.
    bytes += 4 * heads * shape.length * shape.head_dim;
  }
  return Bytes(bytes) + kFixedScratch;
}

namespace {

/// The blocks of queries of one head: as few as `limit` allows, and as equal as tiles allow.
AttentionShape query_block_part(AttentionShape head, GradientOrder order, Bytes limit) {
  const std::int64_t length = head.length;
  const std::int64_t tiles = (length + kTile - 1) / kTile;
  for (std::int64_t blocks = 2; blocks <= tiles; ++blocks) {
    const std::int64_t queries = (tiles + blocks - 1) / blocks * kTile;
    head.queries = queries;
    if (head.window) head.length = std::min(length, queries + round_up(*head.window, kTile));
    if (run_fits(head, order, limit)) return head;
  }
  throw BadRequest("attention: the backward pass of " + std::to_string(kTile) +
                   " queries of one head at length " + std::to_string(length) + " needs " +
                   std::to_string(attention_backward_run_bound(head, order).count()) +
                   " bytes of scratch, more than the limit of " + std::to_string(limit.count()) +
                   ": shorten the sequences (seq_len)");
}

}  // namespace

AttentionShape attention_backward_part(const AttentionShape& shape, GradientOrder order,
                                       Bytes limit) {
  AttentionShape part = shape;
  for (std::int64_t sequences = shape.sequences; sequences >= 1; --sequences) {
    if (shape.sequences % sequences != 0) continue;
    part.sequences = sequences;
    if (run_fits(part, order, limit)) return part;
  }
  for (std::int64_t groups = shape.kv_heads; groups >= 1; --groups) {
    if (shape.kv_heads % groups != 0) continue;
    part.kv_heads = groups;
    part.heads = shape.heads / shape.kv_heads * groups;
    if (run_fits(part, order, limit)) return part;
  }
  part.heads = 1;
  if (run_fits(part, order, limit)) return part;
  return query_block_part(part, order, limit);
}

Bytes attention_run_limit(const AttentionShape& shape, GradientOrder order,
                          const AttentionLimits& limits) {
  if (limits.run) return *limits.run;
  AttentionShape head = shape;
  head.sequences = head.heads = head.kv_heads = 1;
  head.queries = std::min(shape.length, kUsualQueries);
  if (head.window) {
    head.length = std::min(shape.length, *head.queries + round_up(*head.window, kTile));
  }
  return std::max(kUsualRun, attention_backward_run_bound(head, order));
}

bool shares_keys_between_runs(const AttentionShape& shape, const AttentionShape& part) {
  return part.heads * shape.kv_heads < shape.heads * part.kv_heads || part.queries.has_value();
}

std::vector<AttentionBlock> attention_blocks(const AttentionShape& shape,
                                             const AttentionShape& part) {
  const std::int64_t step = part.queries.value_or(shape.length);
  std::vector<AttentionBlock> blocks;
  for (std::int64_t first = 0; first < shape.length; first += step) {
    const std::int64_t end = std::min(shape.length, first + step);
    std::int64_t first_key = 0;
    if (part.queries && shape.window) {
      first_key = std::max(std::int64_t{0}, first - *shape.window + 1) / kTile * kTile;
    }
    blocks.push_back({.first_query = first,
                      .queries = end - first,
                      .first_key = first_key,
                      .keys = end - first_key});
  }
  return blocks;
}

Bytes attention_backward_sums(const AttentionShape& shape, const AttentionShape& part) {
  if (!shares_keys_between_runs(shape, part)) return Bytes(0);
  constexpr std::int64_t kArrays = 4;  // Keys and values, of one run and summed.
  return Bytes(kArrays * 4 * round_up(shape.length * shape.head_dim, 64));
}

namespace {

/// Number of keys that runs of one head, `part`, read, summed over all runs of `shape`.
std::int64_t keys_of_runs(const AttentionShape& shape, const AttentionShape& part) {
  std::int64_t keys = 0;
  for (const AttentionBlock& block : attention_blocks(shape, part)) keys += block.keys;
  return shape.sequences * shape.heads * keys;
}

/// Number of keys that runs which share keys read, summed over all runs; 0 where every run covers
/// whole groups.
std::int64_t shared_keys(const AttentionShape& shape, GradientOrder order,
                         const AttentionLimits& limits) {
  const AttentionShape part =
      attention_backward_part(shape, order, attention_run_limit(shape, order, limits));
  return shares_keys_between_runs(shape, part) ? keys_of_runs(shape, part) : 0;
}

}  // namespace

Bytes attention_sum_traffic(const AttentionShape& shape, GradientOrder order,
                            const AttentionLimits& limits) {
  // For keys and for values, a run's bf16 gradients are read, and the fp32 sum is read and written:
  // 2 + 4 + 4.
  constexpr std::int64_t kBytes = 20;
  return Bytes(kBytes * shape.head_dim * shared_keys(shape, order, limits));
}

std::int64_t attention_keys_of_narrow_runs(const AttentionShape& shape, GradientOrder order,
                                           const AttentionLimits& limits) {
  if (order != GradientOrder::fixed) return 0;
  const AttentionShape part =
      attention_backward_part(shape, order, attention_run_limit(shape, order, limits));
  const bool cut = part.sequences < shape.sequences || part.heads < shape.heads || part.queries;
  return cut && part.sequences == 1 && part.heads == 1 ? keys_of_runs(shape, part) : 0;
}

std::int64_t attention_runs_in_flight(const AttentionShape& shape, const AttentionShape& part,
                                      const AttentionLimits& limits) {
  const std::int64_t parts = shape.sequences / part.sequences * (shape.kv_heads / part.kv_heads);
  return std::min(parts, limits.in_flight);
}

Bytes attention_backward_workspace_bound(const AttentionShape& shape, GradientOrder order,
                                         const AttentionLimits& limits) {
  const AttentionShape part =
      attention_backward_part(shape, order, attention_run_limit(shape, order, limits));
  const Bytes run =
      attention_backward_run_bound(part, order) + attention_backward_sums(shape, part);
  return run * attention_runs_in_flight(shape, part, limits);
}

Bytes attention_workspace_bound(const AttentionShape& shape, GradientOrder order,
                                const AttentionLimits& limits) {
  return std::max(attention_forward_workspace_bound(shape),
                  attention_backward_workspace_bound(shape, order, limits));
}

std::int64_t attention_longest(const AttentionShape& shape, AttentionRunKind kind,
                               GradientOrder order, Bytes limit) {
  AttentionShape run = shape;
  run.sequences = 1;
  run.queries = std::nullopt;
  run.kv_heads = 1;
  run.heads = kind == AttentionRunKind::one_head ? 1 : shape.heads / shape.kv_heads;
  const auto fits = [&](std::int64_t tiles) {
    run.length = tiles * kTile;
    return run_fits(run, order, limit);
  };
  std::int64_t most = 0;
  for (std::int64_t step = std::int64_t{1} << 20; step > 0; step /= 2) {
    if (fits(most + step)) most += step;
  }
  return most * kTile;
}

}  // namespace sluice::planner
