// Sizes of causal grouped-query attention on a CUDA device, the runs that its backward pass is cut
// into, and the scratch memory it needs. Arithmetic alone, without GPU or library;
// docs/design/attention.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

/// Sizes of causal grouped-query attention on a CUDA device. Query i of a sequence sees keys max(0,
/// i - window + 1) to i of the same sequence. A token's row holds its query heads, then key heads,
/// then value heads, each of `head_dim` bf16 elements.
struct AttentionShape {
  std::int64_t sequences = 0;
  std::int64_t length = 0;  ///< Number of tokens of each sequence.
  std::int64_t heads = 0;   ///< Number of heads of the queries and of the result.
  /// Number of heads of keys and of values, which divides `heads`: a group of heads / kv_heads
  /// query heads shares one head of keys and values.
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  /// Number of elements from the start of one token's queries (keys, values) to the next token's.
  std::int64_t qkv_row = 0;
  /// Number of elements from the start of one token's result to the next token's.
  std::int64_t out_row = 0;
  /// Number of keys visible to a query, itself included; none for all before it.
  std::optional<std::int64_t> window = std::nullopt;
  /// Number of queries, which are those at the last positions of the sequence; none for all
  /// positions. Set only for a run (one call) of the backward pass over one head of one sequence.
  std::optional<std::int64_t> queries = std::nullopt;
  /// Whether sequences hold several documents, so that a query sees no key before its document's
  /// first token. Only without a window.
  bool documents = false;
  std::optional<double> scale = std::nullopt;    ///< Factor of scores; none for head_dim^-1/2.
  std::optional<double> softcap = std::nullopt;  ///< Bound c of scores: c tanh(score / c).
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// How the backward pass adds up the gradients of the queries.
enum class GradientOrder {
  fixed,  ///< In a fixed order, so that bits repeat; takes scratch in proportion to length squared.
  any,    ///< In any order, by atomic additions, so that bits differ from run to run.
};

/// Limits by which the backward pass is cut into runs: calls that each cover some of the sequences,
/// heads or queries. The default is part of what fixes a job's bits: where one group of heads needs
/// more than `run`, its gradients of keys and values are sums over runs.
struct AttentionLimits {
  /// The most scratch that one run may use. Without a value: 1 GiB, or what 12288 queries of one
  /// head need where that is more, so that the matrix product that yields the queries' gradients
  /// fills most of a GPU.
  std::optional<Bytes> run = std::nullopt;
  /// Number of runs that may use the GPU at one time, each with its own scratch: 1 or 2. Results do
  /// not depend on it.
  std::int64_t in_flight = 2;
};

/// Upper bound of the bytes of scratch of the forward pass, which do not depend on the sequence's
/// length.
[[nodiscard]] Bytes attention_forward_workspace_bound(const AttentionShape& shape);
/// Upper bound of the scratch of the backward pass over all of `shape` in one run (one call). With
/// cuDNN 9.14 and 9.19 it is exact but for the constant: for GradientOrder::fixed, 4 b h q + 2 b h
/// q' s" + [4 b h s d] bytes, where b is sequences, h heads, s length, d head_dim, q the number of
/// queries (s if all), q' is q rounded up to 64, s" is s rounded up to 128, and the term in
/// brackets is there only where heads share keys; for GradientOrder::any, 4 b h q + 4 b h q d + [4
/// b h s d] on compute capability 9.0 and another 4 b h q d on 8.0.
[[nodiscard]] Bytes attention_backward_run_bound(const AttentionShape& shape, GradientOrder order);

/// The most scratch that one run of the backward pass may use: `limits.run`, or its default where
/// that is not set.
[[nodiscard]] Bytes attention_run_limit(const AttentionShape& shape, GradientOrder order,
                                        const AttentionLimits& limits = {});

/// The largest part of `shape` whose backward pass needs at most `limit` bytes of scratch in one
/// run: whole sequences while they fit, then whole groups of heads of one sequence. No sum crosses
/// groups, so down to here the results do not depend on the limit. Below that, one query head, and
/// then blocks of `queries` of it, all of the same size but the last, whose gradients of keys and
/// values are added up in fp32. The part's `length` is the largest number of keys of a block.
/// Throws BadRequest if 128 queries of one head need more than `limit`.
[[nodiscard]] AttentionShape attention_backward_part(const AttentionShape& shape,
                                                     GradientOrder order, Bytes limit);
/// Whether `part` (attention_backward_part) is smaller than a group of heads of `shape`, so that
/// several runs add to the same gradients of keys and values.
[[nodiscard]] bool shares_keys_between_runs(const AttentionShape& shape,
                                            const AttentionShape& part);

/// What one run (call) of the backward pass covers of a head: queries [first_query, first_query +
/// queries) and the keys that they see, [first_key, first_key + keys). Both ranges end at the same
/// position.
struct AttentionBlock {
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
  friend bool operator==(const AttentionBlock&, const AttentionBlock&) = default;
};

/// Blocks of queries into which the backward pass cuts each head, in the order in which they run:
/// one block of all queries, or several of `part.queries` (attention_backward_part).
[[nodiscard]] std::vector<AttentionBlock> attention_blocks(const AttentionShape& shape,
                                                           const AttentionShape& part);

/// Scratch in which the gradients of one head's keys and values are added up over runs: two fp32
/// arrays [2, length, head_dim], one run's gradients and their sum. 0 where every run covers whole
/// groups of heads, so that there is nothing to add up.
[[nodiscard]] Bytes attention_backward_sums(const AttentionShape& shape,
                                            const AttentionShape& part);
/// Bytes of device memory that the backward pass reads and writes to add up gradients of keys and
/// values over runs; 0 where no runs share keys.
[[nodiscard]] Bytes attention_sum_traffic(const AttentionShape& shape,
                                          GradientOrder order = GradientOrder::fixed,
                                          const AttentionLimits& limits = {});
/// Number of keys that runs of the backward pass read, summed over runs, where `shape` is cut into
/// runs of one head or of a block of its queries; else 0, and 0 for GradientOrder::any. In a fixed
/// order the queries' gradients are a separate product whose tiles of 128 queries go through all
/// keys. A run of one head has too few tiles to fill a GPU, so its time is proportional to its
/// keys, however few its queries are.
[[nodiscard]] std::int64_t attention_keys_of_narrow_runs(const AttentionShape& shape,
                                                         GradientOrder order = GradientOrder::fixed,
                                                         const AttentionLimits& limits = {});
/// How many runs of the backward kernel, each over `part` of `shape`, may use the GPU at the same
/// time: at most `limits.in_flight`. Runs that add to the same gradients follow each other, so such
/// a group counts as one.
[[nodiscard]] std::int64_t attention_runs_in_flight(const AttentionShape& shape,
                                                    const AttentionShape& part,
                                                    const AttentionLimits& limits);
/// Upper bound of the scratch of the whole backward pass, with as many runs at a time as `limits`
/// allow.
[[nodiscard]] Bytes attention_backward_workspace_bound(const AttentionShape& shape,
                                                       GradientOrder order,
                                                       const AttentionLimits& limits = {});
/// Upper bound of the scratch of the forward pass and of the backward pass, whichever is larger.
[[nodiscard]] Bytes attention_workspace_bound(const AttentionShape& shape,
                                              GradientOrder order = GradientOrder::fixed,
                                              const AttentionLimits& limits = {});

/// What one run of the backward pass covers: one query head, or the group of query heads that share
/// a head of keys and values.
enum class AttentionRunKind { one_head, whole_group };
/// The longest sequence, a multiple of 128 tokens, whose backward pass needs at most `limit` bytes
/// of scratch in one run over all queries of a head or of a group of heads (`kind`).
[[nodiscard]] std::int64_t attention_longest(const AttentionShape& shape, AttentionRunKind kind,
                                             GradientOrder order, Bytes limit);

}  // namespace sluice::planner
