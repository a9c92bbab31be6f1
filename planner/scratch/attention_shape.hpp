// The sizes of causal grouped-query attention on a CUDA device, the parts its backward pass runs
// in, and the scratch memory it needs, by arithmetic alone: no GPU, no library;
// docs/design/attention.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

/// Query i of a sequence sees keys max(0, i - window + 1) to i of the same sequence. A token's row
/// holds its heads of query, then of key, then of value, each of `head_dim` elements of bf16.
struct AttentionShape {
  std::int64_t sequences = 0;
  std::int64_t length = 0;    ///< Tokens of a sequence.
  std::int64_t heads = 0;     ///< Of queries and of the result.
  std::int64_t kv_heads = 0;  ///< Divides `heads`; a group of heads / kv_heads shares one.
  std::int64_t head_dim = 0;
  std::int64_t qkv_row =
      0;  ///< Elements from a token's queries (keys, values) to the next token's.
  std::int64_t out_row = 0;                           ///< The same, of the result.
  std::optional<std::int64_t> window = std::nullopt;  ///< Keys visible to a query, itself included.
  /// The queries are the last so many positions; all if none. Of a run of the backward pass only,
  /// with one sequence and one head.
  std::optional<std::int64_t> queries = std::nullopt;
  /// A sequence holds several documents: a query sees no key before its document's first token.
  /// Only without a window.
  bool documents = false;
};

/// How the backward pass adds up the gradient of the queries.
enum class GradientOrder {
  fixed,  ///< Bits repeat; takes scratch in proportion to length squared.
  any,    ///< By atomic additions: bits differ from run to run.
};

/// How the backward pass is cut. The default is part of what fixes a job's bits: where one group of
/// heads needs more than `run`, its gradients of keys and values are sums over runs.
struct AttentionLimits {
  /// Scratch of one run; none: 1 GiB, or what 12288 queries of one head need where that is more, so
  /// that the product of the queries' gradients has work for most of a GPU.
  std::optional<Bytes> run = std::nullopt;
  /// Runs that may use the GPU at one time, each with its scratch: 1 or 2. Changes no bits.
  std::int64_t in_flight = 2;
};

/// At least what the forward pass takes, at any length.
[[nodiscard]] Bytes attention_forward_workspace_bound(const AttentionShape& shape);
/// At least what one run of the backward pass over all of `shape` takes. With cuDNN 9.14 and 9.19
/// it takes, exactly but for the constant: fixed, 4 b h q + 2 b h q' s" + [4 b h s d] bytes, where
/// q are the queries (s if all), q' is q rounded up to 64, s" is s rounded up to 128 and [] is
/// there only where heads share keys; any, 4 b h q + 4 b h q d + [4 b h s d] on compute
/// capability 9.0 and another 4 b h q d on 8.0.
[[nodiscard]] Bytes attention_backward_run_bound(const AttentionShape& shape, GradientOrder order);

/// `limits.run`, or what it is where it is left out.
[[nodiscard]] Bytes attention_run_limit(const AttentionShape& shape, GradientOrder order,
                                        const AttentionLimits& limits = {});

/// The largest part of `shape` whose backward pass needs no more than `limit` in one run: whole
/// sequences while they fit, then whole groups of heads of one sequence: as no sum crosses groups,
/// results do not depend on the limit so far. Then one head of queries, and then `queries` of it,
/// the same in every block but the last: their gradients of keys and values are added up in fp32.
/// The part's `length` is the most keys that a block has. Throws BadRequest if 128 queries of one
/// head need more than `limit`.
[[nodiscard]] AttentionShape attention_backward_part(const AttentionShape& shape,
                                                     GradientOrder order, Bytes limit);
/// Whether `part` is less than a group of heads of `shape`.
[[nodiscard]] bool shares_keys_between_runs(const AttentionShape& shape,
                                            const AttentionShape& part);

/// Queries [first_query, first_query + queries) against all keys that they see, in order:
/// [first_key, first_key + keys). Both ranges end at the same position.
struct AttentionBlock {
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
  friend bool operator==(const AttentionBlock&, const AttentionBlock&) = default;
};

/// The blocks of each head, in the order in which they run: one of all queries, unless
/// `part.queries` says otherwise.
[[nodiscard]] std::vector<AttentionBlock> attention_blocks(const AttentionShape& shape,
                                                           const AttentionShape& part);

/// fp32 gradients of the keys and values of one head, [2, length, head_dim]: those of one run, and
/// their sum over runs. Nothing where every run covers whole groups.
[[nodiscard]] Bytes attention_backward_sums(const AttentionShape& shape,
                                            const AttentionShape& part);
/// What runs that share keys read and write, beyond their own, to add up these gradients.
[[nodiscard]] Bytes attention_sum_traffic(const AttentionShape& shape,
                                          GradientOrder order = GradientOrder::fixed,
                                          const AttentionLimits& limits = {});
/// Keys that runs of one head read, over all runs. In a fixed order the queries' gradients are a
/// product of its own, whose tiles of 128 queries each go through all keys: a run has too few of
/// them to fill a GPU, so that it takes a time for each key, however few queries it has.
[[nodiscard]] std::int64_t attention_keys_of_narrow_runs(const AttentionShape& shape,
                                                         GradientOrder order = GradientOrder::fixed,
                                                         const AttentionLimits& limits = {});
/// How many runs of `part`, or groups of runs that add to the same gradients, use the GPU at a
/// time.
[[nodiscard]] std::int64_t attention_runs_in_flight(const AttentionShape& shape,
                                                    const AttentionShape& part,
                                                    const AttentionLimits& limits);
/// At least what the backward pass takes.
[[nodiscard]] Bytes attention_backward_workspace_bound(const AttentionShape& shape,
                                                       GradientOrder order,
                                                       const AttentionLimits& limits = {});
/// At least what either pass takes.
[[nodiscard]] Bytes attention_workspace_bound(const AttentionShape& shape,
                                              GradientOrder order = GradientOrder::fixed,
                                              const AttentionLimits& limits = {});

enum class AttentionRunKind { one_head, whole_group };
/// The longest sequence, a multiple of 128, whose backward pass needs no more than `limit` in runs
/// of `kind` over all queries.
[[nodiscard]] std::int64_t attention_longest(const AttentionShape& shape, AttentionRunKind kind,
                                             GradientOrder order, Bytes limit);

}  // namespace sluice::planner
