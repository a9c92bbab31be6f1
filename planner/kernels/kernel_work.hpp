// Work of matrix products and of attention.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "sim/units.hpp"

namespace sluice::planner {

/// Work of `count` matrix products, each of an [m, k] by a [k, n] matrix.
struct Gemm {
  /// Dimension whose size depends on the router, in products of experts (one product for each of
  /// `count` experts): the rows m of the forward product (rows), the rows m of the input's gradient
  /// (rows_back), or the inner dimension k of the weights' gradient (terms).
  enum class Dealt { nothing, rows, rows_back, terms };
  std::int64_t m, n, k;
  std::int64_t count = 1;
  Dealt dealt = Dealt::nothing;
  /// Time of the product on a CUDA device, over that of one whose operands' rows begin at multiples
  /// of 128 bytes (row_slowing); at least 1.
  double slowing = 1;
  /// Bytes that an element of the result is read and written with: 2 for bf16 that is written, 8
  /// for a gradient that is added to fp32.
  std::int64_t result_bytes = 2;
  /// Share, 0 to 1, of the products that have FP8 operands.
  double fp8 = 0;
  bool tensorwise = false;  ///< Whether such an operand has one scale.
  /// Whether a CUDA device computes them as products of the chunks of a gated delta net, by kernels
  /// of our own (chunk_product_time).
  bool chunks = false;
};

/// Gemm::slowing of a product with rows of `width` elements of bf16. Rows that do not begin at
/// multiples of 16 bytes keep a library from its fast kernels: 1.8, from one published run, a GPT-2
/// of 124 M parameters on an A100, which trains about 25 % faster with 50,304 tokens than with
/// 50,257 (nanoGPT, February 2023; x.com/karpathy/status/1621578354024677377) and whose head has 31
/// % of the FLOPs: 1.25 = 0.69 + 0.31 s. Smaller gains were reported on other cards (4 % on an RTX
/// 3090). Rows at multiples of 16 but not of 128 bytes: 1.02, an estimate (NVIDIA, Matrix
/// Multiplication Background: such sizes are a little slower).
[[nodiscard]] constexpr double row_slowing(std::int64_t width) {
  return width % 8 != 0 ? 1.8 : width % 64 != 0 ? 1.02 : 1.0;
}

/// Libraries whose attention kernels run. Backward passes of FlashAttention add up in any order,
/// those of the engine's cuDNN in a fixed one.
enum class AttentionLibrary {
  cudnn,
  flash,   ///< The newest FlashAttention of the device: 3 on Hopper, 2 elsewhere.
  flash2,  ///< FlashAttention-2 on every device.
};
inline constexpr std::initializer_list<AttentionLibrary> kAttentionLibraries = {
    AttentionLibrary::cudnn, AttentionLibrary::flash, AttentionLibrary::flash2};
const char* to_string(AttentionLibrary library);

/// Causal attention over `sequences` sequences of `length` tokens each; without `backward` the
/// forward pass.
struct AttentionWork {
  std::int64_t sequences = 0, length = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool backward = false;
  /// Number of keys before the first query, from earlier chunks of the sequences.
  std::int64_t prior = 0;
  /// Number of keys visible to a query, itself included; none for all before it.
  std::optional<std::int64_t> window = std::nullopt;
  /// Bytes that a CUDA device reads and writes to add up gradients of keys and values over runs of
  /// queries (planner/scratch/attention_shape.hpp).
  Bytes sums{0};
  /// Number of keys, summed over runs of queries, that the backward pass reads in runs of one head
  /// (attention_keys_of_narrow_runs); they cost time of their own (narrow_run_time).
  std::int64_t narrow_keys = 0;
  AttentionLibrary library = AttentionLibrary::cudnn;
  /// Whether a CUDA device computes it by products of tiles around scores that lie in memory
  /// (planner/scratch/tiled_attention.hpp).
  bool tiled = false;
};

/// FLOPs of the products' multiplications and additions, and of attention by the equations in
/// planner/kernels/kernel_work.cpp.
[[nodiscard]] Flops flops(const Gemm& gemm);
[[nodiscard]] Flops flops(const AttentionWork& attention);

/// Number of keys that the last query sees, itself included.
[[nodiscard]] std::int64_t keys_seen(const AttentionWork& attention);

}  // namespace sluice::planner
