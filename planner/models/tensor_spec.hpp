// One tensor of a unit: its part in the computation, its place in memory and in a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::planner {

/// What a tensor is in the computation of its unit.
enum class TensorRole {
  embedding,
  norm_before_attention,
  q,
  k,
  v,
  attention_gate,  ///< Projection whose sigmoid multiplies attention's output.
  q_bias,
  k_bias,
  v_bias,
  q_norm,
  k_norm,
  sinks,
  q_latent,  ///< Projection of which latent attention makes queries.
  q_latent_bias,
  q_latent_norm,
  kv_latent,  ///< Projection of which it makes keys' plain elements, and values.
  kv_latent_bias,
  kv_latent_norm,
  shared_key,  ///< Projection that is the turning part of the keys of all heads.
  shared_key_bias,
  layer_factor,     ///< Factor of a layer's output, a buffer.
  delta_gate,       ///< Projection whose silu multiplies a gated delta net's output.
  delta_beta,       ///< Projection of a token to learning rates, one for every value head.
  delta_decay,      ///< Projection of a token to decays, one for every value head.
  delta_conv,       ///< Weights of the convolution over q, k and v, [channels, taps].
  delta_log_rate,   ///< Logarithm of each value head's rate of decay.
  delta_time_bias,  ///< Bias of each value head's decay.
  delta_norm,       ///< Weight of the norm of each value head's output.
  o,
  o_bias,
  norm_after_attention,
  norm_before_mlp,
  gate,
  up,
  gate_bias,
  up_bias,
  down,
  down_bias,
  router,
  router_bias,
  correction_bias,
  shared_gate,
  shared_up,
  shared_down,
  shared_switch,  ///< One row whose sigmoid multiplies the shared expert's output.
  expert_gate,
  expert_up,
  expert_gate_bias,
  expert_up_bias,
  expert_down,
  expert_down_bias,
  norm_after_mlp,
  final_norm,
  head,
};

/// Whether a tensor is the weight of an RMS norm.
[[nodiscard]] constexpr bool is_norm(TensorRole role) {
  switch (role) {
    case TensorRole::norm_before_attention:
    case TensorRole::norm_after_attention:
    case TensorRole::norm_before_mlp:
    case TensorRole::norm_after_mlp:
    case TensorRole::q_norm:
    case TensorRole::k_norm:
    case TensorRole::delta_norm:
    case TensorRole::q_latent_norm:
    case TensorRole::kv_latent_norm:
    case TensorRole::final_norm:
      return true;
    default:
      return false;
  }
}

/// Where a tensor's rows lie in a checkpoint that has it otherwise than as a tensor of its own:
/// row r of the tensor is row first + (r / block) * step + r % block of the matrix called `name`.
struct DiskPlace {
  std::string name;  ///< The checkpoint's tensor.
  std::int64_t first = 0;
  std::int64_t block = 1;
  std::int64_t step = 1;
  /// Number of this matrix in a stack of them, whose first dimension counts matrices; none for a
  /// tensor of two dimensions or one.
  std::optional<std::int64_t> stacked{};
  /// Whether the checkpoint has the matrix as [columns, rows].
  bool transposed = false;
  friend bool operator==(const DiskPlace&, const DiskPlace&) = default;
};

/// Order of a head's rows where a checkpoint has another. Of each head's `head` rows the first
/// `rotated` turn; in the checkpoint they lie behind `first` others. Where the rows of a pair lie
/// side by side there (RotaryTable::interleaved), row i < rotated / 2 is the checkpoint's row
/// first + 2i, and row i + rotated / 2 its row first + 2i + 1.
struct PairedRows {
  std::int64_t head, rotated;
  std::int64_t first = 0;
  bool adjacent = true;
  /// Row of the checkpoint's tensor that is row `row`.
  [[nodiscard]] constexpr std::int64_t in_checkpoint(std::int64_t row) const {
    const std::int64_t place = row % head, begin = row - place;
    if (place >= rotated) {
      const std::int64_t still = place - rotated;
      return begin + still + (still < first ? 0 : rotated);
    }
    const std::int64_t half = rotated / 2;
    return begin + first + (adjacent ? 2 * (place % half) + place / half : place);
  }
  friend bool operator==(const PairedRows&, const PairedRows&) = default;
};

/// One tensor in its unit's flat parameter vector, row-major [rows, cols]; a vector has one row.
struct TensorSpec {
  std::string name;  ///< Hugging Face name, such as "model.layers.3.mlp.up_proj.weight".
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t
      offset;  ///< Elements from the start of the unit's vector; a multiple of kTensorAlign.
  /// Whether weight decay applies: true for matrices, sinks and rates of decay, false for norms
  /// and biases.
  bool decays;
  TensorRole role = TensorRole::embedding;
  /// Place in a larger tensor of the checkpoint; none where the checkpoint has a tensor `name`.
  std::optional<DiskPlace> on_disk{};
  /// Order of rows in the checkpoint; none where it is that of memory. Applies to elements of a
  /// vector likewise, and before `on_disk`.
  std::optional<PairedRows> paired{};
  /// Whether a checkpoint has the vector as a matrix of one row.
  bool is_row = false;
  /// Whether training leaves the tensor as it is: it has no gradient.
  bool frozen = false;
  [[nodiscard]] std::int64_t size() const { return rows * cols; }
};

/// Alignment of a tensor in its unit's vector, in elements: 64 bytes of bf16.
inline constexpr std::int64_t kTensorAlign = 32;

}  // namespace sluice::planner
