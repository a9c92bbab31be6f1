#include "tests/engine/cuda/attention/attention_reference.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace sluice::engine {
namespace {

/// One head of queries of one sequence. Rows of the operands are read in place; gradients of keys
/// and values are this head's share, [length, head_dim].
struct Head {
  const AttentionShape& shape;
  const AttentionOperands& operands;
  std::int64_t sequence, head;
  std::vector<double> d_k, d_k_magnitude, d_v, d_v_magnitude;

  [[nodiscard]] std::int64_t token(std::int64_t position) const {
    return sequence * shape.length + position;
  }
  [[nodiscard]] std::int64_t kv_head() const { return head / (shape.heads / shape.kv_heads); }
  [[nodiscard]] std::int64_t q_at(std::int64_t position) const {
    return token(position) * shape.qkv_row + head * shape.head_dim;
  }
  [[nodiscard]] std::int64_t k_at(std::int64_t position) const {
    return token(position) * shape.qkv_row + (shape.heads + kv_head()) * shape.head_dim;
  }
  [[nodiscard]] std::int64_t v_at(std::int64_t position) const {
    return k_at(position) + shape.kv_heads * shape.head_dim;
  }
  [[nodiscard]] std::int64_t out_at(std::int64_t position) const {
    return token(position) * shape.out_row + head * shape.head_dim;
  }

  void run_query(std::int64_t i, AttentionReference& result);
};

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

/// Forward and backward of query i. Error bounds, with u = 2^-8 the largest relative error of
/// rounding to bf16: weights are rounded before they multiply v, and out after that, so |error of
/// out| <= u (sum_j p_ij |v_j| + |out|), which gives the error e_i = sum_c |d_out_c| * magnitude_c
/// of sum_c d_out_c out_c in units of u. d_scores s_ij = p_ij (d_out_i v_j - d_out_i out_i) scale
/// are then wrong by u (|s_ij| + p_ij e_i scale), and are rounded themselves before they multiply q
/// and k.
void Head::run_query(std::int64_t i, AttentionReference& result) {
  const std::int64_t d = shape.head_dim;
  const double* qkv = operands.qkv.data();
  const double* q = qkv + q_at(i);
  const double* d_out = operands.d_out.data() + out_at(i);
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  std::int64_t first = shape.window ? std::max<std::int64_t>(0, i - *shape.window + 1) : 0;
  if (shape.documents) first = operands.starts[static_cast<std::size_t>(token(i))];

  std::vector<double> weights(static_cast<std::size_t>(i - first + 1));
  for (std::int64_t j = first; j <= i; ++j) weights[j - first] = scale * dot(q, qkv + k_at(j), d);
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  for (double& weight : weights) weight /= sum;
  result.lse[(sequence * shape.heads + head) * shape.length + i] = most + std::log(sum);

  double* out = result.out.value.data() + out_at(i);
  double* out_magnitude = result.out.magnitude.data() + out_at(i);
  for (std::int64_t j = first; j <= i; ++j) {
    const double* v = qkv + v_at(j);
    for (std::int64_t c = 0; c < d; ++c) {
      out[c] += weights[j - first] * v[c];
      out_magnitude[c] += weights[j - first] * std::abs(v[c]);
    }
  }
  double out_sum = 0;
  double out_sum_error = 0;
  for (std::int64_t c = 0; c < d; ++c) {
    out_magnitude[c] += std::abs(out[c]);
    out_sum += d_out[c] * out[c];
    out_sum_error += std::abs(d_out[c]) * out_magnitude[c];
  }

  double* d_q = result.d_qkv.value.data() + q_at(i);
  double* d_q_magnitude = result.d_qkv.magnitude.data() + q_at(i);
  for (std::int64_t j = first; j <= i; ++j) {
    const double* k = qkv + k_at(j);
    const double weight = weights[j - first];
    const double d_score = scale * weight * (dot(d_out, qkv + v_at(j), d) - out_sum);
    const double magnitude = std::abs(d_score) + scale * weight * out_sum_error;
    for (std::int64_t c = 0; c < d; ++c) {
      d_q[c] += d_score * k[c];
      d_q_magnitude[c] += magnitude * std::abs(k[c]);
      d_k[j * d + c] += d_score * q[c];
      d_k_magnitude[j * d + c] += magnitude * std::abs(q[c]);
      d_v[j * d + c] += weight * d_out[c];
      d_v_magnitude[j * d + c] += weight * std::abs(d_out[c]);
    }
  }
}

}  // namespace

AttentionReference reference_attention(const AttentionShape& shape,
                                       const AttentionOperands& operands) {
  AttentionReference result;
  result.out.value.resize(operands.d_out.size());
  result.out.magnitude.resize(operands.d_out.size());
  result.d_qkv.value.resize(operands.qkv.size());
  result.d_qkv.magnitude.resize(operands.qkv.size());
  result.lse.resize(static_cast<std::size_t>(shape.sequences * shape.heads * shape.length));

  const auto head_elements = static_cast<std::size_t>(shape.length * shape.head_dim);
  std::vector<Head> heads;
  for (std::int64_t i = 0; i < shape.sequences * shape.heads; ++i) {
    const std::vector<double> zeros(head_elements);
    heads.push_back(
        {shape, operands, i / shape.heads, i % shape.heads, zeros, zeros, zeros, zeros});
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t h = next++; h < heads.size(); h = next++) {
      for (std::int64_t i = 0; i < shape.length; ++i) heads[h].run_query(i, result);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back(work);
    }
  }
  for (const Head& head : heads) {
    for (std::int64_t j = 0; j < shape.length; ++j) {
      for (std::int64_t c = 0; c < shape.head_dim; ++c) {
        const std::int64_t from = j * shape.head_dim + c;
        result.d_qkv.value[head.k_at(j) + c] += head.d_k[from];
        result.d_qkv.magnitude[head.k_at(j) + c] += head.d_k_magnitude[from];
        result.d_qkv.value[head.v_at(j) + c] += head.d_v[from];
        result.d_qkv.magnitude[head.v_at(j) + c] += head.d_v_magnitude[from];
      }
    }
  }
  return result;
}

}  // namespace sluice::engine
