#include "engine/host/delta_chunk.hpp"

#include <algorithm>
#include <cmath>

#include "engine/host/delta_net.hpp"
#include "engine/host/elementwise.hpp"
#include "engine/host/gemm.hpp"

namespace sluice::engine {
namespace {

MatrixView view(const float* data, std::int64_t stride) {
  return {const_cast<float*>(data), stride};
}

/// out[i, c] = factors[i] * x[i, c].
void scale_rows(const float* factors, const float* x, std::int64_t rows, std::int64_t cols,
                float* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < cols; ++c) out[i * cols + c] = factors[i] * x[i * cols + c];
  }
}

/// y[c] += factor * x[c].
void add_scaled(float factor, const float* x, std::int64_t n, float* y) {
  for (std::int64_t c = 0; c < n; ++c) y[c] += factor * x[c];
}

float dot(const float* a, const float* b, std::int64_t n) {
  return elementwise(planner::ComputeType::fp32).dot(a, b, n);
}

/// x := (I + lower)^-1 x by forward substitution: x_i -= sum over j < i of lower_ij x_j.
void solve(const float* lower, std::int64_t n, std::int64_t cols, float* x) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      add_scaled(-lower[i * n + j], x + j * cols, cols, x + i * cols);
    }
  }
}

/// x := (I + lower)^-T x by backward substitution: x_j -= sum over i > j of lower_ij x_i.
void solve_transposed(const float* lower, std::int64_t n, std::int64_t cols, float* x) {
  for (std::int64_t j = n - 1; j >= 0; --j) {
    for (std::int64_t i = j + 1; i < n; ++i) {
      add_scaled(-lower[i * n + j], x + i * cols, cols, x + j * cols);
    }
  }
}

}  // namespace

DeltaChunk::DeltaChunk(std::int64_t key_dim, std::int64_t value_dim, float* memory)
    : key_dim_(key_dim), value_dim_(value_dim) {
  const std::int64_t n = kDeltaChunk;
  float* next = memory;
  const auto take = [&next](std::int64_t count) {
    const std::span<float> taken(next, static_cast<std::size_t>(count));
    next += count;
    return taken;
  };
  for (auto* each : {&q, &k, &d_q, &d_k}) *each = take(n * key_dim);
  for (auto* each : {&v, &d_v, &read_, &new_, &d_new_}) *each = take(n * value_dim);
  for (auto* each : {&g, &beta, &d_g, &d_beta, &sum_, &from_start_, &to_end_, &d_sum_}) {
    *each = take(n);
  }
  for (auto* each : {&pair_, &kk_, &qk_, &system_, &attention_, &d_system_, &d_attention_}) {
    *each = take(n * n);
  }
  scaled_ = take(n * std::max(key_dim, value_dim));
}

void DeltaChunk::prepare(const float* state) {
  const std::int64_t n = tokens;
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum_[i] = sum += g[i];
  for (std::int64_t i = 0; i < n; ++i) {
    from_start_[i] = std::exp(sum_[i]);
    to_end_[i] = std::exp(sum_[n - 1] - sum_[i]);
  }
  product(n, n, key_dim_, Transpose::right, view(k.data(), key_dim_), view(k.data(), key_dim_),
          Into::overwrite, view(kk_.data(), n));
  product(n, n, key_dim_, Transpose::right, view(q.data(), key_dim_), view(k.data(), key_dim_),
          Into::overwrite, view(qk_.data(), n));
  // A_ij = beta_i (k_i k_j) D_ij below the diagonal; P_ij = (q_i k_j) D_ij on it, too.
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = i * n + j;
      pair_[at] = j <= i ? std::exp(sum_[i] - sum_[j]) : 0.0F;
      system_[at] = j < i ? beta[i] * kk_[at] * pair_[at] : 0.0F;
      attention_[at] = j <= i ? qk_[at] * pair_[at] : 0.0F;
    }
  }
  // (I + A) N = diag(beta) (V - diag(E) K S).
  product(n, value_dim_, key_dim_, Transpose::none, view(k.data(), key_dim_),
          view(state, value_dim_), Into::overwrite, view(read_.data(), value_dim_));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t c = 0; c < value_dim_; ++c) {
      const std::int64_t at = i * value_dim_ + c;
      new_[at] = beta[i] * (v[at] - from_start_[i] * read_[at]);
    }
  }
  solve(system_.data(), n, value_dim_, new_.data());
}

