// One chunk of the gated delta rule for one head, forward and backward
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine {

/// A chunk's tensors for one head, fp32, with n tokens, K = key_dim and V = value_dim.
class DeltaChunk {
 public:
  DeltaChunk(std::int64_t key_dim, std::int64_t value_dim);

  std::int64_t tokens = 0;     ///< Length n of the chunk, at most kDeltaChunk.
  std::vector<float> q, k;     ///< Normalised, q divided by key_dim^1/2, [n, K].
  std::vector<float> v;        ///< [n, V].
  std::vector<float> g, beta;  ///< [n].

  /// Computes o [n, V] and moves `state` [K, V] from before the chunk to after it.
  void forward(float* state, float* o);

  std::vector<float> d_q, d_k, d_v, d_g, d_beta;  ///< What `backward` computes, as q .. beta.
  /// Computes d_q .. d_beta from d_o [n, V], the state before the chunk, and d_state [K, V], which
  /// it moves from the gradient of the state after the chunk to that of the state before it.
  void backward(const float* state, const float* d_o, float* d_state);

 private:
  void prepare(const float* state);
  /// Gradients through attention within the chunk and reads of the state; fills d_new_.
  void backward_outputs(const float* state, const float* d_o, float* d_state);
  /// Gradients through the triangular system and its right side.
  void backward_system(const float* state, float* d_state);
  /// Gradients through the decays between two tokens of the chunk.
  void backward_pairs();

  std::int64_t key_dim_, value_dim_;
  std::vector<float> sum_;         ///< gamma: g summed from the chunk's first token on, [n].
  std::vector<float> from_start_;  ///< E: exp(gamma), [n].
  std::vector<float> to_end_;      ///< L: exp(gamma of the last token - gamma), [n].
  std::vector<float> pair_;        ///< D: exp(gamma_i - gamma_j) where j <= i, else 0.
  std::vector<float> kk_, qk_;     ///< K K^T and Q K^T, [n, n].
  std::vector<float> system_, attention_;  ///< A (strictly lower) and P, [n, n].
  std::vector<float> read_;                ///< K S, [n, V].
  std::vector<float> new_;                 ///< N: what each token adds, [n, V].
  std::vector<float> scaled_;              ///< Scratch, [n, max(K, V)].
  std::vector<float> d_system_, d_attention_, d_new_, d_sum_;
};

}  // namespace sluice::engine
