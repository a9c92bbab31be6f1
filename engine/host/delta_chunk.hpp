// One chunk of the gated delta rule for one head, forward and backward
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine {

/// A chunk's tensors for one head, fp32, with n tokens, K = key_dim and V = value_dim. They lie in
/// `memory`, planner::delta_chunk_floats, which must outlive the chunk.
class DeltaChunk {
 public:
  DeltaChunk(std::int64_t key_dim, std::int64_t value_dim, float* memory);

  std::int64_t tokens = 0;   ///< Length n of the chunk, at most kDeltaChunk.
  std::span<float> q, k;     ///< Normalised, q divided by key_dim^1/2, [n, K].
  std::span<float> v;        ///< [n, V].
  std::span<float> g, beta;  ///< [n].

  /// Computes o [n, V] and moves `state` [K, V] from before the chunk to after it.
  void forward(float* state, float* o);
  /// Moves `state` as `forward` does, without outputs.
  void advance(float* state);

  std::span<float> d_q, d_k, d_v, d_g, d_beta;  ///< What `backward` computes, as q .. beta.
  /// Computes d_q .. d_beta from d_o [n, V], the state before the chunk, and d_state [K, V], which
  /// it moves from the gradient of the state after the chunk to that of the state before it.
  void backward(const float* state, const float* d_o, float* d_state);

 private:
  void prepare(const float* state);
  void move_state(float* state);
  /// Gradients through attention within the chunk and reads of the state; fills d_new_.
  void backward_outputs(const float* state, const float* d_o, float* d_state);
  /// Gradients through the triangular system and its right side.
  void backward_system(const float* state, float* d_state);
  /// Gradients through the decays between two tokens of the chunk.
  void backward_pairs();

  std::int64_t key_dim_, value_dim_;
  std::span<float> sum_;                 ///< gamma: g summed from the chunk's first token on, [n].
  std::span<float> from_start_;          ///< E: exp(gamma), [n].
  std::span<float> to_end_;              ///< L: exp(gamma of the last token - gamma), [n].
  std::span<float> pair_;                ///< D: exp(gamma_i - gamma_j) where j <= i, else 0.
  std::span<float> kk_, qk_;             ///< K K^T and Q K^T, [n, n].
  std::span<float> system_, attention_;  ///< A (strictly lower) and P, [n, n].
  std::span<float> read_;                ///< K S, [n, V].
  std::span<float> new_;                 ///< N: what each token adds, [n, V].
  std::span<float> scaled_;              ///< Scratch, [n, max(K, V)].
  std::span<float> d_system_, d_attention_, d_new_, d_sum_;
};

}  // namespace sluice::engine