void DeltaChunk::forward(float* state, float* o) {
  prepare(state);
  const std::int64_t n = tokens;
  // O = diag(E) Q S + P N.
  scale_rows(from_start_.data(), q.data(), n, key_dim_, scaled_.data());
  product(n, value_dim_, key_dim_, Transpose::none, view(scaled_.data(), key_dim_),
          view(state, value_dim_), Into::overwrite, view(o, value_dim_));
  product(n, value_dim_, n, Transpose::none, view(attention_.data(), n),
          view(new_.data(), value_dim_), Into::accumulate, view(o, value_dim_));
  move_state(state);
}

void DeltaChunk::advance(float* state) {
  prepare(state);
  move_state(state);
}

// S := exp(gamma_n) S + (diag(L) K)^T N.
void DeltaChunk::move_state(float* state) {
  const std::int64_t n = tokens;
  for (std::int64_t i = 0; i < key_dim_ * value_dim_; ++i) state[i] *= from_start_[n - 1];
  scale_rows(to_end_.data(), k.data(), n, key_dim_, scaled_.data());
  product(key_dim_, value_dim_, n, Transpose::left, view(scaled_.data(), key_dim_),
          view(new_.data(), value_dim_), Into::accumulate, view(state, value_dim_));
}

void DeltaChunk::backward(const float* state, const float* d_o, float* d_state) {
  prepare(state);
  std::fill(d_sum_.begin(), d_sum_.end(), 0.0F);
  backward_outputs(state, d_o, d_state);
  backward_system(state, d_state);
  backward_pairs();
  // g_i is part of gamma_j for j >= i.
  float sum = 0;
  for (std::int64_t i = tokens - 1; i >= 0; --i) d_g[i] = sum += d_sum_[i];
}

void DeltaChunk::backward_outputs(const float* state, const float* d_o, float* d_state) {
  const std::int64_t n = tokens, last = n - 1;
  const auto keys = [&](std::span<float> x) { return view(x.data(), key_dim_); };
  const auto values = [&](std::span<float> x) { return view(x.data(), value_dim_); };
  // dN = P^T dO + diag(L) K dS'.
  product(n, value_dim_, key_dim_, Transpose::none, keys(k), view(d_state, value_dim_),
          Into::overwrite, values(d_new_));
  scale_rows(to_end_.data(), d_new_.data(), n, value_dim_, d_new_.data());
  product(n, value_dim_, n, Transpose::left, view(attention_.data(), n), view(d_o, value_dim_),
          Into::accumulate, values(d_new_));
  product(n, n, value_dim_, Transpose::right, view(d_o, value_dim_), values(new_), Into::overwrite,
          view(d_attention_.data(), n));
  // X = N dS'^T: dK = diag(L) X, and L_i's gradient is k_i X_i.
  product(n, key_dim_, value_dim_, Transpose::right, values(new_), view(d_state, value_dim_),
          Into::overwrite, keys(d_k));
  for (std::int64_t i = 0; i < n; ++i) {
    float* x = d_k.data() + i * key_dim_;
    const float d = dot(k.data() + i * key_dim_, x, key_dim_) * to_end_[i];
    d_sum_[last] += d;
    d_sum_[i] -= d;
    for (std::int64_t c = 0; c < key_dim_; ++c) x[c] *= to_end_[i];
  }
  // dQ = diag(E) dO S^T, and E_i's gradient is q_i (dO S^T)_i.
  product(n, key_dim_, value_dim_, Transpose::right, view(d_o, value_dim_), view(state, value_dim_),
          Into::overwrite, keys(d_q));
  scale_rows(from_start_.data(), d_q.data(), n, key_dim_, d_q.data());
  for (std::int64_t i = 0; i < n; ++i) {
    d_sum_[i] += dot(q.data() + i * key_dim_, d_q.data() + i * key_dim_, key_dim_);
  }
  // dS = exp(gamma_n) dS' + (diag(E) Q)^T dO.
  d_sum_[last] += from_start_[last] * dot(state, d_state, key_dim_ * value_dim_);
  for (std::int64_t i = 0; i < key_dim_ * value_dim_; ++i) d_state[i] *= from_start_[last];
  scale_rows(from_start_.data(), q.data(), n, key_dim_, scaled_.data());
  product(key_dim_, value_dim_, n, Transpose::left, keys(scaled_), view(d_o, value_dim_),
          Into::accumulate, view(d_state, value_dim_));
}

