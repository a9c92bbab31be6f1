#include "engine/host/routes.hpp"

#include <algorithm>

#include "engine/host/elementwise.hpp"

namespace sluice::engine {
namespace {

template <class T>
T* at(std::byte* workspace, Bytes offset) {
  return reinterpret_cast<T*>(workspace + offset.count());
}

}  // namespace

Routes::Routes(const planner::Job& job, const planner::RouteWorkspace& space, std::byte* workspace,
               std::int64_t tokens)
    : tokens_(tokens),
      experts_(job.model.experts->count),
      active_(job.model.experts->active),
      normalized_(job.model.experts->normalized),
      expert_(at<std::int32_t>(workspace, space.expert)),
      row_(at<std::int32_t>(workspace, space.row)),
      token_(at<std::int32_t>(workspace, space.token)),
      begin_(at<std::int32_t>(workspace, space.begin)),
      share_(at<float>(workspace, space.share)),
      d_share_(at<float>(workspace, space.d_share)) {}

void Routes::choose(const float* logits, float* probability) {
  for (std::int64_t token = 0; token < tokens_; ++token) {
    choose_experts(logits + token * experts_, expert_ + token * active_);
  }
  number_rows();
  for (std::int64_t token = 0; token < tokens_; ++token) {
    std::copy_n(logits + token * experts_, experts_, probability);
    (void)plain_kernels().softmax(probability, experts_, 0, experts_, 1.0f);
    const float total = normalized_ ? chosen_probability(token, probability) : 1.0f;
    for (std::int64_t i = token * active_; i < (token + 1) * active_; ++i) {
      share_[row_[i]] = probability[expert_[i]] / total;
    }
  }
}

template <class Value>
float Routes::sum(std::int64_t token, const Value& value) const {
  float total = 0;
  for (std::int64_t i = token * active_; i < (token + 1) * active_; ++i) {
    total += value(expert_[i], row_[i]);
  }
  return total;
}

float Routes::chosen_probability(std::int64_t token, const float* probability) const {
  return sum(token, [&](std::int32_t expert, std::int32_t) { return probability[expert]; });
}

// share = p / sum of the chosen p:  dp = (d_share - sum of d_share share) / sum of the chosen p.
void Routes::probability_gradient(std::int64_t token, const float* probability,
                                  float* d_probability) const {
  std::fill_n(d_probability, experts_, 0.0f);
  float mean = 0;
  float total = 1;
  if (normalized_) {
    mean = sum(token, [&](std::int32_t, std::int32_t row) { return d_share_[row] * share_[row]; });
    total = chosen_probability(token, probability);
  }
  for (std::int64_t i = token * active_; i < (token + 1) * active_; ++i) {
    d_probability[expert_[i]] = (d_share_[row_[i]] - mean) / total;
  }
}

/// Chooses experts in ascending order, so that sums over a token's experts have one order.
void Routes::choose_experts(const float* logits, std::int32_t* chosen) const {
  for (std::int64_t i = 0; i < active_; ++i) {
    std::int64_t best = -1;
    for (std::int64_t expert = 0; expert < experts_; ++expert) {
      const bool taken = std::find(chosen, chosen + i, expert) != chosen + i;
      if (!taken && (best < 0 || logits[expert] > logits[best])) best = expert;
    }
    chosen[i] = static_cast<std::int32_t>(best);
  }
  std::sort(chosen, chosen + active_);
}

void Routes::number_rows() {
  std::fill_n(begin_, experts_ + 1, 0);
  const std::int64_t routes = tokens_ * active_;
  for (std::int64_t i = 0; i < routes; ++i) ++begin_[expert_[i] + 1];
  for (std::int64_t expert = 0; expert < experts_; ++expert) begin_[expert + 1] += begin_[expert];
  // begin_[e] moves to the end of group e, which is the begin of the next, and then back.
  for (std::int64_t i = 0; i < routes; ++i) {
    row_[i] = begin_[expert_[i]]++;
    token_[row_[i]] = static_cast<std::int32_t>(i / active_);
  }
  for (std::int64_t expert = experts_; expert > 0; --expert) begin_[expert] = begin_[expert - 1];
  begin_[0] = 0;
}

}  // namespace sluice::engine