void DeltaChunk::backward_system(const float* state, float* d_state) {
  const std::int64_t n = tokens;
  // dR = (I + A)^-T dN and dA = -dR N^T, where R is the right side.
  solve_transposed(system_.data(), n, value_dim_, d_new_.data());
  product(n, n, value_dim_, Transpose::right, view(d_new_.data(), value_dim_),
          view(new_.data(), value_dim_), Into::overwrite, view(d_system_.data(), n));
  for (float& each : d_system_) each = -each;
  // R_i = beta_i (v_i - E_i y_i) with y_i = S^T k_i.
  for (std::int64_t i = 0; i < n; ++i) {
    const float* d_right = d_new_.data() + i * value_dim_;
    const float* y = read_.data() + i * value_dim_;
    const float from_y = from_start_[i] * dot(d_right, y, value_dim_);
    d_beta[i] = dot(d_right, v.data() + i * value_dim_, value_dim_) - from_y;
    d_sum_[i] -= beta[i] * from_y;
    for (std::int64_t c = 0; c < value_dim_; ++c) {
      const std::int64_t at = i * value_dim_ + c;
      d_v[at] = beta[i] * d_right[c];
      scaled_[at] = -from_start_[i] * d_v[at];  // dY.
    }
  }
  // dK += dY S^T; dS += K^T dY.
  product(n, key_dim_, value_dim_, Transpose::right, view(scaled_.data(), value_dim_),
          view(state, value_dim_), Into::accumulate, view(d_k.data(), key_dim_));
  product(key_dim_, value_dim_, n, Transpose::left, view(k.data(), key_dim_),
          view(scaled_.data(), value_dim_), Into::accumulate, view(d_state, value_dim_));
}

void DeltaChunk::backward_pairs() {
  const std::int64_t n = tokens;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = i * n + j;
      if (j > i) {
        d_system_[at] = d_attention_[at] = 0;
        continue;
      }
      const float d_a = j < i ? d_system_[at] : 0.0F;
      d_beta[i] += d_a * kk_[at] * pair_[at];
      // dD D, from both products that D multiplies.
      const float d = d_a * system_[at] + d_attention_[at] * attention_[at];
      d_sum_[i] += d;
      d_sum_[j] -= d;
      d_system_[at] = d_a * beta[i] * pair_[at];  // Gradient of k_i k_j.
      d_attention_[at] *= pair_[at];              // Gradient of q_i k_j.
    }
  }
  const MatrixView keys = view(k.data(), key_dim_), d_keys = view(d_k.data(), key_dim_);
  product(n, key_dim_, n, Transpose::none, view(d_system_.data(), n), keys, Into::accumulate,
          d_keys);
  product(n, key_dim_, n, Transpose::left, view(d_system_.data(), n), keys, Into::accumulate,
          d_keys);
  product(n, key_dim_, n, Transpose::none, view(d_attention_.data(), n), keys, Into::accumulate,
          view(d_q.data(), key_dim_));
  product(n, key_dim_, n, Transpose::left, view(d_attention_.data(), n), view(q.data(), key_dim_),
          Into::accumulate, d_keys);
}

}  // namespace sluice::engine
